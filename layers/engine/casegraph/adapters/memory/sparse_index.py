"""The sparse indexes of the memory store, eventually consistent on demand."""

from __future__ import annotations

import heapq
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable
from itertools import count
from typing import Any

from casegraph.adapters.indexes import INDEXES, Index, indexes_of
from casegraph.domain.writes import Item, Key

# How many milliseconds after a write of this item the indexes show it.
IndexLag = Callable[[Key], int]
# Sort value, pk, sk of the item: what a page of an index goes on from.
Place = tuple[Any, str, str]


def no_lag(key: Key) -> int:
    """Indexes are up to date at once."""
    return 0


class SparseIndexes:
    """All indexes of all tables. A change shows after the lag; changes of one item show in their order."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str, str], list[Place]] = {}
        self._shown: dict[tuple[str, Key], tuple[str, Place]] = {}
        self._pending: list[tuple[int, int, Key, Item | None]] = []
        self._last_ready: dict[Key, int] = {}
        self._order = count()

    def change(self, key: Key, item: Item | None, now: int, lag: int) -> None:
        """The item was written (None: deleted) at `now`; show it `lag` milliseconds later."""
        indexes = indexes_of(key.table)
        if not indexes:
            return
        ready = max(now + lag, self._last_ready.get(key, 0))
        if lag <= 0 and key not in self._last_ready:
            self._show(key, item)
            return
        self._last_ready[key] = ready
        names = [name for index in indexes for name in (index.partition, index.sort)]
        entry = None if item is None else {name: item[name] for name in names if name in item}
        heapq.heappush(self._pending, (ready, next(self._order), key, entry))

    def catch_up(self, now: int | None) -> None:
        """Show every change that is ready at `now`; None: all of them."""
        while self._pending and (now is None or self._pending[0][0] <= now):
            ready, _, key, item = heapq.heappop(self._pending)
            self._show(key, item)
            if self._last_ready.get(key) == ready:
                del self._last_ready[key]

    def page(
        self, index: Index, pk: str, low: Any, high: Any, after: Place | None, limit: int, backwards: bool
    ) -> list[Place]:
        """At most `limit` places of a partition with low <= sort <= high, beyond `after` in reading order."""
        places = self._places.get((index.table, index.name, pk), [])
        start = 0 if low is None else bisect_left(places, low, key=_sort)
        end = len(places) if high is None else bisect_right(places, high, key=_sort)
        if after is not None and backwards:
            end = min(end, bisect_left(places, after))
        elif after is not None:
            start = max(start, bisect_right(places, after))
        found = places[start:end]
        return found[::-1][:limit] if backwards else found[:limit]

    def _show(self, key: Key, item: Item | None) -> None:
        for index in indexes_of(key.table):
            entry = _entry(index, key, item)
            shown = self._shown.get((index.name, key))
            if entry == shown:
                continue
            if shown is not None:
                partition, place = shown
                places = self._places[(index.table, index.name, partition)]
                del places[bisect_left(places, place)]
                del self._shown[(index.name, key)]
            if entry is not None:
                partition, place = entry
                insort(self._places.setdefault((index.table, index.name, partition), []), place)
                self._shown[(index.name, key)] = entry


def _entry(index: Index, key: Key, item: Item | None) -> tuple[str, Place] | None:
    if item is None or index.partition not in item or index.sort not in item:
        return None
    return item[index.partition], (item[index.sort], key.pk, key.sk)


def _sort(place: Place) -> Any:
    return place[0]


assert len({index.name for index in INDEXES}) == len(INDEXES), "an index's name says which it is"
