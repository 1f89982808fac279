"""S6: an event sent just before the wait was registered was lost (inngest 1433).

Here it is kept and satisfies the wait when it opens, at whatever moment it came: before the run's first step, between
any two calls of the burst that opens the wait, sent to the run or by its key.

Breaks without: walk._or_buffered, rules.same_inbox (the race with the commit), parked_events._adopt (by key).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from casegraph.testing.world import World
from tests.protocol.graphs import listener
from tests.protocol.kit import Bench

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


def calls_of_the_opening_burst(how: str) -> list[str]:
    bench = Bench(GRAPHS[how])
    run = bench.start()
    calls: list[str] = []
    bench.advance(run, bench.site.worker("opening", pause=calls.append))
    return calls


@pytest.mark.parametrize("how", GRAPHS)
def test_an_event_between_any_two_calls_of_the_opening_burst_is_taken_once(how: str) -> None:
    calls = calls_of_the_opening_burst(how)
    assert "store.transact" in calls
    for number in range(1, len(calls) + 1):
        bench = Bench(GRAPHS[how])
        run = bench.start()
        bench.advance(
            run, bench.site.worker("opening", pause=at(number, lambda: send(bench.world, run, how)))
        )
        bench.world.settle()
        view = bench.world.run(run)
        assert view.state == "succeeded", f"the event before call {number} ({calls[number - 1]}) was lost"
        assert view.output["listen"]["payload"] == {"again": False}
        assert view.head.buffered == () and view.head.inbox == ()


def at(number: int, do: Callable[[], None]) -> Callable[[str], None]:
    """What happens just before the n-th call of a worker."""
    seen: list[str] = []

    def pause(name: str) -> None:
        seen.append(name)
        if len(seen) == number:
            do()

    return pause
