"""S41: a CEL error value chose a branch because it was truthy.

CEL's binding gives an evaluation error back as a value. Here it is a typed failure of the node that evaluated it, and
so is a value that is no boolean where one is asked for: no branch is taken, neither the case's nor the default.

Breaks without: expressions' reading of the error kind, evaluate_bool's comparison with true and false.
"""

from __future__ import annotations

from typing import Any

import pytest

from casegraph.testing.bundles import bundle, node
from casegraph.testing.world import World

OPEN_INPUT = {"type": "object", "properties": {"n": {"type": "integer"}, "any": {}}, "required": ["n", "any"]}


def choosing(when: str) -> dict[str, Any]:
    """start > choose > yes or no, each an end of its own."""
    return bundle(
        "choosing",
        [
            node("start", "start"),
            node("choose", "condition", {"cases": [{"port": "yes", "when": when}], "default": "no"}),
            node("yes", "end", {"terminal_code": "yes"}),
            node("no", "end", {"terminal_code": "no"}),
        ],
        ["start.success > choose", "choose.yes > yes", "choose.no > no"],
        input_schema=OPEN_INPUT,
    )


def run_with(graph: dict[str, Any], input: dict[str, Any]) -> Any:
    world = World()
    run = world.start(world.publish(graph), input)
    world.settle()
    return world.run(run)


FAILING: dict[str, tuple[str, dict[str, Any]]] = {
    "division by zero": ("10 / input.n > 1", {"n": 0, "any": None}),
    "overflow": ("input.n * input.n > 1", {"n": 9_000_000_000_000_000_000, "any": None}),
    "index out of range": ("[1, 2][input.n] == 1", {"n": 5, "any": None}),
    "no such field": ("input.any.missing == 1", {"n": 1, "any": {}}),
    "no such overload": ("input.any > 1", {"n": 1, "any": "text"}),
    "error on both sides of or": ("10 / input.n > 1 || 20 / input.n > 1", {"n": 0, "any": None}),
}


@pytest.mark.parametrize("name", FAILING)
def test_an_evaluation_error_takes_no_branch_and_the_node_has_failed(name: str) -> None:
    when, input = FAILING[name]
    view = run_with(choosing(when), input)
    assert (view.state, view.attention) == ("attention", ("node_failed",))
    assert view.terminal_code is None
    (step,) = [s for s in view.steps if s.node == "choose"]
    assert (step.status, step.port) == ("failed", None)
    assert step.code.startswith("expression_")


NOT_BOOLEAN = {"text": "yes", "number": 1, "list": [1], "object": {"a": 1}, "text false": "false"}


@pytest.mark.parametrize("name", NOT_BOOLEAN)
def test_a_truthy_value_that_is_no_boolean_takes_no_branch(name: str) -> None:
    view = run_with(choosing("input.any"), {"n": 1, "any": NOT_BOOLEAN[name]})
    assert view.state == "attention"
    (step,) = [s for s in view.steps if s.node == "choose"]
    assert (step.status, step.port, step.code) == ("failed", None, "expression_not_bool")


@pytest.mark.parametrize(("value", "port"), [(True, "yes"), (False, "no")])
def test_true_and_false_still_choose(value: bool, port: str) -> None:
    assert run_with(choosing("input.any"), {"n": 1, "any": value}).terminal_code == port


def test_an_error_in_another_nodes_input_is_that_nodes_failure() -> None:
    graph = bundle(
        "deciding",
        [
            node("start", "start"),
            node("done", "decision", input_mapping={"outcome": "string(10 / input.n)"}),
            node("end", "end"),
        ],
        ["start.success > done", "done.recorded > end"],
        input_schema=OPEN_INPUT,
    )
    view = run_with(graph, {"n": 0, "any": None})
    assert (view.state, view.attention) == ("attention", ("node_failed",))


def test_where_the_graph_says_so_the_run_fails_with_the_code() -> None:
    graph = choosing("10 / input.n > 1")
    graph["graph"]["on_unhandled"] = "fail"
    view = run_with(graph, {"n": 0, "any": None})
    assert (view.state, view.terminal_code) == ("failed", None)
    assert (view.head.error_code or "").startswith("expression_")
