"""S19: attempts were counted on success only, so a poison entry looped for ever as attempt 1 (langwatch PR 7037).

Here the claim counts, and the attempt of an effect counts before its call. A run whose every claim kills the process
is in attention `dispatch_exhausted` after eight claims; an effect whose every attempt does so ends with a person. A
lease lasts as long as its own invocation, not from when a batch was fetched (what is shed of a batch: S20).

Breaks without: lease.claim_update's count, Burst's check of MAX_CLAIM_ATTEMPTS, effect.start_attempt's count,
commit's reset of attempts.
"""

from __future__ import annotations

import pytest

from casegraph.application.advance_run import Advanced, advance_run
from casegraph.limits import (
    CLOCK_SKEW_MILLISECONDS,
    MAX_CLAIM_ATTEMPTS,
    MAX_EFFECT_ATTEMPTS,
    PENALTY_STEP_MILLISECONDS,
)
from casegraph.testing.lockstep import Killed
from tests.protocol.graphs import call, caller, decide, graph, sender
from tests.protocol.kit import Bench


class Deadly:
    """A component, or a receiver, that takes the whole process with it, the first so many times."""

    def __init__(self, times: int = 10**9) -> None:
        self.left = times
        self.calls = 0

    def __call__(self, _: object) -> dict[str, int]:
        self.calls += 1
        if self.left > 0:
            self.left -= 1
            raise Killed("out of memory")
        return {"score": 7}


def test_a_run_that_kills_every_process_asks_for_help_after_eight_claims() -> None:
    bench = Bench(caller())
    deadly = Deadly()
    bench.world.component("cheap", deadly)
    run = bench.start()
    bench.world.advance("1d")
    view = bench.world.run(run)
    assert (view.state, view.attention) == ("attention", ("dispatch_exhausted",))
    assert deadly.calls == MAX_CLAIM_ATTEMPTS == 8
    bench.world.advance("1d")
    assert deadly.calls == 8, "it stands still"
    assert bench.head(run).wake_at is None


def test_each_claim_is_counted_when_it_is_made() -> None:
    bench = Bench(caller())
    bench.world.component("cheap", Deadly())
    run = bench.start()
    for attempt in range(1, 4):
        with pytest.raises(Killed):
            bench.advance(run)
        assert bench.head(run).attempts == attempt
        bench.pass_time(10 * 60_000)


def test_a_run_that_gets_through_at_the_last_claim_starts_counting_anew() -> None:
    bench = Bench(
        graph(
            "twice_deadly",
            [call("look"), call("again", "other"), decide("done", '"x"')],
            [
                "start.success > look", "look.success > again", "again.success > done", "done.recorded > end",
            ],
        )
    )  # fmt: skip
    bench.world.component("cheap", Deadly(MAX_CLAIM_ATTEMPTS - 1))
    run = bench.start()
    bench.world.advance("1d")
    view = bench.world.run(run)
    assert view.state == "succeeded"
    assert bench.head(run).attempts == 0


def test_the_lease_is_taken_for_this_invocation_just_before_the_work() -> None:
    """A record that waited in its batch for 20 s of a 60 s invocation gets a lease of what is left."""
    bench = Bench(caller())
    bench.world.component("cheap", Deadly())
    run = bench.start()
    invocation = bench.site.invocation(60_000)
    bench.pass_time(20_000)
    with pytest.raises(Killed):
        advance_run(bench.ports, run, invocation)
    until = invocation.ends_at + CLOCK_SKEW_MILLISECONDS
    assert until <= (bench.head(run).lease_until or 0) <= until + PENALTY_STEP_MILLISECONDS
    assert bench.advance(run) is Advanced.NOTHING_DUE, "one live lease"


@pytest.mark.parametrize(
    ("recovery", "attempts", "state", "attention"),
    [
        ("idempotent", MAX_EFFECT_ATTEMPTS, "ambiguous", "effect_ambiguous"),
        # Each time the receiver was asked and knew of nothing: it was definitely not done.
        ("lookup", MAX_EFFECT_ATTEMPTS, "rejected", "node_failed"),
        ("manual", 1, "ambiguous", "effect_ambiguous"),
    ],
)
def test_an_effect_that_kills_every_process_ends_with_a_person(
    recovery: str, attempts: int, state: str, attention: str
) -> None:
    bench = Bench(sender(recovery))
    deadly = Deadly()
    bench.mail.outcomes = [deadly]  # type: ignore[list-item]
    run = bench.start()
    bench.world.advance("7d")
    view = bench.world.run(run)
    assert (view.state, view.attention) == ("attention", (attention,))
    assert bench.effect(run)["state"] == state
    assert bench.effect(run)["attempts"] == deadly.calls == attempts


def test_the_jobs_of_a_poison_run_do_not_hold_up_another() -> None:
    bench = Bench(caller())
    deadly = Deadly(1)
    bench.world.component("cheap", deadly)
    poison = bench.start()
    good = bench.start()
    bench.world.settle()
    assert bench.world.run(good).state == "succeeded"
    assert bench.world.run(poison).state != "succeeded"
