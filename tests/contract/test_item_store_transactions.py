"""Transactions on every adapter: all or nothing, failures write by write, tokens."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from casegraph.application.ports import ItemStore
from casegraph.domain.writes import (
    Absent,
    Check,
    Compare,
    Delete,
    Exists,
    Key,
    Put,
    Rule,
    Table,
    Update,
    Write,
)
from casegraph.errors import ConditionsFailed, ItemTooLarge, StoreRefused, TokenReused
from tests.contract.stand_ins import known_wrong

Fresh = Callable[..., Key]
NEW = Rule("new", Absent(("pk",)), "a test")
THERE = Rule("there", Exists(("pk",)), "a test")


def first(n: int) -> Rule:
    return Rule("n_as_read", Compare(("n",), "=", n), "a test")


def token() -> str:
    return uuid.uuid4().hex


def test_all_kinds_of_writes_go_through_together_over_tables(store: ItemStore, fresh: Fresh) -> None:
    head, gone, checked, subject = fresh("HEAD"), fresh("GONE"), fresh("CHECKED"), fresh("S", Table.SUBJECTS)
    for key in (head, gone, checked):
        store.write(Put(key, {"n": 1}, ()))
    store.transact(
        [
            Update(head, (first(1),), add={("n",): 1}),
            Put(subject, {"run_id": "r"}, (NEW,)),
            Delete(gone, (first(1),)),
            Check(checked, (first(1), THERE)),
        ],
        token(),
    )
    assert store.get(head) == {"pk": head.pk, "sk": head.sk, "n": 2}
    assert store.get(subject) == {"pk": subject.pk, "sk": subject.sk, "run_id": "r"}
    assert store.get(gone) is None
    assert store.get(checked) == {"pk": checked.pk, "sk": checked.sk, "n": 1}


def test_nothing_is_written_when_one_condition_fails(store: ItemStore, fresh: Fresh) -> None:
    store.write(Put(fresh("A"), {"n": 1}, ()))
    for bad in (Put(fresh("Z"), {}, (THERE,)), Check(fresh("Z"), (THERE,)), Delete(fresh("Z"), (THERE,))):
        with pytest.raises(ConditionsFailed):
            store.transact([Update(fresh("A"), (), add={("n",): 1}), Put(fresh("B"), {}, ()), bad], token())
    assert store.get(fresh("A")) == {"pk": fresh("A").pk, "sk": "A", "n": 1}
    assert store.get(fresh("B")) is None


def test_failures_are_told_write_by_write_with_rules_and_old_items(store: ItemStore, fresh: Fresh) -> None:
    for sk, n in (("A", 1), ("B", 2), ("C", 3)):
        store.write(Put(fresh(sk), {"n": n}, ()))
    with pytest.raises(ConditionsFailed) as failed:
        store.transact(
            [
                Update(fresh("A"), (first(1),), set={("n",): 9}),
                Update(fresh("B"), (THERE, first(1)), set={("n",): 9}),
                Put(fresh("D"), {}, (THERE,)),
                Put(fresh("C"), {}, (NEW, first(3))),
                Check(fresh("E"), (NEW,)),
            ],
            token(),
        )
    told = [(f.index, f.rules, f.old_item and f.old_item["n"]) for f in failed.value.failures]
    assert told == [(1, ("n_as_read",), 2), (2, ("there",), None), (3, ("new",), 3)]
    assert failed.value.of(0) is None
    assert failed.value.of(2) == failed.value.failures[1]


def test_an_identical_resend_under_its_token_succeeds_and_writes_nothing(
    store: ItemStore, fresh: Fresh, request: pytest.FixtureRequest
) -> None:
    known_wrong(request, "moto", reason="moto knows no ClientRequestToken")
    key, own = fresh("HEAD"), token()
    writes: list[Write] = [Put(fresh("SEG"), {"a": [1, {"b": 2}]}, (NEW,)), Update(key, (), add={("n",): 1})]
    store.transact(writes, own)
    store.transact(writes, own)
    item = store.get(key)
    assert item is not None
    assert item["n"] == 1


def test_the_same_writes_under_a_new_token_are_judged_anew(store: ItemStore, fresh: Fresh) -> None:
    writes: list[Write] = [Put(fresh("SEG"), {"a": 1}, (NEW,))]
    store.transact(writes, token())
    with pytest.raises(ConditionsFailed):
        store.transact(writes, token())


def test_another_body_under_the_same_token_is_an_error(
    store: ItemStore, fresh: Fresh, request: pytest.FixtureRequest
) -> None:
    known_wrong(request, "moto", reason="moto knows no ClientRequestToken")
    own = token()
    store.transact([Put(fresh("A"), {"n": 1}, ())], own)
    with pytest.raises(TokenReused):
        store.transact([Put(fresh("A"), {"n": 2}, ())], own)
    item = store.get(fresh("A"))
    assert item is not None
    assert item["n"] == 1


def test_a_transaction_that_failed_leaves_its_token_free(store: ItemStore, fresh: Fresh) -> None:
    own = token()
    writes: list[Write] = [Put(fresh("A"), {"n": 1}, ()), Check(fresh("B"), (THERE,))]
    with pytest.raises(ConditionsFailed):
        store.transact(writes, own)
    store.write(Put(fresh("B"), {}, ()))
    store.transact(writes, own)
    assert store.get(fresh("A")) is not None


def test_a_transaction_takes_100_writes_and_no_more(store: ItemStore, fresh: Fresh) -> None:
    writes: list[Write] = [Put(fresh(f"I#{n:03d}"), {"n": n}, (NEW,)) for n in range(101)]
    with pytest.raises(StoreRefused):
        store.transact(writes, token())
    with pytest.raises(StoreRefused):
        store.transact([], token())
    store.transact(writes[:100], token())
    assert store.count(Table.RUNS, fresh("x").pk, prefix="I#") == 100


def test_a_transaction_writes_each_item_once(store: ItemStore, fresh: Fresh) -> None:
    with pytest.raises(StoreRefused):
        store.transact([Put(fresh("A"), {}, ()), Check(fresh("A"), (NEW,))], token())


def test_a_transaction_has_at_most_4_megabytes(store: ItemStore, fresh: Fresh) -> None:
    writes: list[Write] = [Put(fresh(f"I#{n}"), {"value": "x" * 400_000}, ()) for n in range(11)]
    with pytest.raises(ItemTooLarge):
        store.transact(writes, token())


@pytest.mark.parametrize("bad", ["", "x" * 37])
def test_a_token_has_1_to_36_characters(store: ItemStore, fresh: Fresh, bad: str) -> None:
    with pytest.raises(StoreRefused):
        store.transact([Put(fresh("A"), {}, ())], bad)


def test_a_check_alone_is_refused(store: ItemStore, fresh: Fresh) -> None:
    with pytest.raises(StoreRefused):
        store.write(Check(fresh("A"), (NEW,)))
    with pytest.raises(StoreRefused):
        store.transact([Check(fresh("A"), ())], token())
