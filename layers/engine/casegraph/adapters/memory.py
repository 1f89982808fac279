"""Every port of storage in memory: what the simulation and the test kit run the real use cases on.

Conditions, refusals and sizes are those of `evaluate.py`, `refusals.py` and `sizes.py`, which the DynamoDB store uses
too; the contract suite runs on both. Items are copied on the way in and out. Every call holds one lock.
"""

from __future__ import annotations

import hashlib
import json
import random  # noqa: TID251 -- seeded: the same seed gives the same ids
from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from threading import RLock
from typing import Any

from casegraph.adapters import refusals
from casegraph.adapters.evaluate import failed_rules, updated
from casegraph.adapters.indexes import index_of
from casegraph.adapters.sparse_index import SparseIndexes
from casegraph.adapters.values import normal_item
from casegraph.application.ports import Clock, Page
from casegraph.domain.writes import Check, Delete, Item, Key, Put, Table, Update, Write
from casegraph.errors import ConditionsFailed, ItemFailure, TokenReused
from casegraph.limits import STORE_TOKEN_VALID_MILLISECONDS

# The template's visibility timeout: six times a function's 60 s.
VISIBILITY_MILLISECONDS = 360_000


class ManualClock:
    """The `Clock` port for tests and simulations: `sleep` moves it at once. Instants are epoch milliseconds."""

    def __init__(self, now: int = 0) -> None:
        self._now = now

    def now(self) -> int:
        """Epoch milliseconds."""
        return self._now

    def sleep(self, milliseconds: int) -> None:
        """Nobody waits: the time has passed."""
        self._now += milliseconds

    def advance(self, milliseconds: int) -> None:
        """Let time pass."""
        self._now += milliseconds

    def move_to(self, instant: int) -> None:
        """Move forward to an instant; never back."""
        self._now = max(self._now, instant)


class SeededIds:
    """The `Ids` port from a seed: the same seed and calls give the same answers."""

    def __init__(self, seed: object = 0) -> None:
        self._random = random.Random(str(seed))

    def new(self) -> str:
        """An id of 32 hex characters."""
        return f"{self._random.getrandbits(128):032x}"

    def jitter(self, low: int, high: int) -> int:
        """A uniform integer, low <= n <= high."""
        return self._random.randint(low, high)


@dataclass(slots=True)
class _Partition:
    items: dict[str, Item] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)

    def between(self, prefix: str, after: str | None, backwards: bool) -> list[str]:
        start = bisect_left(self.order, prefix)
        end = bisect_left(self.order, True, start, key=lambda sk: not sk.startswith(prefix))
        if after is not None and backwards:
            end = min(end, bisect_left(self.order, after))
        elif after is not None:
            start = max(start, bisect_right(self.order, after))
        found = self.order[start:end]
        return found[::-1] if backwards else found


