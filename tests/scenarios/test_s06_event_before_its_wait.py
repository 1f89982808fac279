"""S6: an event sent just before the wait was registered was lost (inngest 1433).

Here it is kept and satisfies the wait when it opens, at whatever moment it came: before the run's first step, between
any two calls of the burst that opens the wait, sent to the run or by its key.

Breaks without: walk._buffered_for, rules.same_inbox (the race with the commit), parked_events._adopt (by key).
"""

from __future__ import annotations

import pytest

from casegraph.testing.view import RunView
from casegraph.testing.world import World
from tests.protocol.graphs import listener
from tests.protocol.kit import Bench
from tests.scenarios.moments import at_call, calls_of_first_burst

TO_THE_RUN, BY_KEY = "to the run", "by key"
GRAPHS = {TO_THE_RUN: listener(), BY_KEY: listener(correlation_key="input.key")}


def send(world: World, run: str, how: str) -> None:
    payload = {"again": False}
    if how == TO_THE_RUN:
        world.event(run, "step.done", payload=payload)
    else:
        world.event(None, "step.done", key="k-1", payload=payload)


@pytest.mark.parametrize("how", GRAPHS)
def test_an_event_sent_before_the_first_step_satisfies_the_wait_as_it_opens(how: str) -> None:
    bench = Bench(GRAPHS[how])
    run = bench.start()
    send(bench.world, run, how)
    bench.world.settle()
    view = bench.world.run(run)
    assert (view.state, view.output["listen"]["payload"]) == ("succeeded", {"again": False})


def test_an_event_by_key_that_came_before_the_run_itself_is_kept_for_it() -> None:
    bench = Bench(GRAPHS[BY_KEY])
    send(bench.world, "", BY_KEY)
    bench.world.advance("1d")
    run = bench.started()
    bench.world.settle()
    assert bench.world.run(run).state == "succeeded"


def open_the_wait_with_an_event_at(number: int, how: str) -> RunView:
    bench = Bench(GRAPHS[how])
    run = bench.start()
    worker = bench.site.worker("opening", pause=at_call(number, lambda: send(bench.world, run, how)))
    bench.advance(run, worker)
    bench.world.settle()
    return bench.world.run(run)


@pytest.mark.parametrize("how", GRAPHS)
def test_an_event_between_any_two_calls_of_the_opening_burst_is_taken_once(how: str) -> None:
    calls = calls_of_first_burst(Bench(GRAPHS[how]))
    assert "store.transact" in calls
    for number, name in enumerate(calls, start=1):
        view = open_the_wait_with_an_event_at(number, how)
        assert view.state == "succeeded", f"the event before call {number} ({name}) was lost"
        assert view.output["listen"]["payload"] == {"again": False}
        assert (view.head.buffered, view.head.inbox) == ((), ())
