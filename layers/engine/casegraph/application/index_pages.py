"""Pages over a sharded index: every shard's next entries, merged in order (data-model.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from casegraph.application.context import Ports
from casegraph.application.persistence import patiently
from casegraph.application.ports import Page
from casegraph.domain.writes import Item, Key, Table

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ShardedIndex:
    """An index whose partitions are `pks`, sorted by the attribute `sort`."""

    table: Table
    name: str
    pks: Sequence[str]
    sort: str


@dataclass(frozen=True, slots=True)
class Entry:
    """An index entry: its sort value and the item's key."""

    at: int
    key: Key

    @property
    def position(self) -> tuple[int, str, str]:
        """What orders entries; `at` first."""
        return (self.at, self.key.pk, self.key.sk)


def each_shard(ports: Ports, shards: Iterable[S], read: Callable[[S], T]) -> list[T]:
    """What `read` gives for each shard, in their order; several are read at once where the ports allow it."""
    if ports.read_threads == 1:
        return [read(shard) for shard in shards]
    with ThreadPoolExecutor(ports.read_threads) as pool:
        return list(pool.map(read, shards))


def newest(ports: Ports, index: ShardedIndex, before: tuple[int, str, str] | None, limit: int) -> list[Entry]:
    """The `limit` newest entries before a position, newest first. The index may lag; read the items again."""
    pages = each_shard(ports, index.pks, lambda pk: _newest_of_shard(ports, index, pk, before, limit))
    found = [entry for page in pages for entry in page]
    found.sort(key=lambda entry: entry.position, reverse=True)
    return found[:limit]


def _newest_of_shard(
    ports: Ports, index: ShardedIndex, pk: str, before: tuple[int, str, str] | None, limit: int
) -> list[Entry]:
    after = None
    entries: list[Entry] = []
    while True:
        page = _read(ports, index, pk, None if before is None else before[0], after, limit + 1)
        fresh = (_entry(index, item) for item in page.items)
        entries.extend(e for e in fresh if before is None or e.position < before)
        after = page.next_after
        # Entries of one instant come in no order of ours: take all of the last one's instant before cutting.
        if after is None or (len(entries) > limit and entries[-1].at < entries[limit - 1].at):
            return entries


def _read(ports: Ports, index: ShardedIndex, pk: str, high: int | None, after: Any, limit: int) -> Page:
    return patiently(
        ports,
        lambda: ports.store.query_index(
            index.table, index.name, pk, high=high, after=after, limit=limit, newest_first=True
        ),
    )


def _entry(index: ShardedIndex, item: Item) -> Entry:
    return Entry(item[index.sort], Key(index.table, item["pk"], item["sk"]))