class MemoryItemStore:
    """The `ItemStore` port in memory. The clock is read only for tokens and the indexes' lag.

    index_lag_milliseconds: the age of what index reads see; it may be set before each read (at most 2 minutes).
    """

    def __init__(self, clock: Clock, *, index_lag_milliseconds: int = 0) -> None:
        self.index_lag_milliseconds = index_lag_milliseconds
        self._clock = clock
        self._lock = RLock()
        self._partitions: dict[tuple[Table, str], _Partition] = {}
        self._indexes = SparseIndexes()
        self._tokens: dict[str, tuple[int, str]] = {}

    def get(self, key: Key) -> Item | None:
        """See `ItemStore.get`."""
        with self._lock:
            return _copy(self.peek(key))

    def batch_get(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """See `ItemStore.batch_get`."""
        with self._lock:
            found = {key: self.get(key) for key in keys}
            return {key: item for key, item in found.items() if item is not None}

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
        """See `ItemStore.query`. Like DynamoDB it says that there may be more whenever a page is full."""
        refusals.check_page(prefix, after, limit)
        with self._lock:
            partition = self._partitions.get((table, pk), _Partition())
            sks = partition.between(prefix, after, newest_first)[:limit]
            items = [normal_item(partition.items[sk]) for sk in sks]
            return Page(items, sks[-1] if len(sks) == limit else None)

    def count(self, table: Table, pk: str, *, prefix: str = "") -> int:
        """See `ItemStore.count`."""
        with self._lock:
            return len(self._partitions.get((table, pk), _Partition()).between(prefix, None, False))

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
        """See `ItemStore.query_index`. Entries of the same sort value come in order of pk and sk."""
        refusals.check_limit(limit)
        definition = index_of(table, index)
        start = None if after is None else tuple(after)
        with self._lock:
            if self.index_lag_milliseconds:
                since = self._clock.now() - self.index_lag_milliseconds
                places = self._indexes.page_as_of(
                    since, definition, pk, low, high, start, limit, newest_first
                )
            else:
                places = self._indexes.page(definition, pk, low, high, start, limit, newest_first)
        items: list[Item] = [
            {"pk": item_pk, "sk": item_sk, definition.partition: pk, definition.sort: sort}
            for sort, item_pk, item_sk in places
        ]
        return Page(items, list(places[-1]) if len(places) == limit else None)

    def write(self, write: Write) -> Item | None:
        """See `ItemStore.write`."""
        refusals.check_single(write)
        with self._lock:
            new = self._decided([write])
            self._keep(write.key, new[0])
            return _copy(new[0]) if isinstance(write, Update) else None

    def transact(self, writes: Sequence[Write], token: str) -> None:
        """See `ItemStore.transact`. Raises `TokenReused` for another body under a valid token."""
        refusals.check_transaction(writes, token)
        fingerprint = hashlib.sha256(repr(tuple(writes)).encode()).hexdigest()
        with self._lock:
            if self._known(token, fingerprint):
                return
            items = self._decided(writes)
            for write, item in zip(writes, items, strict=True):
                if not isinstance(write, Check):
                    self._keep(write.key, item)
            self._tokens[token] = (self._clock.now() + STORE_TOKEN_VALID_MILLISECONDS, fingerprint)

    def peek(self, key: Key) -> Item | None:
        """The stored item itself, not a copy: for meters and checkers, which must not change it."""
        partition = self._partitions.get((key.table, key.pk))
        return partition.items.get(key.sk) if partition else None

    def items(self) -> dict[Key, Item]:
        """Copies of everything stored, in order of the keys: for checkers. The engine never scans."""
        with self._lock:
            places = sorted(self._partitions)
            keys = [Key(table, pk, sk) for table, pk in places for sk in self._partitions[(table, pk)].order]
            return {key: normal_item(self.peek(key) or {}) for key in keys}

    def knows_token(self, token: str) -> bool:
        """Whether a transaction with this token was carried out and would be recognised now."""
        with self._lock:
            return self._tokens.get(token, (0, ""))[0] > self._clock.now()

    def _known(self, token: str, fingerprint: str) -> bool:
        now = self._clock.now()
        while self._tokens and next(iter(self._tokens.values()))[0] <= now:
            del self._tokens[next(iter(self._tokens))]
        if not self.knows_token(token):
            self._tokens.pop(token, None)
            return False
        if self._tokens[token][1] != fingerprint:
            raise TokenReused(
                "another transaction was sent with this token; a changed body takes a new token"
            )
        return True

    def _decided(self, writes: Sequence[Write]) -> list[Item | None]:
        """The items after the writes. Raises `ConditionsFailed`; nothing is changed yet."""
        failures = [
            ItemFailure(number, failed, _copy(self.peek(write.key)))
            for number, write in enumerate(writes)
            if (failed := failed_rules(write.rules, self.peek(write.key)))
        ]
        if failures:
            raise ConditionsFailed(failures)
        return [self._after(write) for write in writes]

    def _after(self, write: Write) -> Item | None:
        match write:
            case Put():
                return refusals.complete(write)
            case Update():
                item = updated(write, self.peek(write.key))
                refusals.check_item(write.key.table, item)
                return item
            case Check() | Delete():
                return None

    def _keep(self, key: Key, item: Item | None) -> None:
        partition = self._partitions.setdefault((key.table, key.pk), _Partition())
        old = partition.items.get(key.sk)
        if item is not None:
            partition.items[key.sk] = item
            if old is None:
                insort(partition.order, key.sk)
        elif old is not None:
            del partition.items[key.sk]
            del partition.order[bisect_left(partition.order, key.sk)]
        self._indexes.change(key, old, item, self._clock.now())


def _copy(item: Item | None) -> Item | None:
    return None if item is None else normal_item(item)


class MemoryBlobStore:
    """The `BlobStore` port in memory."""

    def __init__(self) -> None:
        self._bodies: dict[str, bytes] = {}
        self._lock = RLock()

    def put(self, name: str, body: bytes) -> None:
        """See `BlobStore.put`."""
        with self._lock:
            self._bodies[name] = bytes(body)

    def get(self, name: str) -> bytes | None:
        """See `BlobStore.get`."""
        with self._lock:
            return self._bodies.get(name)

    def delete(self, name: str) -> None:
        """See `BlobStore.delete`."""
        with self._lock:
            self._bodies.pop(name, None)

    def names(self, prefix: str = "") -> list[str]:
        """The names that start with `prefix`, in order: for checkers."""
        with self._lock:
            return sorted(name for name in self._bodies if name.startswith(prefix))


@dataclass(slots=True)
class Message:
    """A job as a consumer gets it. receipt: what `done` and `release` are told; receives: how often it was taken."""

    receipt: int
    body: str
    visible_at: int
    receives: int = 0

    @property
    def job(self) -> dict[str, Any]:
        """The job, parsed anew."""
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed


class MemoryJobQueue:
    """The `JobQueue` port in memory, and the consumer's side for a simulation."""

    def __init__(self, clock: Clock, *, visibility_milliseconds: int = VISIBILITY_MILLISECONDS) -> None:
        self._clock = clock
        self._visibility = visibility_milliseconds
        self._messages: dict[str, list[Message]] = {job_type: [] for job_type in refusals.JOB_TYPES}
        self._receipts = count(1)
        self._lock = RLock()

    def send(self, job: Mapping[str, Any], delay_seconds: int = 0) -> None:
        """See `JobQueue.send`."""
        refusals.check_job(job, delay_seconds)
        at = self._clock.now() + delay_seconds * 1000
        with self._lock:
            message = Message(next(self._receipts), json.dumps(dict(job)), at)
            self._messages[job["type"]].append(message)

    def depth(self, job_type: str) -> int:
        """See `JobQueue.depth`: those that could be taken now (SQS counts delayed and taken ones apart)."""
        now = self._clock.now()
        with self._lock:
            return sum(message.visible_at <= now for message in self._messages[job_type])

    def pop(self, job_type: str) -> Message | None:
        """Take the job that has been visible longest; it comes back after the visibility timeout unless `done`."""
        now = self._clock.now()
        with self._lock:
            ready = [message for message in self._messages[job_type] if message.visible_at <= now]
            if not ready:
                return None
            message = min(ready, key=lambda m: (m.visible_at, m.receipt))
            message.visible_at = now + self._visibility
            message.receives += 1
            return message

    def done(self, message: Message) -> None:
        """Delete a job that was taken; one that is gone already is no error."""
        with self._lock:
            for messages in self._messages.values():
                messages[:] = [known for known in messages if known.receipt != message.receipt]

    def release(self, message: Message) -> None:
        """Make a job that was taken visible at once (its function failed)."""
        with self._lock:
            message.visible_at = self._clock.now()

    def next_visible_at(self) -> int | None:
        """When the next job can be taken (it may be in the past), or None when there is none."""
        with self._lock:
            times = [message.visible_at for messages in self._messages.values() for message in messages]
        return min(times, default=None)

    def messages(self, job_type: str) -> list[Message]:
        """Every job that is not done, in order of sending: for a nemesis that drops, doubles and delays them."""
        return self._messages[job_type]
