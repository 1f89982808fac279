"""Where faults come in: every call of a worker to the outside passes a gate, before and after its effect.

The gate asks the nemesis. Before the effect a call may be refused (nothing happened) or its worker killed; after it
the reply may be lost (it did happen) or the worker killed. What a connector or component does is `outside.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from casegraph.application.ports import BlobStore, ItemStore, JobQueue, Page
from casegraph.domain.writes import Item, Key, Table, Write
from casegraph.errors import ConditionsFailed

T = TypeVar("T")

READ, WRITE, TRANSACT, SEND = "read", "write", "transact", "send"


@dataclass(frozen=True, slots=True)
class Call:
    """One call to the outside. number counts within its world; kind: read, write, transact or send."""

    number: int
    worker: str
    name: str
    kind: str


class Nemesis(Protocol):
    """What goes wrong. Each method may raise an error of `errors.py`'s Retryable branch, or `Killed`."""

    def before(self, call: Call) -> None:
        """Before the effect: what is raised means that nothing happened."""

    def after(self, call: Call) -> None:
        """After the effect: what is raised hides that it happened."""

    def copies(self) -> Sequence[int]:
        """Extra delays (ms) at which a sent job arrives: `[0]` as sent, `[]` lost, two entries: doubled."""

    def lag(self) -> int:
        """How many milliseconds behind an index read is answered."""


class Calm:
    """Nothing goes wrong."""

    def before(self, call: Call) -> None:
        """Let it through."""

    def after(self, call: Call) -> None:
        """Let it through."""

    def copies(self) -> Sequence[int]:
        """As sent."""
        return (0,)

    def lag(self) -> int:
        """None."""
        return 0


@dataclass
class CallCounter:
    """Numbers the calls of a world, over all its workers."""

    count: int = 0

    def next(self) -> int:
        """The next number, from 1."""
        self.count += 1
        return self.count


@dataclass
class Gate:
    """One worker's way to the outside. pause(name): called before each call, where a lock-step scheduler may switch."""

    worker: str
    nemesis: Nemesis
    counter: CallCounter
    pause: Callable[[str], None]

    def through(self, name: str, kind: str, effect: Callable[[], T]) -> T:
        """Carry out one call, with whatever goes wrong around it."""
        self.pause(name)
        call = Call(self.counter.next(), self.worker, name, kind)
        self.nemesis.before(call)
        try:
            answer = effect()
        except ConditionsFailed:
            self.nemesis.after(call)
            raise
        self.nemesis.after(call)
        return answer


class FaultyItemStore:
    """An item store behind a gate."""

    def __init__(self, inner: ItemStore, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate

    def get(self, key: Key) -> Item | None:
        """See `ItemStore.get`."""
        return self._gate.through("store.get", READ, lambda: self._inner.get(key))

    def batch_get(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """See `ItemStore.batch_get`."""
        return self._gate.through("store.batch_get", READ, lambda: self._inner.batch_get(keys))

    def query(
        self, table: Table, pk: str, *, prefix: str = "", after: str | None = None, limit: int = 100,
        newest_first: bool = False,
    ) -> Page:  # fmt: skip
        """See `ItemStore.query`."""
        return self._gate.through(
            "store.query",
            READ,
            lambda: self._inner.query(
                table, pk, prefix=prefix, after=after, limit=limit, newest_first=newest_first
            ),
        )

    def count(self, table: Table, pk: str, *, prefix: str = "") -> int:
        """See `ItemStore.count`."""
        return self._gate.through("store.count", READ, lambda: self._inner.count(table, pk, prefix=prefix))

    def query_index(
        self, table: Table, index: str, pk: str, *, low: int | str | None = None, high: int | str | None = None,
        after: Any | None = None, limit: int = 100, newest_first: bool = False,
    ) -> Page:  # fmt: skip
        """See `ItemStore.query_index`."""
        return self._gate.through(
            "store.query_index",
            READ,
            lambda: self._inner.query_index(
                table, index, pk, low=low, high=high, after=after, limit=limit, newest_first=newest_first
            ),
        )

    def write(self, write: Write) -> Item | None:
        """See `ItemStore.write`."""
        return self._gate.through("store.write", WRITE, lambda: self._inner.write(write))

    def transact(self, writes: Sequence[Write], token: str) -> None:
        """See `ItemStore.transact`."""
        self._gate.through("store.transact", TRANSACT, lambda: self._inner.transact(writes, token))


class FaultyBlobStore:
    """A blob store behind a gate."""

    def __init__(self, inner: BlobStore, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate

    def put(self, name: str, body: bytes) -> None:
        """See `BlobStore.put`."""
        self._gate.through("blobs.put", WRITE, lambda: self._inner.put(name, body))

    def get(self, name: str) -> bytes | None:
        """See `BlobStore.get`."""
        return self._gate.through("blobs.get", READ, lambda: self._inner.get(name))

    def delete(self, name: str) -> None:
        """See `BlobStore.delete`."""
        self._gate.through("blobs.delete", WRITE, lambda: self._inner.delete(name))


class FaultyJobQueue:
    """A job queue behind a gate, which also loses, doubles, delays and so reorders jobs."""

    def __init__(self, inner: LateJobQueue, gate: Gate) -> None:
        self._inner = inner
        self._gate = gate

    def send(self, job: Mapping[str, Any], delay_seconds: int = 0) -> None:
        """See `JobQueue.send`."""
        copies = self._gate.nemesis.copies()

        def deliver() -> None:
            for extra in copies:
                self._inner.send_late(job, delay_seconds * 1000 + extra)

        self._gate.through("jobs.send", SEND, deliver)

    def depth(self, job_type: str) -> int:
        """See `JobQueue.depth`."""
        return self._gate.through("jobs.depth", READ, lambda: self._inner.depth(job_type))


class LateJobQueue(JobQueue, Protocol):
    """A job queue to which a job may be sent at any delay."""

    def send_late(self, job: Mapping[str, Any], delay_milliseconds: int) -> None:
        """Send a job that becomes visible after so many milliseconds."""
