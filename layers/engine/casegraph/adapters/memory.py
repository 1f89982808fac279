"""Every port of storage in memory: the simulation's and the test kit's world, with DynamoDB's semantics."""

from __future__ import annotations

import copy
import json
import random  # noqa: TID251 - seeded, for tests and the simulation
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from casegraph.adapters.evaluate import ABSENT, failed_rules, value_at
from casegraph.adapters.indexes import Index, index_of
from casegraph.application.ports import Clock, Page
from casegraph.domain.writes import Check, Delete, Item, Key, Path, Put, Table, Update, Write
from casegraph.errors import ConditionsFailed, ItemFailure, ItemTooLarge

_TOKEN_MILLISECONDS = 600_000
_MAX_TRANSACTION_WRITES = 100
_MAX_ITEM_BYTES = 400 * 1024


class ManualClock:
    """A clock that stands still until it is moved; sleeping moves it."""

    def __init__(self, now: int) -> None:
        self._now = now

    def now(self) -> int:
        """Epoch milliseconds."""
        return self._now

    def sleep(self, milliseconds: int) -> None:
        """Move on by that much."""
        self._now += milliseconds

    def move_to(self, instant: int) -> None:
        """Move forward to an instant; never back."""
        self._now = max(self._now, instant)


class SeededIds:
    """Ids and jitter from one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def new(self) -> str:
        """32 hex characters."""
        return f"{self._random.getrandbits(128):032x}"

    def jitter(self, low: int, high: int) -> int:
        """A uniform integer, both ends included."""
        return self._random.randint(low, high)


class MemoryItemStore:
    """Items by key. `index_lag_milliseconds`: how old what the indexes show may be (0: never)."""

    def __init__(self, clock: Clock, *, index_lag_milliseconds: int = 0) -> None:
        self._clock = clock
        self._items: dict[Key, Item] = {}
        self._tokens: dict[str, tuple[int, str]] = {}
        self._lock = threading.RLock()
        self._before: list[tuple[int, Key, Item | None]] = []
        self.index_lag_milliseconds = index_lag_milliseconds

    def get(self, key: Key) -> Item | None:
        """See `ItemStore.get`."""
        with self._lock:
            return copy.deepcopy(self._items.get(key))

    def batch_get(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """See `ItemStore.batch_get`."""
        with self._lock:
            return {key: copy.deepcopy(self._items[key]) for key in keys if key in self._items}

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
        """See `ItemStore.query`."""
        with self._lock:
            found = sorted(self._partition(table, pk, prefix), key=lambda k: k.sk, reverse=newest_first)
            if after is not None:
                found = [k for k in found if (k.sk < after if newest_first else k.sk > after)]
            items = [copy.deepcopy(self._items[key]) for key in found[:limit]]
            return Page(items, found[limit - 1].sk if len(found) > limit else None)

    def count(self, table: Table, pk: str, *, prefix: str = "") -> int:
        """See `ItemStore.count`."""
        with self._lock:
            return len(self._partition(table, pk, prefix))

    def _partition(self, table: Table, pk: str, prefix: str) -> list[Key]:
        return [k for k in self._items if k.table == table and k.pk == pk and k.sk.startswith(prefix)]

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
        """See `ItemStore.query_index`."""
        with self._lock:
            entries = self._entries(table, index_of(table, index), pk)
        entries = [e for e in entries if (low is None or e[0] >= low) and (high is None or e[0] <= high)]
        entries.sort(key=lambda e: e[:3], reverse=newest_first)
        if after is not None:
            start = tuple(after)
            entries = [e for e in entries if (e[:3] < start if newest_first else e[:3] > start)]
        more = len(entries) > limit
        shown = entries[:limit]
        return Page([e[3] for e in shown], list(shown[-1][:3]) if more else None)

    def _entries(self, table: Table, index: Index, pk: str) -> list[tuple[Any, str, str, Item]]:
        entries = []
        for key, item in self._visible(table):
            if item.get(index.partition) == pk and index.sort in item:
                kept = {name: item[name] for name in ("pk", "sk", index.partition, index.sort)}
                entries.append((item[index.sort], key.pk, key.sk, kept))
        return entries

    def _visible(self, table: Table) -> list[tuple[Key, Item]]:
        """The items as the indexes show them: as they were `index_lag_milliseconds` ago."""
        shown = {key: item for key, item in self._items.items() if key.table == table}
        since = self._clock.now() - self.index_lag_milliseconds
        for at, key, before in reversed(self._before):
            if self.index_lag_milliseconds == 0 or at <= since:
                break
            if key.table != table:
                continue
            if before is None:
                shown.pop(key, None)
            else:
                shown[key] = before
        return list(shown.items())

    def write(self, write: Write) -> Item | None:
        """See `ItemStore.write`."""
        with self._lock:
            self._check([write])
            item = self._apply(write)
            return copy.deepcopy(item) if isinstance(write, Update) else None

    def transact(self, writes: Sequence[Write], token: str) -> None:
        """See `ItemStore.transact`."""
        keys = [write.key for write in writes]
        if len(set(keys)) != len(keys):
            raise AssertionError(f"two writes of one item in a transaction: {sorted(k.sk for k in keys)}")
        if not 0 < len(writes) <= _MAX_TRANSACTION_WRITES:
            raise AssertionError(f"a transaction of {len(writes)} writes")
        if not 0 < len(token) <= 36:
            raise AssertionError("a token has 1 to 36 characters")
        with self._lock:
            now, body = self._clock.now(), repr(list(writes))
            known = self._tokens.get(token)
            if known is not None and now - known[0] <= _TOKEN_MILLISECONDS:
                if known[1] != body:
                    raise AssertionError("another transaction under the same token")
                return
            self._check(writes)
            for write in writes:
                self._apply(write)
            self._tokens[token] = (now, body)

    def _check(self, writes: Sequence[Write]) -> None:
        failures = []
        for index, write in enumerate(writes):
            old = self._items.get(write.key)
            broken = failed_rules(write.rules, old)
            if broken:
                failures.append(ItemFailure(index, broken, copy.deepcopy(old)))
        if failures:
            raise ConditionsFailed(failures)
        for write in writes:
            new = self._result(write)
            if new is not None and _bytes(new) > _MAX_ITEM_BYTES:
                raise ItemTooLarge(f"{write.key.sk} would have {_bytes(new)} bytes")

    def _apply(self, write: Write) -> Item | None:
        if isinstance(write, Check):
            return None
        old, new = self._items.get(write.key), self._result(write)
        if self.index_lag_milliseconds:
            self._before.append((self._clock.now(), write.key, copy.deepcopy(old)))
        if new is None:
            self._items.pop(write.key, None)
        else:
            self._items[write.key] = new
        return new

    def _result(self, write: Write) -> Item | None:
        match write:
            case Put():
                return copy.deepcopy(write.item)
            case Update():
                return _updated(write, self._items.get(write.key))
            case Delete():
                return None
            case Check():
                return None

    def items(self) -> dict[Key, Item]:
        """Everything stored, for checkers and tests."""
        with self._lock:
            return copy.deepcopy(self._items)


def _bytes(item: Item) -> int:
    return len(json.dumps(item, ensure_ascii=False).encode())


def _updated(update: Update, old: Item | None) -> Item:
    before: Item = copy.deepcopy(old) if old is not None else {"pk": update.key.pk, "sk": update.key.sk}
    new = copy.deepcopy(before)
    for path, value in update.set.items():
        _put(new, path, copy.deepcopy(value))
    for path, members in update.append.items():
        _put(new, path, [*value_at(before, path), *copy.deepcopy(members)])
    for path, number in update.add.items():
        current = value_at(before, path)
        _put(new, path, (0 if current is ABSENT else current) + number)
    for path, (other, number) in update.sum.items():
        _put(new, path, value_at(before, other) + number)
    for path in update.remove:
        _drop(new, path)
    return new


def _put(item: Item, path: Path, value: Any) -> None:
    for name in path[:-1]:
        item = item[name]
    item[path[-1]] = value


def _drop(item: Item, path: Path) -> None:
    for name in path[:-1]:
        item = item.get(name, {})
    item.pop(path[-1], None)


class MemoryBlobStore:
    """Blobs by name."""

    def __init__(self) -> None:
        self.blobs: dict[str, bytes] = {}

    def put(self, name: str, body: bytes) -> None:
        """See `BlobStore.put`."""
        self.blobs[name] = body

    def get(self, name: str) -> bytes | None:
        """See `BlobStore.get`."""
        return self.blobs.get(name)

    def delete(self, name: str) -> None:
        """See `BlobStore.delete`."""
        self.blobs.pop(name, None)


class MemoryJobQueue:
    """Jobs with the instant from which they may be taken; taking removes them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.jobs: list[tuple[int, int, dict[str, Any]]] = []
        self._sent = 0

    def send(self, job: Mapping[str, Any], delay_seconds: int = 0) -> None:
        """See `JobQueue.send`."""
        self._sent += 1
        self.jobs.append((self._clock.now() + delay_seconds * 1000, self._sent, dict(job)))

    def depth(self, job_type: str) -> int:
        """See `JobQueue.depth`."""
        return sum(1 for _, _, job in self.jobs if job["type"] == job_type)

    def take_due(self) -> dict[str, Any] | None:
        """The earliest job that may be taken now, or None."""
        due = [entry for entry in self.jobs if entry[0] <= self._clock.now()]
        if not due:
            return None
        entry = min(due, key=lambda e: e[:2])
        self.jobs.remove(entry)
        return entry[2]

    def next_at(self) -> int | None:
        """The instant of the earliest job, or None."""
        return min((entry[0] for entry in self.jobs), default=None)
