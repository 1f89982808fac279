"""S12 (retry): the timeout of a person's step counted from the wrong instant (airflow 55866; temporal 1913).

Here the deadline is the instant at which the wait opened, plus the timeout. It stands in the token and in the task's
row, and is read back from there: retries before the wait, crashes, lost replies, other branches' commits and rebuilds
do not move it.

Breaks without: Visit.timeout_at (from the burst's now), fire_deadlines reading the token's own deadline.
"""

from __future__ import annotations

import pytest

from casegraph.application.advance_run import Advanced
from casegraph.errors import NodeFailed, OutcomeUnknown
from tests.protocol.graphs import call, fork, graph, person, review, wait
from tests.protocol.kit import INVOCATION, Bench

HOUR = 3_600_000
RETRY = {"max_attempts": 5, "initial_backoff_seconds": 60, "multiplier": 2, "max_backoff_seconds": 600}


def deadline_of(bench: Bench, run: str, step: str = "review#1") -> int:
    """As the row says; the segment that opened the wait must say the same."""
    opened = [o for item in bench.log(run) for o in item.get("opened", ()) if o["step"] == step]
    row = bench.row(run, f"TASK#{step}")
    assert [o["deadline_at"] for o in opened] == [row["timeout_at"]]
    return int(row["timeout_at"])


def timed_out_at(bench: Bench, run: str) -> int:
    bench.world.advance("3h")
    view = bench.world.run(run)
    assert view.state == "succeeded"
    return next(
        int(i["recorded_at"]) for i in view.log for s in i.get("steps", ()) if s.get("port") == "timeout"
    )


def test_retries_of_the_step_before_do_not_eat_the_persons_time() -> None:
    """Three failed calls with back-off come first; the hour starts when the task opens."""
    bench = Bench(
        graph(
            "late_open",
            [call("look", retry=RETRY), review("review")],
            [
                "start.success > look", "look.success > review",
                "review.accept > end", "review.reject > end", "review.timeout > end",
            ],
        )
    )  # fmt: skip
    tries: list[int] = []

    def flaky(_: object) -> object:
        tries.append(bench.now)
        if len(tries) < 4:
            raise NodeFailed("busy", retryable=True)
        return {"score": 7}

    bench.world.component("cheap", flaky)
    run = bench.start()
    bench.world.advance("30m")
    assert len(tries) == 4
    assert tries[-1] > tries[0]
    assert deadline_of(bench, run) == tries[-1] + HOUR
    assert timed_out_at(bench, run) == tries[-1] + HOUR


@pytest.mark.parametrize("after", [False, True], ids=["killed before the commit", "killed after it"])
def test_a_crash_around_the_opening_commit_counts_from_the_commit_that_stands(after: bool) -> None:
    bench = Bench(person())
    run = bench.start()
    began = bench.now
    bench.crash(run, after=after)
    bench.world.advance("10m")
    opened_at = bench.row(run, "TASK#review#1")["created_at"]
    assert (opened_at == began) is after
    assert deadline_of(bench, run) == opened_at + HOUR
    assert timed_out_at(bench, run) == opened_at + HOUR


def test_a_commit_that_is_sent_again_keeps_the_instant_at_which_it_was_decided() -> None:
    """The replies are lost for a while: the identical body is sent again, not a later one."""
    bench = Bench(person())
    run = bench.start()
    began = bench.now
    worker = bench.worker()
    bench.plan("w1", "store.transact", OutcomeUnknown("lost on its way"), times=5)
    assert bench.advance(run, worker) is Advanced.RELEASED
    assert bench.now > began, "the retries took time"
    assert deadline_of(bench, run) == began + HOUR


def test_a_rebuild_counts_from_the_wait_that_it_opens() -> None:
    """An event makes the first commit fail: nothing was opened by it, so nothing counts from it."""
    bench = Bench(person())
    run = bench.start()

    def event_five_seconds_later() -> None:
        bench.pass_time(5_000)
        bench.world.event(run, "step.done", payload={"again": False})

    worker = bench.worker(at={"store.transact": event_five_seconds_later})
    bench.advance(run, worker)
    row = bench.row(run, "TASK#review#1")
    assert deadline_of(bench, run) == row["created_at"] + HOUR == bench.now + HOUR


def test_other_branches_and_duplicate_jobs_do_not_move_it() -> None:
    bench = Bench(fork("all", {"person": review("review"), "event": wait("listen")}))
    run = bench.started()
    step = "fork#1/person/review#1"
    opened_at = bench.now
    bench.pass_time(10 * 60_000)
    bench.world.event(run, "step.done", payload={"again": False})
    bench.world.settle()
    for _ in range(3):
        bench.pass_time(INVOCATION)
        bench.advance(run)
    assert bench.head(run).revision > 1
    assert deadline_of(bench, run, step) == opened_at + HOUR
    token = bench.head(run).frontier[bench.row(run, f"TASK#{step}")["token_key"]]
    assert token.deadline_at == opened_at + HOUR
    assert timed_out_at(bench, run) == opened_at + HOUR
