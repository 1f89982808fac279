"""S26: a loop's second visit overwrote the first visit's output and reused its finished task (FIX-13).

Here each visit has a step, a wait and a task of its own, and what was decided in one stays as it was; `max_visits`
ends a runaway loop on the error port.

Breaks without: Draft._next_occurrence, walk's `max_visits`.
"""

from __future__ import annotations

from typing import Any

import pytest

from casegraph.errors import Conflict
from casegraph.testing.bundles import node
from casegraph.testing.people import do_task
from tests.protocol.graphs import call, decide, graph, review, wait
from tests.protocol.kit import Bench


def loop(max_visits: int = 100) -> dict[str, Any]:
    """review -> reject goes back to review, accept ends."""
    return graph(
        "again",
        [review("review", max_visits=max_visits)],
        [
            "start.success > review",
            "review.accept > end",
            "review.reject > review",
            "review.timeout > end",
        ],
    )


def visit(bench: Bench, run: str, outcome: str, note: str) -> dict[str, Any]:
    task = bench.world.task(run)
    bench.world.complete(task, "reviewer-1", {"outcome": outcome, "note": note})
    bench.world.settle()
    return task


def test_each_visit_has_its_own_step_task_and_output() -> None:
    bench = Bench(loop())
    run = bench.started()
    outcomes = ("reject", "reject", "accept")
    steps = [visit(bench, run, outcome, f"visit {n}")["step_id"] for n, outcome in enumerate(outcomes, 1)]
    assert steps == ["review#1", "review#2", "review#3"]
    notes = {s.step: s.output["response"]["note"] for s in bench.world.run(run).steps if s.node == "review"}
    assert notes == {"review#1": "visit 1", "review#2": "visit 2", "review#3": "visit 3"}
    rows = [bench.row(run, f"TASK#{step}") for step in steps]
    assert tuple(row["outcome"] for row in rows) == outcomes


def test_the_first_visits_decision_stays_when_the_second_is_under_way() -> None:
    bench = Bench(loop())
    run = bench.started()
    visit(bench, run, "reject", "first")
    before = bench.row(run, "TASK#review#1")
    with pytest.raises(Conflict) as refused:
        do_task(bench.ports, run, "review#1", "reviewer-2", {"outcome": "accept"})
    assert refused.value.code == "task_completed"
    assert refused.value.details["who"] == "reviewer-1"
    visit(bench, run, "accept", "second")
    assert bench.row(run, "TASK#review#1") == before


def test_each_visits_deadline_is_its_own() -> None:
    bench = Bench(loop())
    run = bench.started()
    bench.world.advance("50m")
    visit(bench, run, "reject", "late")
    second_opened_at = bench.now
    assert bench.world.task(run)["timeout_at"] == second_opened_at + 3_600_000
    bench.world.advance("20m")
    assert bench.world.run(run).state == "waiting", "the first visit's deadline is over with that visit"


def test_each_visit_of_a_waiting_loop_takes_an_event_of_its_own() -> None:
    """Two events come at once: the first visit takes one, the second the other."""
    bench = Bench(
        graph(
            "listen_again",
            [
                wait("listen"),
                node("again", "condition", {
                    "cases": [{"port": "yes", "when": "nodes.listen.?payload.?again.orValue(false)"}], "default": "no",
                }),
            ],
            [
                "start.success > listen", "listen.received > again", "listen.timeout > end",
                "again.yes > listen", "again.no > end",
            ],
        )
    )  # fmt: skip
    run = bench.started()
    bench.world.event(run, "step.done", payload={"again": True})
    bench.world.event(run, "step.done", payload={"again": False})
    bench.world.settle()
    view = bench.world.run(run)
    assert view.state == "succeeded"
    taken = {s.step: s.output["payload"]["again"] for s in view.steps if s.node == "listen"}
    assert taken == {"listen#1": True, "listen#2": False}


def test_max_visits_ends_a_runaway_loop_on_the_error_port() -> None:
    bench = Bench(
        graph(
            "runaway",
            [
                call("look", max_visits=3),
                node("more", "condition", {"cases": [{"port": "yes", "when": "true"}], "default": "no"}),
                decide("stop", '"stopped"'),
            ],
            [
                "start.success > look", "look.success > more", "more.yes > look", "more.no > end",
                "look.error > stop", "stop.recorded > end",
            ],
        )
    )  # fmt: skip
    run = bench.started()
    view = bench.world.run(run)
    assert view.state == "succeeded"
    assert view.path[-2:] == ["stop#1", "end#1"]
    last = next(s for s in view.steps if s.step == "look#4")
    assert (last.port, last.code) == ("error", "max_visits_exceeded")
    assert len(bench.site.scripted.calls) == 3


def test_without_an_error_port_the_runaway_loop_asks_for_help() -> None:
    bench = Bench(loop(2))
    run = bench.started()
    for n in range(2):
        visit(bench, run, "reject", f"visit {n}")
    assert bench.world.run(run).attention == ("node_failed",)
    assert not bench.world.tasks(run)
