"""What the memory adapters have beyond the contract: time, lag, and what a checker may see."""

from __future__ import annotations

import pytest

from casegraph.adapters.memory import (
    VISIBILITY_MILLISECONDS,
    ManualClock,
    MemoryItemStore,
    MemoryJobQueue,
    SeededIds,
)
from casegraph.domain.writes import Absent, Delete, Key, Put, Rule, Table, Update, Write
from casegraph.errors import ConditionsFailed, StoreRefused
from casegraph.limits import STORE_TOKEN_VALID_MILLISECONDS

HEAD = Key(Table.RUNS, "RUN#r", "HEAD")
NEW = Rule("new_item", Absent(("pk",)), "a test")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_000_000)


@pytest.fixture
def store(clock: ManualClock) -> MemoryItemStore:
    return MemoryItemStore(clock)


def due(store: MemoryItemStore, partition: str = "w#1") -> list[int]:
    return [item["due_at"] for item in store.query_index(Table.RUNS, "due", partition).items]


def test_a_token_is_valid_for_ten_minutes(store: MemoryItemStore, clock: ManualClock) -> None:
    writes: list[Write] = [Put(HEAD, {}, (NEW,))]
    store.transact(writes, "token")
    clock.advance(STORE_TOKEN_VALID_MILLISECONDS - 1)
    store.transact(writes, "token")
    assert store.knows_token("token")
    clock.advance(1)
    assert not store.knows_token("token")
    with pytest.raises(ConditionsFailed):
        store.transact(writes, "token")


def test_a_lagging_index_shows_what_was_there_then(store: MemoryItemStore, clock: ManualClock) -> None:
    store.write(Put(HEAD, {"due_pk": "w#1", "due_at": 1}, ()))
    clock.advance(1_000)
    store.write(Update(HEAD, (), set={("due_at",): 2}))
    clock.advance(1_000)
    store.write(Update(HEAD, (), set={("due_pk",): "p#1"}))
    clock.advance(1_000)
    store.write(Delete(HEAD, ()))
    shown = {}
    for lag in (0, 500, 1_500, 2_500, 3_500):
        store.index_lag_milliseconds = lag
        shown[lag] = (due(store), due(store, "p#1"))
    assert shown == {0: ([], []), 500: ([], [2]), 1_500: ([2], []), 2_500: ([1], []), 3_500: ([], [])}
    assert store.get(HEAD) is None


def test_a_lagging_index_is_read_in_order_too(store: MemoryItemStore, clock: ManualClock) -> None:
    for n in range(5):
        store.write(Put(Key(Table.RUNS, f"RUN#{n}", "HEAD"), {"due_pk": "w#1", "due_at": n}, ()))
    clock.advance(1_000)
    store.index_lag_milliseconds = 500
    store.write(Delete(Key(Table.RUNS, "RUN#2", "HEAD"), ()))
    store.write(Put(Key(Table.RUNS, "RUN#9", "HEAD"), {"due_pk": "w#1", "due_at": 0}, ()))
    assert due(store) == [0, 1, 2, 3, 4]


def test_a_checker_sees_every_item_as_a_copy(store: MemoryItemStore) -> None:
    store.write(Put(HEAD, {"list": [1]}, ()))
    store.write(Put(Key(Table.SUBJECTS, "S", "POINTER"), {}, ()))
    items = store.items()
    items[HEAD]["list"].append(2)
    assert [key.table for key in items] == [Table.RUNS, Table.SUBJECTS]
    assert store.items()[HEAD]["list"] == [1]


def test_a_job_that_was_taken_comes_back_until_it_is_done(clock: ManualClock) -> None:
    queue = MemoryJobQueue(clock)
    queue.send({"type": "advance_run", "run_id": "r"})
    message = queue.pop("advance_run")
    assert message is not None
    assert queue.pop("advance_run") is None
    assert queue.next_visible_at() == clock.now() + VISIBILITY_MILLISECONDS
    clock.advance(VISIBILITY_MILLISECONDS)
    again = queue.pop("advance_run")
    assert again is not None
    assert (again.job, again.receives) == ({"type": "advance_run", "run_id": "r"}, 2)
    queue.release(again)
    third = queue.pop("advance_run")
    assert third is not None
    queue.done(third)
    queue.done(third)
    assert queue.next_visible_at() is None


def test_jobs_are_taken_in_the_order_in_which_they_become_visible(clock: ManualClock) -> None:
    queue = MemoryJobQueue(clock)
    for run_id, delay in (("late", 3), ("soon", 1), ("now", 0)):
        queue.send({"type": "advance_run", "run_id": run_id}, delay_seconds=delay)
    clock.advance(3_000)
    taken = [queue.pop("advance_run") for _ in range(3)]
    assert [message.job["run_id"] for message in taken if message] == ["now", "soon", "late"]


def test_the_same_seed_gives_the_same_ids() -> None:
    one, two, other = SeededIds(1), SeededIds(1), SeededIds(2)
    first = [one.new() for _ in range(3)]
    assert first == [two.new() for _ in range(3)]
    assert first != [other.new() for _ in range(3)]
    assert all(len(made) == 32 and int(made, 16) >= 0 for made in first)
    assert {one.jitter(1, 3) for _ in range(50)} == {1, 2, 3}


def test_a_clock_moves_only_when_it_is_moved() -> None:
    clock = ManualClock(5)
    clock.sleep(10)
    clock.move_to(3)
    assert clock.now() == 15
    clock.move_to(20)
    assert clock.now() == 20


def test_an_index_attribute_of_the_wrong_type_is_refused(store: MemoryItemStore) -> None:
    for item in ({"due_at": "1"}, {"due_at": True}, {"due_pk": 1}, {"due_pk": ""}, {"due_at": None}):
        with pytest.raises(StoreRefused):
            store.write(Put(HEAD, item, ()))
