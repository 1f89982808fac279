"""Every kind of condition, on every adapter: what holds, what does not, and what is told about a failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from casegraph.application.ports import ItemStore
from casegraph.domain.writes import (
    Absent,
    AllOf,
    AnyOf,
    Compare,
    Condition,
    Contains,
    Delete,
    Exists,
    Item,
    Key,
    Not,
    Put,
    Rule,
    SizeIs,
    Update,
)
from casegraph.errors import ConditionsFailed
from tests.contract.stand_ins import MOTO_MISJUDGES

Fresh = Callable[..., Key]
ITEM: Item = {
    "n": 5,
    "half": 0.5,
    "text": "signal",
    "empty": "",
    "yes": True,
    "nothing": None,
    "list": ["a", 1, {"k": 1}],
    "empty_list": [],
    "map": {"inner": {"deep": "x"}, "dotted.name": 1},
}

HOLD: list[Condition] = [
    Exists(("pk",)),
    Exists(("map", "inner", "deep")),
    Exists(("map", "dotted.name")),
    Exists(("nothing",)),
    Absent(("missing",)),
    Absent(("map", "missing", "deeper")),
    Absent(("text", "inside_a_text")),
    Compare(("n",), "=", 5),
    Compare(("n",), "=", 5.0),
    Compare(("half",), "=", 0.5),
    Compare(("n",), "<", 6),
    Compare(("n",), "<=", 5),
    Compare(("n",), ">", 4.5),
    Compare(("n",), ">=", 5),
    Compare(("n",), "<>", 6),
    Compare(("n",), "<>", "5"),
    Compare(("missing",), "<>", 5),
    Compare(("text",), ">", "signa"),
    Compare(("text",), "<", "signal!"),
    Compare(("empty",), "=", ""),
    Compare(("yes",), "=", True),
    Compare(("nothing",), "=", None),
    Compare(("list",), "=", ["a", 1, {"k": 1}]),
    Compare(("map", "inner"), "=", {"deep": "x"}),
    SizeIs(("list",), 3),
    SizeIs(("empty_list",), 0),
    SizeIs(("map",), 2),
    Contains(("list",), "a"),
    Contains(("list",), 1),
    Contains(("text",), "ign"),
    Not(Absent(("n",))),
    Not(Compare(("missing",), "=", 1)),
    Not(Contains(("missing",), 1)),
    AllOf((Exists(("n",)), Compare(("n",), "=", 5))),
    AnyOf((Absent(("n",)), Compare(("n",), "=", 5))),
    AnyOf((AllOf((Exists(("n",)), Absent(("n",)))), Not(AnyOf((Absent(("n",)), Absent(("text",))))))),
]

DO_NOT_HOLD: list[Condition] = [
    Absent(("pk",)),
    Exists(("missing",)),
    Exists(("map", "inner", "missing")),
    Compare(("n",), "=", 6),
    Compare(("n",), "=", "5"),
    Compare(("yes",), "=", 1),
    Compare(("n",), "<>", 5),
    Compare(("n",), "<", 5),
    Compare(("n",), ">", 5),
    Compare(("n",), "<", "9"),
    Compare(("missing",), "=", 5),
    Compare(("missing",), "<", 5),
    Compare(("missing",), "<=", 5),
    Compare(("missing",), ">", 5),
    Compare(("missing",), ">=", 5),
    Compare(("map", "missing"), "=", 5),
    SizeIs(("list",), 2),
    SizeIs(("missing",), 0),
    SizeIs(("n",), 1),
    Contains(("list",), "b"),
    Contains(("list",), "1"),
    Contains(("text",), "x"),
    Contains(("missing",), "a"),
    Not(Exists(("n",))),
    AllOf((Exists(("n",)), Absent(("n",)))),
    AnyOf((Absent(("n",)), Exists(("missing",)))),
]


def rule(condition: Condition, name: str = "the_rule") -> Rule:
    return Rule(name, condition, "a test")


def test_a_write_goes_through_when_its_condition_holds(store: ItemStore, fresh: Fresh) -> None:
    key = fresh("ITEM")
    store.write(Put(key, ITEM, ()))
    for number, condition in enumerate(HOLD):
        new = store.write(Update(key, (rule(condition),), set={("written",): number}))
        assert new is not None, condition
        assert new["written"] == number, condition


def test_a_write_is_refused_when_its_condition_does_not_hold(
    store: ItemStore, fresh: Fresh, adapter: str
) -> None:
    key = fresh("ITEM")
    store.write(Put(key, ITEM, ()))
    for condition in DO_NOT_HOLD:
        if adapter == "moto" and condition in MOTO_MISJUDGES:
            continue
        with pytest.raises(ConditionsFailed) as failed:
            store.write(Update(key, (rule(condition),), set={("written",): 1}))
        assert failed.value.failures[0].rules == ("the_rule",), condition
    assert store.get(key) == ITEM | {"pk": key.pk, "sk": key.sk}


def test_no_item_is_an_item_without_attributes(store: ItemStore, fresh: Fresh) -> None:
    conditions: list[Condition] = [Exists(("pk",)), Compare(("n",), "=", 1), Contains(("list",), 0)]
    for condition in conditions:
        with pytest.raises(ConditionsFailed) as failed:
            store.write(Put(fresh("ITEM"), ITEM, (rule(condition),)))
        assert failed.value.failures[0].old_item is None
    store.write(Put(fresh("ITEM"), {}, (rule(Absent(("pk",))), rule(Compare(("n",), "<>", 1)))))
    assert store.get(fresh("ITEM")) is not None


@pytest.mark.parametrize("kind", ["put", "update", "delete"])
def test_a_failure_names_exactly_the_rules_that_failed_and_gives_the_old_item(
    store: ItemStore, fresh: Fresh, kind: str
) -> None:
    key = fresh("ITEM")
    store.write(Put(key, ITEM, ()))
    rules = (
        rule(Exists(("n",)), "there"),
        rule(Compare(("n",), "=", 6), "six"),
        rule(Absent(("missing",)), "not_missing"),
        rule(SizeIs(("list",), 0), "empty"),
    )
    writes: dict[str, Any] = {
        "put": Put(key, {"other": 1}, rules),
        "update": Update(key, rules, set={("other",): 1}),
        "delete": Delete(key, rules),
    }
    with pytest.raises(ConditionsFailed) as failed:
        store.write(writes[kind])
    (failure,) = failed.value.failures
    assert failure.index == 0
    assert failure.rules == ("six", "empty")
    assert failure.old_item == ITEM | {"pk": key.pk, "sk": key.sk}


def test_a_delete_removes_only_what_its_rules_allow(store: ItemStore, fresh: Fresh) -> None:
    key = fresh("ITEM")
    store.write(Put(key, ITEM, ()))
    with pytest.raises(ConditionsFailed):
        store.write(Delete(key, (rule(Compare(("n",), "=", 6)),)))
    assert store.get(key) is not None
    assert store.write(Delete(key, (rule(Compare(("n",), "=", 5)),))) is None
    assert store.get(key) is None
    store.write(Delete(key, ()))
