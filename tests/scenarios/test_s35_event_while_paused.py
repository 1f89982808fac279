"""S35: an event came while the run was paused; after it was resumed it waited for the next deadline.

Here the resume sets `wake_at` to now: whatever came during the pause is taken in at once, also when the resume's job
is lost (then by the next sweep).

Breaks without: control.resumed's `wake_at`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from casegraph.application.ports import Applied
from casegraph.testing.bundles import JsonObject
from tests.protocol.graphs import listener, person, sender
from tests.protocol.kit import Bench

FORTY_DAYS = 40 * 86_400
Happening = Callable[[Bench, str], object]
HAPPENINGS: dict[str, tuple[JsonObject, Happening]] = {
    "event": (
        listener(seconds=FORTY_DAYS),
        lambda bench, run: bench.world.event(run, "step.done", payload={"again": False}),
    ),
    "event by key": (
        listener(seconds=FORTY_DAYS, correlation_key="input.key"),
        lambda bench, run: bench.world.event(None, "step.done", key="k-1", payload={"again": False}),
    ),
    "task": (
        person(FORTY_DAYS),
        lambda bench, run: bench.world.complete(bench.world.task(run), "reviewer-1", {"outcome": "accept"}),
    ),
}


@pytest.mark.parametrize("deadlines", ["shift", "keep"])
@pytest.mark.parametrize("what", HAPPENINGS)
def test_what_came_during_the_pause_is_taken_in_at_once(what: str, deadlines: str) -> None:
    graph, happens = HAPPENINGS[what]
    bench = Bench(graph)
    run = bench.started()
    bench.world.settle()
    bench.world.pause(run)
    bench.world.advance("1h")
    happens(bench, run)
    bench.world.advance("1h")
    assert bench.world.run(run).state == "paused"
    assert bench.head(run).wake_at is None
    resumed_at = bench.now
    bench.world.resume(run, deadlines=deadlines)
    bench.world.settle()
    view = bench.world.run(run)
    assert view.state == "succeeded"
    assert view.log[-1]["recorded_at"] == resumed_at


@pytest.mark.parametrize("what", HAPPENINGS)
def test_a_lost_job_of_the_resume_costs_minutes_not_days(what: str) -> None:
    graph, happens = HAPPENINGS[what]
    bench = Bench(graph)
    run = bench.started()
    bench.world.pause(run)
    happens(bench, run)
    bench.world.resume(run)
    bench.clear_jobs()
    bench.world.advance("3m")
    assert bench.world.run(run).state == "succeeded"


def test_a_time_boxed_pause_that_ends_by_itself_takes_in_what_came_too() -> None:
    graph, happens = HAPPENINGS["event"]
    bench = Bench(graph)
    run = bench.started()
    bench.world.pause(run, until=bench.now + 3_600_000)
    happens(bench, run)
    bench.world.advance("59m")
    assert bench.world.run(run).state == "paused"
    bench.world.advance("4m")
    assert bench.world.run(run).state == "succeeded"


def test_an_effect_that_settled_during_the_pause_is_taken_in_at_once() -> None:
    bench = Bench(sender())
    run = bench.started()
    bench.mail.outcomes = [lambda _: (bench.world.pause(run), Applied())[1]]
    bench.world.settle()
    assert bench.world.run(run).state == "paused"
    assert bench.effect(run)["state"] == "applied"
    bench.world.resume(run)
    bench.world.settle()
    assert bench.world.run(run).state == "succeeded"
