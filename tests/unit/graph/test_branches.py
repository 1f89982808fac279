"""Forks and joins: what can be satisfied, and what has run behind them."""

from __future__ import annotations

from typing import Any

import pytest

from casegraph.domain.graph.validation.validate import validate
from casegraph.testing.bundles import bundle, node

Json = dict[str, Any]


def forked(join: Json, *, wires: tuple[str, ...] = (), reason: str = "'x'", left: str = "meet") -> Json:
    """start > fork {left: a, right: b} > meet > after > end."""
    return bundle(
        "forked",
        [
            node("start", "start"),
            node("fork", "parallel", {"branches": ["left", "right"]}),
            node("a", "enrichment", {"component_id": "one"}),
            node("b", "enrichment", {"component_id": "two"}),
            node("meet", "join", join),
            node("after", "decision", {}, input_mapping={"outcome": "'x'", "reason": reason}),
            node("end", "end"),
        ],
        [
            "start.success > fork",
            "fork.left > a",
            "fork.right > b",
            f"a.success > {left}",
            "b.success > meet",
            "meet.success > after",
            "after.recorded > end",
            *wires,
        ],
    )


def codes(changed: Json) -> list[str]:
    return [p.code for p in validate(changed).problems]


@pytest.mark.parametrize(
    "join", [{}, {"mode": "all"}, {"mode": "any"}, {"mode": "n", "n": 1}, {"mode": "n", "n": 2}]
)
def test_a_join_of_the_branches_of_a_fork_is_sound(join: Json) -> None:
    assert codes(forked(join)) == []


def test_a_join_for_more_branches_than_there_are_is_refused() -> None:
    assert codes(forked({"mode": "n", "n": 3})) == ["join_unsatisfiable"]


def test_a_join_of_all_needs_every_branch_to_arrive() -> None:
    assert "join_unsatisfiable" in codes(forked({"mode": "all"}, left="end"))
    assert codes(forked({"mode": "any"}, left="end")) == []
    found = validate(forked({"mode": "all"}, left="end")).problems
    assert "left" in next(p for p in found if p.code == "join_unsatisfiable").hint


def test_a_join_without_a_fork_above_is_refused() -> None:
    changed = bundle(
        "bare",
        [node("start", "start"), node("meet", "join", {}), node("end", "end")],
        ["start.success > meet", "meet.success > end"],
    )
    assert codes(changed) == ["join_outside_fork"]


def test_a_join_reached_also_from_outside_of_the_fork_is_refused() -> None:
    changed = forked({})
    changed["graph"]["nodes"].insert(
        1, node("early", "condition", {"cases": [{"port": "skip", "when": "true"}]})
    )
    changed["graph"]["edges"][0]["to"]["node"] = "early"
    for port, target in (("skip", "meet"), ("default", "fork")):
        changed["graph"]["edges"].append({"from": {"node": "early", "port": port}, "to": {"node": target}})
    assert "join_outside_fork" in codes(changed)


def test_n_goes_with_mode_n() -> None:
    assert codes(forked({"mode": "n"})) == ["missing_field"]
    assert codes(forked({"mode": "all", "n": 2})) == ["unexpected_field"]


def test_an_unsatisfied_port_must_be_wired() -> None:
    assert codes(forked({"mode": "all", "unsatisfied_port": True})) == ["unwired_port"]
    assert codes(forked({"unsatisfied_port": True}, wires=("meet.unsatisfied > end",))) == []


def test_behind_a_join_of_all_every_branch_has_run() -> None:
    assert codes(forked({"mode": "all"}, reason="string(nodes.a.x) + string(nodes.b.y)")) == []
    assert codes(forked({"mode": "n", "n": 2}, reason="string(nodes.a.x) + string(nodes.b.y)")) == []


@pytest.mark.parametrize("join", [{"mode": "any"}, {"mode": "n", "n": 1}])
def test_behind_a_join_of_some_a_branch_may_not_have_run(join: Json) -> None:
    assert codes(forked(join, reason="string(nodes.a.x)")) == ["reference_may_not_have_run"]
    assert codes(forked(join, reason="string(nodes.?a.?x.orValue(''))")) == []


def test_behind_the_unsatisfied_port_a_branch_may_not_have_run() -> None:
    changed = forked(
        {"unsatisfied_port": True}, wires=("meet.unsatisfied > after",), reason="string(nodes.a.x)"
    )
    assert codes(changed) == ["reference_may_not_have_run"]


def test_a_branch_cannot_read_its_sibling() -> None:
    changed = forked({})
    changed["graph"]["nodes"][3]["input_mapping"] = {"x": "nodes.a.x"}
    assert codes(changed) == ["reference_never_run"]


def test_a_branch_reads_what_ran_before_the_fork_and_in_itself() -> None:
    changed = forked({})
    changed["graph"]["nodes"].insert(1, node("first", "enrichment", {"component_id": "zero"}))
    changed["graph"]["nodes"].insert(4, node("then", "enrichment", {"component_id": "one"}))
    edges = changed["graph"]["edges"]
    edges[0]["to"]["node"], edges[3]["to"]["node"] = "first", "then"
    edges.append({"from": {"node": "first", "port": "success"}, "to": {"node": "fork"}})
    edges.append({"from": {"node": "then", "port": "success"}, "to": {"node": "meet"}})
    changed["graph"]["nodes"][4]["input_mapping"] = {"x": "nodes.first.x", "y": "nodes.a.y"}
    assert codes(changed) == []


def test_a_fork_in_a_loop_with_its_join_is_sound() -> None:
    changed = forked({})
    changed["graph"]["nodes"].insert(
        5, node("again", "condition", {"cases": [{"port": "yes", "when": "true"}]})
    )
    changed["graph"]["edges"][5]["to"]["node"] = "again"
    for port, target in (("yes", "fork"), ("default", "after")):
        changed["graph"]["edges"].append({"from": {"node": "again", "port": port}, "to": {"node": target}})
    assert codes(changed) == []


def test_a_fork_that_a_branch_leads_back_to_nests_without_end() -> None:
    assert "branch_path_too_deep" in codes(forked({"mode": "any"}, left="fork"))


def test_64_branches_are_a_fork_and_65_are_not() -> None:
    for count, expected in ((64, []), (65, ["invalid_value"])):
        names = [f"b{i}" for i in range(count)]
        changed = bundle(
            "wide",
            [
                node("start", "start"),
                node("fork", "parallel", {"branches": names}),
                node("meet", "join", {}),
                node("end", "end"),
            ],
            ["start.success > fork", *(f"fork.{n} > meet" for n in names), "meet.success > end"],
        )
        assert codes(changed) == expected


def test_wide_forks_in_a_row_stay_checkable() -> None:
    names = [f"b{i}" for i in range(64)]
    nodes, wires = [node("start", "start")], ["start.success > fork0"]
    for level in range(50):
        nodes += [node(f"fork{level}", "parallel", {"branches": names}), node(f"meet{level}", "join", {})]
        wires += [f"fork{level}.{n} > meet{level}" for n in names]
        wires.append(f"meet{level}.success > " + (f"fork{level + 1}" if level < 49 else "end"))
    assert codes(bundle("wide", [*nodes, node("end", "end")], wires)) == []
