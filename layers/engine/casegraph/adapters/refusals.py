"""What DynamoDB refuses whatever its items hold; checked by every item store before anything is sent or changed.

Sources: the quotas and API pages of the DynamoDB developer guide. Such a call is a bug of ours, so it is an error of
its own (`StoreRefused`), never a failed condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from casegraph.adapters.indexes import indexes_of
from casegraph.adapters.sizes import item_size, value_size
from casegraph.adapters.values import normal, normal_item
from casegraph.domain.writes import Check, Delete, Item, Key, Path, Put, Table, Update, Write
from casegraph.errors import ItemTooLarge, StoreRefused
from casegraph.limits import (
    JOB_MAX_DELAY_MILLISECONDS,
    STORE_ITEM_MAX_BYTES,
    STORE_PARTITION_KEY_MAX_BYTES,
    STORE_SORT_KEY_MAX_BYTES,
    STORE_TOKEN_MAX_CHARACTERS,
    STORE_TRANSACTION_MAX_BYTES,
    STORE_TRANSACTION_MAX_ITEMS,
)

# One queue each (architecture.md 4).
JOB_TYPES = ("advance_run", "deliver_effect")


def check_single(write: Write) -> None:
    """Refuse a single write that DynamoDB would not take."""
    if isinstance(write, Check):
        raise StoreRefused("a check alone writes nothing; read the item instead, or use a transaction")
    _check_write(write)


def check_transaction(writes: Sequence[Write], token: str) -> None:
    """Refuse a transaction that DynamoDB would not take."""
    if not 1 <= len(writes) <= STORE_TRANSACTION_MAX_ITEMS:
        raise StoreRefused(f"a transaction has 1 to {STORE_TRANSACTION_MAX_ITEMS} writes, not {len(writes)}")
    if not 1 <= len(token) <= STORE_TOKEN_MAX_CHARACTERS:
        raise StoreRefused(f"a token has 1 to {STORE_TOKEN_MAX_CHARACTERS} characters, not {len(token)}")
    seen: set[Key] = set()
    total = 0
    for write in writes:
        if write.key in seen:
            raise StoreRefused(f"a transaction writes {write.key} twice; merge the two writes")
        seen.add(write.key)
        total += _check_write(write)
    if total > STORE_TRANSACTION_MAX_BYTES:
        raise ItemTooLarge(f"a transaction has {total} bytes; at most {STORE_TRANSACTION_MAX_BYTES}")


def check_page(prefix: str, after: str | None, limit: int) -> None:
    """Refuse a page that DynamoDB would not read: no room, or a start outside of what is asked for."""
    check_limit(limit)
    if after is not None and not after.startswith(prefix):
        raise StoreRefused(f"the start {after!r} of a page is outside of the prefix {prefix!r}")


def check_limit(limit: int) -> None:
    """Refuse a page of no items."""
    if limit < 1:
        raise StoreRefused(f"a page has at least 1 item, not {limit}")


def complete(put: Put) -> Item:
    """The item of a put in stored form with its key. Raises `StoreRefused` when it names another key."""
    key = {"pk": put.key.pk, "sk": put.key.sk}
    item = normal_item(put.item)
    if any(item.get(name, value) != value for name, value in key.items()):
        raise StoreRefused(f"the item of a put to {put.key} carries another key")
    return item | key


def check_item(table: Table, item: Item) -> int:
    """Refuse an item over DynamoDB's size, or with an index attribute of the wrong type; returns its bytes."""
    size = item_size(item)
    if size > STORE_ITEM_MAX_BYTES:
        raise ItemTooLarge(f"item {item['pk']} {item['sk']} has {size} bytes; at most {STORE_ITEM_MAX_BYTES}")
    for index in indexes_of(table):
        _check_index_value(item, index.partition, str)
        _check_index_value(item, index.sort, index.sort_type)
    return size


def _check_index_value(item: Item, name: str, expected: type[int] | type[str]) -> None:
    value = item.get(name)
    if value is None and name not in item:
        return
    number = isinstance(value, int | float) and not isinstance(value, bool)
    fits = number if expected is int else isinstance(value, str) and value != ""
    if not fits:
        raise StoreRefused(
            f"{name} of {item['pk']} {item['sk']} is an index key and must be "
            + ("a number" if expected is int else "a text that is not empty")
        )


def _check_write(write: Write) -> int:
    """Refuse what fits no item; returns about the bytes that are sent."""
    _check_key(write.key)
    match write:
        case Put():
            return check_item(write.key.table, complete(write))
        case Update():
            _check_paths(write)
            values = [*write.set.values(), *write.append.values()]
            return sum(value_size(normal(value)) for value in values)
        case Check(rules=()):
            raise StoreRefused(f"the check of {write.key} has no rules")
        case Check() | Delete():
            return 0


def _check_key(key: Key) -> None:
    for value, bound in ((key.pk, STORE_PARTITION_KEY_MAX_BYTES), (key.sk, STORE_SORT_KEY_MAX_BYTES)):
        if not 1 <= value_size(value) <= bound:
            raise StoreRefused(f"a key attribute of {key} must have 1 to {bound} bytes")


def _check_paths(update: Update) -> None:
    paths: list[Path] = sorted([*update.set, *update.remove, *update.append, *update.add, *update.sum])
    if not paths or not all(paths):
        raise StoreRefused(f"the update of {update.key} changes nothing, or names an empty path")
    for path in paths:
        if path in (("pk",), ("sk",)):
            raise StoreRefused(f"the update of {update.key} changes its key")
    for first, second in pairwise(paths):
        if second[: len(first)] == first:
            raise StoreRefused(f"the update of {update.key} has two paths that overlap: {first} and {second}")


def check_job(job: Mapping[str, Any], delay_seconds: int) -> None:
    """Refuse what SQS or the consumers would not take: an unknown type, a delay beyond 15 minutes."""
    if job.get("type") not in JOB_TYPES:
        raise StoreRefused(f"a job's type is one of {', '.join(JOB_TYPES)}, not {job.get('type')!r}")
    if not 0 <= delay_seconds * 1000 <= JOB_MAX_DELAY_MILLISECONDS:
        raise StoreRefused(f"a job's delay is 0 to 900 seconds, not {delay_seconds}")
