"""What a node's `enter` or `resume` decides: data that the walk carries out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from casegraph.domain.child import NewChild
from casegraph.domain.writes import Item, Write


@dataclass(frozen=True, slots=True)
class Done:
    """The step finished and leaves by `port`; `writes` go with the commit.

    child: a run that starts with it; cascades: it ends with this run, unless this one succeeds; closes: what the step
    waited for is closed in pages."""

    port: str
    output: Any = None
    status: str = "succeeded"
    code: str = ""
    writes: tuple[Write, ...] = ()
    child: NewChild | None = None
    cascades: bool = False
    closes: bool = False


@dataclass(frozen=True, slots=True)
class Failed:
    """The step failed with a short code; `retryable` lets the node's retry policy try again."""

    code: str
    retryable: bool = False
    jitter: float = 1.0


@dataclass(frozen=True, slots=True)
class Row:
    """A row that opens with a wait: `sk` and its attributes (pk and sk are added by the walk)."""

    sk: str
    item: Item


@dataclass(frozen=True, slots=True)
class Subscription:
    """A wait that listens over runs: event types and the hash of the correlation key."""

    event_types: tuple[str, ...]
    match: str


@dataclass(frozen=True, slots=True)
class Wait:
    """The step waits. deadline_at None: nothing fires by itself (an effect: the outbox keeps it moving)."""

    what: str
    deadline_at: int | None = None
    rows: tuple[Row, ...] = ()
    match: str = ""
    subscription: Subscription | None = None
    writes: tuple[Write, ...] = ()
    child: NewChild | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallComponent:
    """The step needs a read-only component's answer."""

    component_id: str
    input: Mapping[str, Any]
    timeout_seconds: float
    costly: bool = False


@dataclass(frozen=True, slots=True)
class AskAgain:
    """The answer is not yet the one that is waited for: enter the node again at `at` (epoch ms)."""

    at: int


@dataclass(frozen=True, slots=True)
class Fork:
    """One token per branch port."""

    ports: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Arrive:
    """The token stands at a join and is counted there."""


@dataclass(frozen=True, slots=True)
class EndBranch:
    """The branch ends; `terminate` ends the whole run. output: what a run that ends here gives to its parent."""

    terminal_code: str
    terminate: bool = False
    output: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class NeedsAttention:
    """The branch stops until an operator resolves it (`effect_ambiguous`)."""

    code: str


@dataclass(frozen=True, slots=True)
class StayWaiting:
    """The signal changes nothing here."""


Action = (
    Done | Failed | Wait | CallComponent | AskAgain | Fork | Arrive | EndBranch | NeedsAttention | StayWaiting
)
