"""What DynamoDB charges for, in request units, by its published rules and what others measured on AWS.

Writes: 1 KB of the larger of old and new item, rounded up for each item; in a transaction twice that, also for a
check, which is charged as a write. Reads: 4 KB, strongly consistent one unit, eventually consistent half of one,
transactional two. An index is written apart, outside of the transaction and so never doubled: one unit to enter, one to
leave, both when its key moves, none when it stays.
Sources: developer guide, "Capacity unit consumption for operations", "Managing global secondary indexes", "Capacity
management for transactions"; the index and check rules as measured by github.com/paritysuite/dynamodb-conformance.
"""

from __future__ import annotations

from collections.abc import Iterator

from casegraph.adapters.indexes import Index, indexes_of
from casegraph.adapters.sizes import item_size
from casegraph.domain.writes import Item, Table

WRITE_UNIT_BYTES = 1_024
READ_UNIT_BYTES = 4_096
TRANSACTION_FACTOR = 2
EVENTUAL_FACTOR = 0.5


def write_units(old: Item | None, new: Item | None, *, in_transaction: bool) -> int:
    """Units of the table for one item that is written, deleted or checked (new: as it is, or would be)."""
    units = _rounded_up(max(item_size(old), item_size(new)), WRITE_UNIT_BYTES)
    return units * TRANSACTION_FACTOR if in_transaction else units


def index_writes(table: Table, old: Item | None, new: Item | None) -> Iterator[tuple[Index, str, int]]:
    """What the change of an item writes into indexes: the index, its partition key, units."""
    for index in indexes_of(table):
        before, after = index_entry(index, old), index_entry(index, new)
        if before == after:
            continue
        for entry in (before, after):
            if entry is not None:
                yield index, entry[index.partition], _rounded_up(item_size(entry), WRITE_UNIT_BYTES)


def read_units(size_bytes: int) -> int:
    """Units of a strongly consistent read; a query's items count together, an absent item as one unit."""
    return _rounded_up(size_bytes, READ_UNIT_BYTES)


def index_entry(index: Index, item: Item | None) -> Item | None:
    """What a keys-only index holds of an item, or None when the item is not in it."""
    if item is None or index.partition not in item or index.sort not in item:
        return None
    return {name: item[name] for name in ("pk", "sk", index.partition, index.sort)}


def _rounded_up(size_bytes: int, unit_bytes: int) -> int:
    return max(1, -(-size_bytes // unit_bytes))
