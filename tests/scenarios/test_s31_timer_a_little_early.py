"""S31: a timer's job arrived 300 ms early, on a worker whose clock is behind.

Elsewhere it was acknowledged, and the timer waited for the next sweep. Here it fires, at the instant that it was set
for; and when the clocks are too far apart for that, the job is sent again for within a second of it.

Breaks without: the skew in rules.due, Burst._now (max of clock and wake_at), advance_run._nothing_to_claim.
"""

from __future__ import annotations

import pytest

from casegraph.application.advance_run import Advanced
from casegraph.application.deliver_effect import Delivered, deliver_effect
from casegraph.application.ports import Applied, RetryLater
from casegraph.limits import CLOCK_SKEW_MILLISECONDS
from tests.protocol.graphs import person, sender, sleeper
from tests.protocol.kit import Bench

EARLY = 300
BEHIND = 1_500


def test_it_fires_at_its_instant() -> None:
    bench = Bench(sleeper(90))
    run = bench.started()
    due_at = bench.head(run).wake_at or 0
    bench.clear_jobs()
    bench.pass_time(90_000 - EARLY)
    assert bench.advance(run, bench.worker(skew=-BEHIND)) is Advanced.RELEASED
    view = bench.world.run(run)
    assert view.state == "succeeded"
    assert view.log[-1]["recorded_at"] == due_at


def test_a_persons_deadline_fires_too_and_is_recorded_as_it_was_set() -> None:
    bench = Bench(person(90))
    run = bench.started()
    due_at = bench.row(run, "TASK#review#1")["timeout_at"]
    bench.pass_time(90_000 - EARLY)
    bench.advance(run, bench.worker(skew=-BEHIND))
    row = bench.row(run, "TASK#review#1")
    assert (row["state"], row["closed_at"]) == ("expired", due_at)


@pytest.mark.parametrize("early", [3_000, 20_000, 110_000])
def test_a_job_that_is_too_early_comes_again_within_a_second_of_its_instant(early: int) -> None:
    """On the worker's own clock; nothing was claimed, nothing waits for a sweep."""
    bench = Bench(sleeper(180))
    run = bench.started()
    due_at = bench.head(run).wake_at or 0
    bench.clear_jobs()
    bench.pass_time(180_000 - early)
    before = bench.raw_head(run)
    assert bench.advance(run, bench.worker(skew=-BEHIND)) is Advanced.NOT_YET
    assert bench.raw_head(run) == before
    (job,) = bench.jobs()
    assert due_at <= job["at"] - BEHIND < due_at + 1_000
    bench.pass_time(job["at"] - bench.now)
    assert bench.advance(run, bench.worker(skew=-BEHIND)) is Advanced.RELEASED


def test_a_worker_whose_clock_is_ahead_does_not_fire_more_than_the_skew_early() -> None:
    bench = Bench(sleeper(90))
    run = bench.started()
    bench.clear_jobs()
    bench.pass_time(90_000 - 2 * CLOCK_SKEW_MILLISECONDS - 1)
    assert bench.advance(run, bench.worker(skew=CLOCK_SKEW_MILLISECONDS)) is Advanced.NOT_YET


def test_the_next_attempt_of_an_effect_that_comes_a_little_early_is_made() -> None:
    bench = Bench(sender())
    run = bench.started()
    bench.mail.outcomes = [RetryLater("busy"), Applied()]
    assert bench.deliver(run) is Delivered.RETRY
    again_at = bench.effect(run)["available_at"]
    bench.pass_time(max(0, again_at - EARLY - bench.now))
    found = deliver_effect(bench.worker(skew=-BEHIND), run, "send#1#1", bench.site.invocation())
    assert found is Delivered.SETTLED
