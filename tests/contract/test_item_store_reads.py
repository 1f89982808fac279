"""Reads of every adapter: partitions, pages, counts, sparse indexes."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from casegraph.adapters.indexes import INDEXES, Index
from casegraph.application.ports import ItemStore, Page
from casegraph.domain.writes import Delete, Item, Key, Put, Table, Update
from casegraph.errors import StoreRefused

Fresh = Callable[..., Key]


def sks(page: Page) -> list[str]:
    return [item["sk"] for item in page.items]


def test_what_is_not_there_is_none(store: ItemStore, fresh: Fresh) -> None:
    assert store.get(fresh("NOTHING")) is None
    assert store.batch_get([fresh("NOTHING")]) == {}
    assert store.query(Table.RUNS, fresh("x").pk) == Page([], None)
    assert store.count(Table.RUNS, fresh("x").pk) == 0


def test_a_batch_reads_any_number_of_keys_over_tables_and_leaves_absent_ones_out(
    store: ItemStore, fresh: Fresh
) -> None:
    keys = [fresh(f"I#{n:03d}", Table.RUNS if n % 2 else Table.REPORTS) for n in range(130)]
    store.transact([Put(key, {"n": n}, ()) for n, key in enumerate(keys[:90])], uuid.uuid4().hex)
    found = store.batch_get([*keys, keys[0]])
    assert list(found) == keys[:90]
    assert found[keys[7]] == {"pk": keys[7].pk, "sk": keys[7].sk, "n": 7}


def test_a_query_reads_a_partition_in_order_by_prefix(store: ItemStore, fresh: Fresh) -> None:
    order = ["A#1", "SEG#0000000009", "SEG#0000000010", "SEG#0000000011", "SEH", "Z", "é"]
    for sk in reversed(order):
        store.write(Put(fresh(sk), {}, ()))
    store.write(Put(fresh("SEG#0000000001", Table.SUBJECTS), {}, ()))
    pk = fresh("x").pk
    assert sks(store.query(Table.RUNS, pk)) == order
    assert sks(store.query(Table.RUNS, pk, newest_first=True)) == order[::-1]
    assert sks(store.query(Table.RUNS, pk, prefix="SEG#")) == order[1:4]
    assert sks(store.query(Table.RUNS, pk, prefix="SEG#", newest_first=True)) == order[3:0:-1]
    assert store.count(Table.RUNS, pk, prefix="SEG#") == 3
    assert store.count(Table.RUNS, pk) == 7


@pytest.mark.parametrize("newest_first", [False, True])
def test_pages_follow_each_other_without_gap_or_repeat(
    store: ItemStore, fresh: Fresh, newest_first: bool
) -> None:
    names = [f"I#{n}" for n in range(7)]
    for sk in [*names, "A", "Z"]:
        store.write(Put(fresh(sk), {}, ()))
    seen: list[str] = []
    after: str | None = None
    while True:
        page = store.query(
            Table.RUNS, fresh("x").pk, prefix="I#", after=after, limit=3, newest_first=newest_first
        )
        assert len(page.items) <= 3
        seen += sks(page)
        after = page.next_after
        if after is None:
            break
    assert seen == (names[::-1] if newest_first else names)


def test_a_page_may_start_after_a_key_that_is_not_there(store: ItemStore, fresh: Fresh) -> None:
    for sk in ("I#1", "I#3", "I#5"):
        store.write(Put(fresh(sk), {}, ()))
    assert sks(store.query(Table.RUNS, fresh("x").pk, prefix="I#", after="I#2")) == ["I#3", "I#5"]
    assert sks(store.query(Table.RUNS, fresh("x").pk, prefix="I#", after="I#4", newest_first=True)) == [
        "I#3",
        "I#1",
    ]


def test_a_page_has_room_and_starts_inside_of_its_prefix(store: ItemStore, fresh: Fresh) -> None:
    with pytest.raises(StoreRefused):
        store.query(Table.RUNS, fresh("x").pk, limit=0)
    with pytest.raises(StoreRefused):
        store.query(Table.RUNS, fresh("x").pk, prefix="I#", after="J#1")
    with pytest.raises(StoreRefused):
        store.query_index(Table.RUNS, "due", "w#1", limit=0)


def test_a_page_is_filled_beyond_a_megabyte(store: ItemStore, fresh: Fresh) -> None:
    for n in range(4):
        store.write(Put(fresh(f"I#{n}"), {"value": "x" * 390_000}, ()))
    assert sks(store.query(Table.RUNS, fresh("x").pk, limit=4)) == ["I#0", "I#1", "I#2", "I#3"]
    page = store.query(Table.RUNS, fresh("x").pk, limit=3)
    assert (sks(page), page.next_after) == (["I#0", "I#1", "I#2"], "I#2")
    assert store.count(Table.RUNS, fresh("x").pk) == 4


def value_of(index: Index, number: int) -> Any:
    return 1_700_000_000_000 + number if index.sort_type is int else f"0#{number:03d}"


@pytest.mark.parametrize("index", INDEXES, ids=lambda index: index.name)
def test_an_item_is_in_an_index_while_it_has_both_attributes(
    store: ItemStore, fresh: Fresh, index: Index
) -> None:
    key, partition = fresh("ITEM", index.table), f"w#{uuid.uuid4().hex}"
    in_it: Item = {index.partition: partition, index.sort: value_of(index, 1)}

    def entries() -> list[Item]:
        return store.query_index(index.table, index.name, partition).items

    store.write(Put(key, {index.sort: value_of(index, 1), "other": 1}, ()))
    assert entries() == []
    store.write(Update(key, (), set={(index.partition,): partition}))
    assert entries() == [{"pk": key.pk, "sk": key.sk} | in_it]
    store.write(Update(key, (), set={(index.sort,): value_of(index, 2)}))
    assert [entry[index.sort] for entry in entries()] == [value_of(index, 2)]
    store.write(Update(key, (), remove=((index.partition,),)))
    assert entries() == []
    store.write(Put(key, in_it, ()))
    assert len(entries()) == 1
    store.write(Delete(key, ()))
    assert entries() == []


def test_an_index_is_read_in_order_within_its_bounds_page_by_page(store: ItemStore, fresh: Fresh) -> None:
    partition = f"w#{uuid.uuid4().hex}"
    # Two items of the same instant; decimal length must not decide the order.
    for sk, at in (("C", 100), ("A", 9), ("B", 20), ("D", 100), ("E", 1_000)):
        store.write(Put(fresh(sk), {"due_pk": partition, "due_at": at}, ()))

    def read(**bounds: Any) -> list[str]:
        seen: list[str] = []
        after = None
        while True:
            page = store.query_index(Table.RUNS, "due", partition, after=after, limit=2, **bounds)
            seen += sks(page)
            after = page.next_after
            if after is None:
                return seen

    assert read()[:2] == ["A", "B"]
    assert sorted(read()) == ["A", "B", "C", "D", "E"]
    assert read(high=20) == ["A", "B"]
    assert sorted(read(low=20, high=100)) == ["B", "C", "D"]
    assert read(low=101) == ["E"]
    assert read(newest_first=True)[0] == "E"
    assert read(newest_first=True)[3:] == ["B", "A"]
    assert read(high=8) == []
    assert read(low=50, high=40) == []


def test_an_unknown_index_is_refused(store: ItemStore) -> None:
    with pytest.raises(StoreRefused):
        store.query_index(Table.SUBJECTS, "due", "w#1")
