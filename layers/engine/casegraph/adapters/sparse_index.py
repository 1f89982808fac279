"""The sparse indexes of the memory store; a reader may ask how they looked a while ago (eventual consistency)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from dataclasses import dataclass
from typing import Any

from casegraph.adapters.indexes import Index, indexes_of
from casegraph.domain.writes import Item, Key

# Sort value, pk, sk of the item: what a page of an index goes on from.
Place = tuple[Any, str, str]
# What was there longer ago is no longer known; no simulation lags its indexes by more.
MAX_LAG_MILLISECONDS = 120_000


@dataclass(frozen=True, slots=True)
class _Change:
    at: int
    index: Index
    old: tuple[str, Place] | None
    new: tuple[str, Place] | None


class SparseIndexes:
    """All indexes of all tables, and what changed in them lately."""

    def __init__(self) -> None:
        self._places: dict[tuple[Index, str], list[Place]] = {}
        self._recent: deque[_Change] = deque()

    def change(self, key: Key, old: Item | None, new: Item | None, now: int) -> None:
        """The item was written at `now` (None: there was none, or is none any more)."""
        for index in indexes_of(key.table):
            before, after = _entry(index, key, old), _entry(index, key, new)
            if before == after:
                continue
            if before is not None:
                places = self._places[(index, before[0])]
                del places[bisect_left(places, before[1])]
            if after is not None:
                insort(self._places.setdefault((index, after[0]), []), after[1])
            self._recent.append(_Change(now, index, before, after))
        while self._recent and self._recent[0].at < now - MAX_LAG_MILLISECONDS:
            self._recent.popleft()

    def page(
        self, index: Index, pk: str, low: Any, high: Any, after: Place | None, limit: int, backwards: bool
    ) -> list[Place]:
        """At most `limit` places of a partition with low <= sort <= high, beyond `after` in reading order."""
        return _page(self._places.get((index, pk), []), low, high, after, limit, backwards)

    def page_as_of(
        self,
        since: int,
        index: Index,
        pk: str,
        low: Any,
        high: Any,
        after: Place | None,
        limit: int,
        backwards: bool,
    ) -> list[Place]:
        """The same page without the changes later than `since`."""
        places = list(self._places.get((index, pk), []))
        for change in reversed(self._recent):
            if change.at <= since:
                break
            if change.index is index:
                _undo(places, change, pk)
        return _page(places, low, high, after, limit, backwards)


def _undo(places: list[Place], change: _Change, pk: str) -> None:
    if change.new is not None and change.new[0] == pk:
        del places[bisect_left(places, change.new[1])]
    if change.old is not None and change.old[0] == pk:
        insort(places, change.old[1])


def _page(
    places: list[Place], low: Any, high: Any, after: Place | None, limit: int, backwards: bool
) -> list[Place]:
    start = 0 if low is None else bisect_left(places, low, key=_sort)
    end = len(places) if high is None else bisect_right(places, high, key=_sort)
    if after is not None and backwards:
        end = min(end, bisect_left(places, after))
    elif after is not None:
        start = max(start, bisect_right(places, after))
    found = places[start:end]
    return found[::-1][:limit] if backwards else found[:limit]


def _entry(index: Index, key: Key, item: Item | None) -> tuple[str, Place] | None:
    if item is None or index.partition not in item or index.sort not in item:
        return None
    return item[index.partition], (item[index.sort], key.pk, key.sk)


def _sort(place: Place) -> Any:
    return place[0]
