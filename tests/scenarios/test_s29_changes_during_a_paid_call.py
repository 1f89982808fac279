"""S29: an operator paused, an event came, a sibling task was completed, each between a paid model call and its commit.

Here the result is kept, the change is merged, and nothing runs twice: the commit is refused, decided again on the head
that was returned, with the answer that was already paid for.

Breaks without: the burst's knowledge kept over a rebuild (Burst._rebuild), rules.same_inbox, walk.record_results.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import pytest

from casegraph.application.advance_run import Advanced
from casegraph.domain.segment import chain_faults
from casegraph.testing.bundles import node
from tests.protocol.graphs import call, decide, graph, rest, review, wait
from tests.protocol.kit import Bench

GRAPH = graph(
    "paid",
    [
        node("fork", "parallel", {"branches": ["person", "event", "paid"]}),
        review("review"), wait("listen"), rest("rest", 60), call("look", "costly"),
        node("join", "join", {"mode": "all"}), decide("done", "string(nodes.look.score)"),
    ],
    [
        "start.success > fork", "fork.person > review", "fork.event > listen", "fork.paid > rest",
        "review.accept > join", "review.reject > join", "review.timeout > join",
        "listen.received > join", "listen.timeout > join",
        "rest.completed > look", "look.success > join", "join.success > done", "done.recorded > end",
    ],
)  # fmt: skip
CHANGES: dict[str, Callable[[Bench, str], object]] = {
    "pause": lambda bench, run: bench.world.pause(run),
    "event": lambda bench, run: bench.world.event(run, "step.done", payload={"again": False}),
    "task": lambda bench, run: bench.world.complete(
        bench.world.task(run), "reviewer-1", {"outcome": "accept"}
    ),
}
SOME = [chosen for count in (1, 2, 3) for chosen in combinations(CHANGES, count)]


@pytest.mark.parametrize("chosen", SOME, ids="+".join)
def test_the_paid_result_is_kept_the_change_is_merged_and_nothing_runs_twice(chosen: tuple[str, ...]) -> None:
    bench = Bench(GRAPH)
    run = bench.started()

    def paid(_: object) -> dict[str, int]:
        for name in chosen:
            CHANGES[name](bench, run)
        return {"score": 7}

    bench.world.component("costly", paid)
    bench.pass_time(60_000)
    assert bench.advance(run) is Advanced.RELEASED
    assert "fork#1/paid/look#1" in bench.steps(run), "the result is recorded at once"
    if "pause" in chosen:
        assert bench.world.run(run).state == "paused"
        assert "fork#1/person/review#1" not in bench.steps(run), "stored, not taken in"
        bench.world.resume(run)
    for name in ("event", "task"):
        if name not in chosen:
            CHANGES[name](bench, run)
    bench.world.settle()
    view = bench.world.run(run)
    assert view.state == "succeeded"
    assert view.output["done"]["outcome"] == "7"
    assert len(bench.site.scripted.calls) == 1
    assert len(view.path) == len(set(view.path))
    assert chain_faults(list(view.log)) == []


def test_a_run_terminated_during_the_paid_call_stays_terminated() -> None:
    bench = Bench(GRAPH)
    run = bench.started()
    bench.world.component("costly", lambda _: (bench.world.terminate(run), {"score": 7})[1])
    bench.pass_time(60_000)
    bench.advance(run)
    bench.world.settle()
    view = bench.world.run(run)
    assert (view.state, view.open) == ("terminated", ())
    assert "fork#1/paid/look#1" not in view.path, "the result is dropped"
    assert len(bench.site.scripted.calls) == 1
