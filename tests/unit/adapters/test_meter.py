"""Units by AWS's rules: what an item weighs, what a call is charged, which keys take the writes."""

from __future__ import annotations

from typing import Any

import pytest
from moto import mock_aws

from casegraph.adapters.aws_clients import dynamodb_client
from casegraph.adapters.dynamodb.store import DynamoDBItemStore
from casegraph.adapters.memory import ManualClock, MemoryBlobStore, MemoryItemStore, MemoryJobQueue
from casegraph.adapters.meter import Meter, MeteredBlobStore, MeteredItemStore, MeteredJobQueue, watch
from casegraph.adapters.prices import cost_of, prices
from casegraph.adapters.sizes import item_size, value_size
from casegraph.domain.writes import Absent, Check, Delete, Exists, Item, Key, Put, Rule, Table, Update
from casegraph.errors import ConditionsFailed
from tests.contract.tables import create_tables

HEAD, SEGMENT = Key(Table.RUNS, "RUN#r", "HEAD"), Key(Table.RUNS, "RUN#r", "SEG#0000000001")
NEW = Rule("new_item", Absent(("pk",)), "a test")
THERE = Rule("there", Exists(("pk",)), "a test")


@pytest.fixture
def meter() -> Meter:
    return Meter()


@pytest.fixture
def store(meter: Meter) -> MeteredItemStore:
    return MeteredItemStore(MemoryItemStore(ManualClock(1)), meter)


def weighing(size_bytes: int, key: Key = HEAD, **attributes: Any) -> Item:
    """An item of exactly this size."""
    item = {"pk": key.pk, "sk": key.sk, **attributes, "fill": ""}
    item["fill"] = "x" * (size_bytes - item_size(item))
    assert item_size(item) == size_bytes
    return item


@pytest.mark.parametrize(
    ("value", "size_bytes"),
    [
        ("", 0),
        ("abc", 3),
        ("grüße", 7),
        (True, 1),
        (None, 1),
        (0, 1),
        (7, 2),
        (-7, 3),
        (100, 2),
        (1_767_225_600_123, 8),
        (0.5, 2),
        (12.25, 3),
        ([], 3),
        (["ab", 7], 3 + 2 + 2 + 2),
        ({}, 3),
        ({"ab": "c"}, 3 + 1 + 2 + 1),
    ],
    ids=repr,
)
def test_a_value_weighs_what_aws_says(value: Any, size_bytes: int) -> None:
    assert value_size(value) == size_bytes


def test_a_write_is_charged_by_the_larger_of_old_and_new_in_kilobytes(
    store: MeteredItemStore, meter: Meter
) -> None:
    charged = []
    for size_bytes in (1_024, 1_025, 3_000, 100):
        before = meter.write_units
        store.write(Put(HEAD, weighing(size_bytes), ()))
        charged.append(meter.write_units - before)
    assert charged == [1, 2, 3, 3]
    store.write(Delete(HEAD, ()))
    store.write(Delete(HEAD, ()))
    assert meter.write_units == 9 + 1 + 1
    assert meter.requests == {"PutItem": 4, "DeleteItem": 2}


def test_a_transaction_doubles_each_item_a_check_too_but_no_index(
    store: MeteredItemStore, meter: Meter
) -> None:
    store.write(Put(HEAD, weighing(1_500), ()))
    meter.reset()
    segment = weighing(1_030, SEGMENT, started_pk="s#1", started_at=1)
    store.transact([Check(HEAD, (THERE,)), Put(SEGMENT, segment, (NEW,))], "token")
    assert meter.table_writes == {"runs/HEAD": 4, "runs/SEG": 4}
    assert meter.index_writes == {"runs/started": 1}
    assert meter.requests == {"TransactWriteItems": 1}


def test_an_index_is_charged_to_enter_to_move_and_to_leave_and_not_to_stay(
    store: MeteredItemStore, meter: Meter
) -> None:
    steps: list[tuple[dict[str, Any], int]] = [
        ({"set": {("due_pk",): "w#1"}}, 0),
        ({"set": {("due_at",): 1}}, 1),
        ({"set": {("other",): 1}}, 0),
        ({"set": {("due_at",): 1}}, 0),
        ({"set": {("due_at",): 2}}, 2),
        ({"set": {("due_pk",): "p#1"}}, 2),
        ({"remove": (("due_pk",),)}, 1),
    ]
    for changes, units in steps:
        before = meter.index_writes["runs/due"]
        store.write(Update(HEAD, (), **changes))
        assert meter.index_writes["runs/due"] - before == units, changes


