"""The history of a world: every accepted write with its instant and writer, in order, with old and new item.

The recording store is the innermost wrapper: what it records has happened, whatever the caller was told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from casegraph.adapters.memory import MemoryItemStore
from casegraph.application.ports import Page
from casegraph.domain.writes import Check, Item, Key, Table, Write
from casegraph.testing.timeline import VirtualTime


@dataclass(frozen=True, slots=True)
class Change:
    """One item that one accepted call changed. call: number of the call; writes of one transaction share it."""

    call: int
    at: int
    writer: str
    key: Key
    old: Item | None
    new: Item | None


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that happened outside the store: an answer that a caller got, a call that a receiver got."""

    at: int
    name: str
    fields: dict[str, Any]


@dataclass
class History:
    """Everything that the checkers judge by."""

    changes: list[Change] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    calls: int = 0

    def of(self, key: Key) -> Iterator[Change]:
        """The changes of one item, in order."""
        return (change for change in self.changes if change.key == key)

    def named(self, name: str) -> Iterator[Fact]:
        """The facts of one name, in order."""
        return (fact for fact in self.facts if fact.name == name)


class RecordingStore:
    """An item store that notes who changed what. One per world; `as_writer` gives each worker its view."""

    def __init__(
        self, inner: MemoryItemStore, time: VirtualTime, history: History, lag: Callable[[], int]
    ) -> None:
        self.inner = inner
        self.time = time
        self.history = history
        self.lag = lag
        self.on_change: Callable[[Change], None] = lambda change: None
        self.due: dict[Key, int] = {}
        self.current: dict[Key, Item] = {}
        self._due_pks: set[str] = set()

    def as_writer(self, writer: str) -> WriterView:
        """The store as one worker uses it."""
        return WriterView(self, writer)

    def record(self, writer: str, keys: Sequence[Key], before: dict[Key, Item | None]) -> None:
        """Note what a call that was accepted changed."""
        self.history.calls += 1
        for key in keys:
            new = self.inner.get(key)
            old = before[key]
            if old == new:
                continue  # a check, or a resend under the same token
            change = Change(self.history.calls, self.time.at, writer, key, old, new)
            self.history.changes.append(change)
            self.on_change(change)
            self._index(key, new)

    def _index(self, key: Key, new: Item | None) -> None:
        if new is None:
            self.current.pop(key, None)
        else:
            self.current[key] = new
        if new is not None and "due_at" in new and "due_pk" in new:
            self.due[key] = new["due_at"]
            self._due_pks.add(new["due_pk"])
        else:
            self.due.pop(key, None)

    def query_index(self, table: Table, index: str, pk: str, **bounds: Any) -> Page:
        """An index read, as old as the nemesis wants it. A due partition never written to is known to be empty."""
        if index == "due" and pk not in self._due_pks:
            return Page([])
        kept = self.inner.index_lag_milliseconds
        self.inner.index_lag_milliseconds = self.lag()
        try:
            return self.inner.query_index(table, index, pk, **bounds)
        finally:
            self.inner.index_lag_milliseconds = kept

    def next_due(self) -> int | None:
        """The earliest instant in the due index, purges of ended runs left out."""
        return min(
            (at for key, at in self.due.items() if not self.current[key]["due_pk"].startswith("g#")),
            default=None,
        )


class WriterView:
    """The recording store under one writer's name; reads pass through."""

    def __init__(self, store: RecordingStore, writer: str) -> None:
        self._store = store
        self._writer = writer

    def get(self, key: Key) -> Item | None:
        """See `ItemStore.get`."""
        return self._store.inner.get(key)

    def batch_get(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """See `ItemStore.batch_get`."""
        return self._store.inner.batch_get(keys)

    def query(
        self, table: Table, pk: str, *, prefix: str = "", after: str | None = None, limit: int = 100,
        newest_first: bool = False,
    ) -> Page:  # fmt: skip
        """See `ItemStore.query`."""
        return self._store.inner.query(
            table, pk, prefix=prefix, after=after, limit=limit, newest_first=newest_first
        )

    def count(self, table: Table, pk: str, *, prefix: str = "") -> int:
        """See `ItemStore.count`."""
        return self._store.inner.count(table, pk, prefix=prefix)

    def query_index(
        self, table: Table, index: str, pk: str, *, low: int | str | None = None, high: int | str | None = None,
        after: Any | None = None, limit: int = 100, newest_first: bool = False,
    ) -> Page:  # fmt: skip
        """See `ItemStore.query_index`."""
        return self._store.query_index(
            table, index, pk, low=low, high=high, after=after, limit=limit, newest_first=newest_first
        )

    def write(self, write: Write) -> Item | None:
        """See `ItemStore.write`; recorded when accepted."""
        before = {write.key: self._store.inner.get(write.key)}
        item = self._store.inner.write(write)
        self._store.record(self._writer, [write.key], before)
        return item

    def transact(self, writes: Sequence[Write], token: str) -> None:
        """See `ItemStore.transact`; recorded when accepted."""
        keys = [write.key for write in writes if not isinstance(write, Check)]
        before = {key: self._store.inner.get(key) for key in keys}
        self._store.inner.transact(writes, token)
        self._store.record(self._writer, keys, before)
