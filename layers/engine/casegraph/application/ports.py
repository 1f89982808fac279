"""The ports: what the use cases need from the outside, as small Protocols.

Contracts are proven by one suite (`tests/contract`) on every adapter. Every method may raise `Throttled`,
`TransientFailure` or `OutcomeUnknown` (errors.py); only what is listed besides is port-specific.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from casegraph.domain.writes import Item, Key, Table, Write


@dataclass(frozen=True, slots=True)
class Page:
    """Items of a query and where to go on: `next_after` is None at the end."""

    items: list[Item]
    next_after: Any | None = None


class ItemStore(Protocol):
    """Items with conditional writes: DynamoDB, or memory.

    A failed condition raises `ConditionsFailed` (errors.py), whose `failures` tell, write by write, whether its
    rules failed and what the old item was (None: there was none). Nothing is written then.
    """

    def get(self, key: Key) -> Item | None:
        """Strongly consistent read of one item."""

    def batch_get(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """Strongly consistent read of many items (any number; paged inside); absent ones are left out."""

    def query(
        self,
        table: Table,
        pk: str,
        *,
        prefix: str = "",
        after: str | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> Page:
        """Strongly consistent read of a partition in order of sk: those that start with `prefix`, after `after`
        (exclusive sk, in reading order). `next_after` is the sk to go on from."""

    def count(self, table: Table, pk: str, *, prefix: str = "") -> int:
        """Strongly consistent number of items of a partition whose sk starts with `prefix`."""

    def query_index(
        self,
        table: Table,
        index: str,
        pk: str,
        *,
        low: int | str | None = None,
        high: int | str | None = None,
        after: Any | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> Page:
        """Eventually consistent read of a sparse index partition by its sort key, `low <= sort <= high`.

        Items carry only pk, sk and the index's own two attributes: read again what you act on.
        `after` is the opaque `next_after` of the page before."""

    def write(self, write: Write) -> Item | None:
        """One conditional write; returns the new item of an Update, else None."""

    def transact(self, writes: Sequence[Write], token: str) -> None:
        """All writes or none (at most 100, 4 MB); `token` (at most 36 characters) makes an identical resend within
        10 minutes a success that writes nothing; another body under the same token is an error.

        Raises `TransactionConflict` when another write was under way on one of the items (retry with jitter)."""


class BlobStore(Protocol):
    """Payloads by name: S3, or memory."""

    def put(self, name: str, body: bytes) -> None:
        """Store; the same name again replaces."""

    def get(self, name: str) -> bytes | None:
        """The body, or None."""

    def delete(self, name: str) -> None:
        """Remove; an absent one is no error."""


class JobQueue(Protocol):
    """Hints on SQS. A lost, doubled, early or late one changes nothing but time."""

    def send(self, job: Mapping[str, Any], delay_seconds: int = 0) -> None:
        """Send one job (`advance_run` to the execute queue, `deliver_effect` to dispatch), delay 0 to 900 s."""

    def depth(self, job_type: str) -> int:
        """About how many jobs of this type are waiting."""


class Clock(Protocol):
    """The writer's clock."""

    def now(self) -> int:
        """Epoch milliseconds."""

    def sleep(self, milliseconds: int) -> None:
        """Wait (backoff of a retry)."""


class Ids(Protocol):
    """Random identities and jitter; the only source of randomness."""

    def new(self) -> str:
        """A fresh id of 32 hex characters."""

    def jitter(self, low: int, high: int) -> int:
        """A uniform integer, low <= n <= high."""


class Deadline(Protocol):
    """How long this invocation may still run."""

    def remaining_milliseconds(self) -> int:
        """Milliseconds until the platform stops this invocation."""


@dataclass(frozen=True, slots=True)
class ComponentRequest:
    """What a read-only component is given."""

    component_id: str
    run_id: str
    step_id: str
    input: Mapping[str, Any]
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class ComponentAnswer:
    """What it answers: a JSON result and the port (`success` or one it declared)."""

    result: Any
    port: str = "success"


class Components(Protocol):
    """Read-only, inbound data. Raises `NodeFailed(code, retryable)` for its own failures."""

    def call(self, request: ComponentRequest) -> ComponentAnswer:
        """Run the component of that id."""


@dataclass(frozen=True, slots=True)
class EffectRequest:
    """One attempt at the outside, as its connector gets it. The receiver may use `operation_key` to deduplicate."""

    effect_id: str
    connector_id: str
    operation: str
    operation_key: str
    attempt: int
    payload: Any
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class Applied:
    """The receiver did it."""

    result: Any = None


@dataclass(frozen=True, slots=True)
class Rejected:
    """The receiver definitely did not, and never will, for this code."""

    code: str


@dataclass(frozen=True, slots=True)
class RetryLater:
    """The receiver definitely did not do it this time (refused, not sent); try again."""

    code: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nobody knows (timeout, lost connection, 5xx after sending)."""

    code: str


@dataclass(frozen=True, slots=True)
class NotFoundThere:
    """A lookup's answer: the receiver knows of no such operation."""


Outcome = Applied | Rejected | RetryLater | Unknown


class Connector(Protocol):
    """Outbound. Must not raise for what it can name; whatever it raises counts as `Unknown`."""

    visibility_seconds: int

    def deliver(self, request: EffectRequest) -> Outcome:
        """Do it, at most within `timeout_seconds`."""

    def look_up(self, request: EffectRequest) -> Applied | Rejected | NotFoundThere | Unknown:
        """Ask whether it was done (recovery class `lookup`)."""


class Connectors(Protocol):
    """The registry of connectors."""

    def get(self, connector_id: str) -> Connector:
        """Raises `NodeFailed("connector_unknown")`."""


class Journal(Protocol):
    """Log events and counters of the catalogue: identifiers and numbers only, never a payload, name or free text."""

    def event(self, name: str, **fields: str | int | bool | None) -> None:
        """One log event."""

    def count(self, name: str, value: int = 1) -> None:
        """Add to a counter metric."""