def test_a_resend_under_its_token_is_charged_as_transactional_reads(
    store: MeteredItemStore, meter: Meter
) -> None:
    writes = [Put(HEAD, weighing(1_500), (NEW,)), Put(SEGMENT, weighing(4_097, SEGMENT), (NEW,))]
    store.transact(writes, "token")
    meter.reset()
    store.transact(writes, "token")
    assert (meter.write_units, meter.read_units) == (0, 2 + 4)


def test_a_refused_write_is_charged_all_the_same(store: MeteredItemStore, meter: Meter) -> None:
    store.write(Put(HEAD, weighing(2_500), ()))
    meter.reset()
    with pytest.raises(ConditionsFailed):
        store.write(Put(HEAD, weighing(100), (NEW,)))
    assert meter.write_units == 3
    with pytest.raises(ConditionsFailed):
        store.transact([Check(HEAD, (NEW,)), Put(SEGMENT, weighing(100, SEGMENT), ())], "token")
    assert meter.write_units == 3 + 6 + 2
    assert meter.failed == {"PutItem": 1, "TransactWriteItems": 1}
    assert meter.index_writes.total() == 0


def test_reads_are_charged_by_four_kilobytes(store: MeteredItemStore, meter: Meter) -> None:
    for n in range(5):
        key = Key(Table.RUNS, "RUN#r", f"SEG#{n}")
        store.write(Put(key, weighing(1_000, key, due_pk="w#1", due_at=n + 1), ()))
    store.write(Put(HEAD, weighing(4_097), ()))
    meter.reset()

    def charged() -> float:
        units = meter.read_units
        meter.reset()
        return units

    store.get(HEAD)
    assert charged() == 2
    store.get(Key(Table.RUNS, "RUN#r", "MISSING"))
    assert charged() == 1
    store.batch_get([HEAD, SEGMENT])
    assert charged() == 2 + 1
    store.query(Table.RUNS, "RUN#r", prefix="SEG#")
    assert charged() == 2
    store.query(Table.RUNS, "RUN#r", prefix="SEG#", limit=4)
    assert charged() == 1
    store.count(Table.RUNS, "RUN#r", prefix="SEG#")
    assert charged() == 2
    store.query_index(Table.RUNS, "due", "w#1")
    assert charged() == 0.5


def test_a_batch_of_more_than_a_hundred_keys_is_several_requests(
    store: MeteredItemStore, meter: Meter
) -> None:
    store.batch_get([Key(Table.RUNS, "RUN#r", f"SEG#{n}") for n in range(101)])
    assert meter.requests == {"BatchGetItem": 2}


def test_the_report_names_the_key_that_takes_most_of_the_writes(
    store: MeteredItemStore, meter: Meter
) -> None:
    for n in range(4):
        key = Key(Table.RUNS, f"RUN#{n}", "HEAD")
        store.write(Put(key, {"due_pk": "w#7", "due_at": n}, ()))
    report = meter.report()
    assert report["write_units"] == {
        "total": 8,
        "tables": {"runs/HEAD": 4},
        "indexes": {"runs/due": 4},
    }
    assert report["largest_key"] == {"key": "runs/due/w#7", "share": 0.5}
    assert report["keys"] == 5


def test_what_was_counted_is_priced_from_the_file(store: MeteredItemStore, meter: Meter) -> None:
    store.write(Put(HEAD, {}, ()))
    store.get(HEAD)
    MeteredJobQueue(MemoryJobQueue(ManualClock(0)), meter).send({"type": "advance_run"})
    blobs = MeteredBlobStore(MemoryBlobStore(), meter)
    blobs.put("name", b"12345")
    assert blobs.get("name") == b"12345"
    cost = cost_of(meter)
    assert cost.dynamodb_writes == pytest.approx(0.625e-6)
    assert cost.dynamodb_reads == pytest.approx(0.125e-6)
    assert cost.sqs == pytest.approx(3 * 0.4e-6)
    assert cost.s3 == pytest.approx(5e-6 + 0.4e-6)
    assert cost.total == pytest.approx(0.75e-6 + 1.2e-6 + 5.4e-6)
    assert {"region", "as_of", "sources"} <= prices().keys()


@pytest.mark.moto
def test_a_real_client_s_requests_and_bytes_are_counted() -> None:
    with mock_aws():
        client, meter = dynamodb_client(), Meter()
        create_tables(client)
        watch(client, meter)
        store = DynamoDBItemStore(client, lambda table: table.value)
        store.write(Put(HEAD, {"fill": "x" * 1_000}, ()))
        store.get(HEAD)
        store.get(HEAD)
    assert meter.requests == {"PutItem": 1, "GetItem": 2}
    assert meter.bytes_written > 1_000
    assert meter.bytes_read > 2_000
