"""S7: a timer fired minutes late, or never (inngest 2423; Netflix/conductor 3588).

Here, with the sweeper every minute, a timer of 20 seconds, of 90 seconds, of 16 minutes (longer than a queue can delay)
and of 40 days each fires within two seconds of its instant, the long ones also when the writers' jobs were lost.

Breaks without: hints.run_due after the commit (20 s), reconcile's look ahead of 120 s (the others).
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from casegraph.application.advance_run import advance_run
from casegraph.testing.faults import Calm
from casegraph.testing.world import World
from tests.protocol.graphs import listener, person, sleeper

TIMERS = {"20 s": 20, "90 s": 90, "16 min": 16 * 60, "40 d": 40 * 86_400}
WITHIN = 2_000


class BurstsLoseTheirJobs(Calm):
    """What a burst sends is lost; what the sweep sends arrives."""

    losing = False

    def copies(self) -> Sequence[int]:
        return () if self.losing else (0,)


def fired_after(world: World, run: str) -> int:
    """Milliseconds from the run's start to the commit that ended it."""
    view = world.run(run)
    assert view.state == "succeeded", view.state
    return int(view.log[-1]["recorded_at"]) - view.head.started_at


@pytest.mark.parametrize("seconds", TIMERS.values(), ids=TIMERS)
@pytest.mark.parametrize("offset", [0, 1, 29_999, 59_999], ids=lambda ms: f"{ms} ms into a minute")
def test_a_delay_fires_within_two_seconds_of_its_instant(seconds: int, offset: int) -> None:
    world = World()
    world.site.time.to(world.now + offset)
    run = world.start(world.publish(sleeper(seconds)))
    world.advance(seconds + 60)
    assert 0 <= fired_after(world, run) - seconds * 1000 <= WITHIN


@pytest.mark.parametrize("seconds", TIMERS.values(), ids=TIMERS)
@pytest.mark.parametrize("graph", [person, listener], ids=["task", "event"])
def test_a_timeout_fires_within_two_seconds_of_its_instant(graph: object, seconds: int) -> None:
    assert callable(graph)
    world = World()
    run = world.start(world.publish(graph(seconds=seconds)), {"key": "k"})
    world.advance(seconds + 60)
    assert 0 <= fired_after(world, run) - seconds * 1000 <= WITHIN


@pytest.mark.parametrize("seconds", [16 * 60, 40 * 86_400], ids=["16 min", "40 d"])
def test_it_fires_in_time_when_the_writers_jobs_were_lost(seconds: int) -> None:
    nemesis = BurstsLoseTheirJobs()
    world = World(nemesis=nemesis)
    run = world.start(world.publish(sleeper(seconds)))
    nemesis.losing = True
    advance_run(world.ports(), run, world.site.invocation())
    nemesis.losing = False
    world.site.queue.messages.clear()
    world.advance(seconds + 60)
    assert 0 <= fired_after(world, run) - seconds * 1000 <= WITHIN


def test_no_timer_fires_before_its_instant() -> None:
    world = World()
    run = world.start(world.publish(sleeper(90)))
    world.advance(89)
    assert world.run(run).state == "waiting"
