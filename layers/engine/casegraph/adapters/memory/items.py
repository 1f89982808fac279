"""The item store in memory: DynamoDB's answers without DynamoDB.

Conditions, refusals and sizes are those of `adapters/evaluate.py`, `refusals.py` and `sizes.py`; the contract suite
runs on this store and on the real one alike. Items are copied on the way in and out. Every call holds one lock.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import Any

from casegraph.adapters import refusals
from casegraph.adapters.evaluate import failed_rules, updated
from casegraph.adapters.indexes import index_of
from casegraph.adapters.memory.sparse_index import IndexLag, SparseIndexes, no_lag
from casegraph.adapters.values import normal
from casegraph.application.ports import Clock, Page
from casegraph.domain.writes import Check, Delete, Item, Key, Put, Table, Update, Write
from casegraph.errors import ConditionsFailed, ItemFailure, TokenReused
from casegraph.limits import STORE_TOKEN_VALID_MILLISECONDS


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

    index_lag: how long after a write the indexes show it, item by item; it may be replaced at any time.
    """

    def __init__(self, clock: Clock, *, index_lag: IndexLag = no_lag) -> None:
        self.index_lag = index_lag
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
            items: list[Item] = [normal(partition.items[sk]) for sk in sks]
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
            self._indexes.catch_up(self._clock.now())
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

    def all_items(self, table: Table) -> Iterator[Item]:
        """Copies of every item of a table in order of its keys: for checkers. The engine never scans."""
        with self._lock:
            keys = sorted(pk for of_table, pk in self._partitions if of_table == table)
            partitions = [self._partitions[(table, pk)] for pk in keys]
            items: list[Item] = [normal(p.items[sk]) for p in partitions for sk in p.order]
        return iter(items)

    def catch_up_indexes(self) -> None:
        """Let the indexes show everything that was written, whatever their lag."""
        with self._lock:
            self._indexes.catch_up(None)

    def knows_token(self, token: str) -> bool:
        """Whether a transaction with this token was carried out and would be recognised now."""
        with self._lock:
            return self._tokens.get(token, (0, ""))[0] > self._clock.now()

    def _known(self, token: str, fingerprint: str) -> bool:
        now = self._clock.now()
        self._tokens = {t: known for t, known in self._tokens.items() if known[0] > now}
        if token not in self._tokens:
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
                item = normal(updated(write, self.peek(write.key)))
                refusals.check_item(write.key.table, item)
                return item  # type: ignore[no-any-return]
            case Check() | Delete():
                return None

    def _keep(self, key: Key, item: Item | None) -> None:
        partition = self._partitions.setdefault((key.table, key.pk), _Partition())
        known = key.sk in partition.items
        if item is not None:
            partition.items[key.sk] = item
            if not known:
                insort(partition.order, key.sk)
        elif known:
            del partition.items[key.sk]
            del partition.order[bisect_left(partition.order, key.sk)]
        self._indexes.change(key, item, self._clock.now(), self.index_lag(key))


def _copy(item: Item | None) -> Item | None:
    return None if item is None else normal(item)
