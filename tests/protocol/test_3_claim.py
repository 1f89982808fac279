"""protocol.md 3: claim, attempts, release."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from casegraph.adapters.aws_clients import CONFIG
from casegraph.application import lease
from casegraph.application.advance_run import Advanced
from casegraph.domain.head import Head
from casegraph.errors import InvalidInput, OutcomeUnknown, Throttled
from casegraph.limits import CLOCK_SKEW_MILLISECONDS, MAX_CLAIM_ATTEMPTS, PENALTY_STEP_MILLISECONDS
from casegraph.runtime.batch import serve_batch
from casegraph.testing.lockstep import Killed
from casegraph.testing.outside import Notes
from tests.protocol import graphs
from tests.protocol.kit import INVOCATION, TRANSACT, WRITE, Bench
from tests.protocol.test_2_failed_conditions import held
from tests.protocol.test_2_signals import say

ROOT = Path(__file__).parents[2]


def claim(bench: Bench, run: str) -> Head | lease.Refused:
    """Try to claim a run now."""
    return lease.claim(bench.ports, run, bench.now + INVOCATION)


def refused(bench: Bench, run: str) -> bool:
    """Whether a claim is refused now."""
    return isinstance(claim(bench, run), lease.Refused)


def test_a_run_is_claimed_when_it_is_due_give_or_take_the_skew() -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    bench.edit_head(run, wake_at=bench.now + CLOCK_SKEW_MILLISECONDS + 1)
    assert refused(bench, run)
    bench.edit_head(run, wake_at=bench.now + CLOCK_SKEW_MILLISECONDS)
    assert not refused(bench, run)


@pytest.mark.parametrize(
    "stopped", [{"paused": {"since": 1}}, {"attention": "no_progress"}, {"outcome": "terminated"}]
)
def test_a_stopped_run_is_not_claimed(stopped: dict[str, Any]) -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    bench.edit_head(run, **stopped)
    assert refused(bench, run)


def test_a_terminal_run_is_claimed_while_cleanup_is_pending() -> None:
    bench = Bench(graphs.person())
    run = bench.started()
    bench.world.terminate(run)
    assert not refused(bench, run)


def test_a_lease_is_free_when_it_expired_by_more_than_the_skew() -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    until = held(bench, run).lease_until
    assert until is not None
    bench.pass_time(until + CLOCK_SKEW_MILLISECONDS - bench.now)
    assert refused(bench, run)
    bench.pass_time(1)
    assert not refused(bench, run)


def test_a_claim_sets_id_generation_attempts_and_a_lease_with_the_penalty_so_far() -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    first = held(bench, run)
    assert (first.generation, first.attempts, first.penalty) == (1, 1, PENALTY_STEP_MILLISECONDS)
    assert first.lease_until == bench.now + INVOCATION + CLOCK_SKEW_MILLISECONDS
    bench.pass_time(INVOCATION + 2 * CLOCK_SKEW_MILLISECONDS + 1)
    second = held(bench, run)
    assert (second.generation, second.attempts, second.penalty) == (2, 2, 2 * PENALTY_STEP_MILLISECONDS)
    wanted = bench.now + INVOCATION + CLOCK_SKEW_MILLISECONDS + PENALTY_STEP_MILLISECONDS
    assert second.lease_until == wanted
    assert second.claim_id != first.claim_id


def test_a_claim_is_one_request_that_leaves_the_indexed_key_alone() -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    before, calls = bench.raw_head(run), bench.site.counter.count
    held(bench, run)
    after = bench.raw_head(run)
    assert bench.site.counter.count == calls + 1
    assert (after["due_pk"], after["due_at"], after["wake_at"]) == (
        before["due_pk"], before["due_at"], before["wake_at"]
    )  # fmt: skip


def test_a_crashed_run_stays_due_and_the_ordinary_sweep_finds_it() -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    bench.crash(run)
    bench.clear_jobs()
    bench.pass_time(90_000)
    bench.sweep()
    assert [job["run_id"] for job in bench.jobs()] == [run]
    bench.advance(run)
    assert bench.head(run).state(bench.now) == "waiting"


def test_a_claim_whose_reply_was_lost_recognises_itself() -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    ports = bench.worker()
    bench.plan("w1", WRITE, OutcomeUnknown("lost"), after=True)
    assert bench.advance(run, ports) is Advanced.RELEASED
    assert bench.head(run).revision == 1


def test_the_claim_of_another_is_not_taken_for_one_s_own() -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    held(bench, run)
    assert refused(bench, run)


def test_the_sdk_s_own_retries_are_off() -> None:
    assert vars(CONFIG)["_user_provided_options"]["retries"] == {"total_max_attempts": 1, "mode": "standard"}


def test_a_call_that_would_not_fit_the_invocation_is_refused_by_the_validator() -> None:
    Bench(graphs.caller(timeout_seconds=50))
    with pytest.raises(InvalidInput) as refused_graph:
        Bench(graphs.caller(timeout_seconds=51))
    (problem,) = refused_graph.value.details["problems"]
    assert "timeout_seconds" in str(problem)


# -- attempts ----------------------------------------------------------------------------------------------------------


def test_a_commit_sets_attempts_and_penalty_to_0() -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    bench.crash(run)
    assert bench.head(run).attempts == 1
    bench.pass_time(60_000)
    bench.advance(run)
    assert (bench.head(run).attempts, bench.head(run).penalty) == (0, 0)


def test_an_orderly_release_sets_attempts_and_penalty_to_0() -> None:
    bench = Bench(graphs.person())
    run = bench.started()
    bench.edit_head(run, wake_at=bench.now, attempts=3, penalty=7)
    assert bench.advance(run) is Advanced.RELEASED
    head = bench.head(run)
    assert (head.revision, head.attempts, head.penalty, head.claim_id, head.lease_until) == (
        1,
        0,
        0,
        None,
        None,
    )


def test_a_release_after_an_unexpected_error_keeps_attempts_and_backs_off() -> None:
    bench = Bench(graphs.caller())
    bench.world.component("cheap", lambda _: 1 / 0)
    run = bench.start()
    waits = []
    for attempt in (1, 2, 3):
        assert bench.advance(run) is Advanced.FAILED
        head = bench.head(run)
        assert head.attempts == attempt
        assert head.claim_id is None
        assert head.wake_at is not None
        waits.append(head.wake_at - bench.now)
        bench.pass_time(waits[-1])
    assert waits == [5_000, 10_000, 20_000]


def test_the_claimant_that_reads_more_than_8_commits_dispatch_exhausted_itself() -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    bench.edit_head(run, attempts=MAX_CLAIM_ATTEMPTS - 1)
    bench.crash(run)
    bench.pass_time(600_000)
    bench.advance(run)
    head = bench.head(run)
    assert head.attention == "dispatch_exhausted"
    assert (head.wake_at, head.claim_id) == (None, None)
    assert [item["kind"] for item in bench.log(run)] == ["start", "burst"]


def test_an_eighth_claim_still_works() -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    bench.edit_head(run, attempts=MAX_CLAIM_ATTEMPTS - 1)
    bench.advance(run)
    assert bench.head(run).state(bench.now) == "waiting"


def test_a_run_whose_graph_cannot_even_be_loaded_is_dispatch_exhausted_in_the_end() -> None:
    bench = Bench(graphs.person())
    run = bench.start()

    class Broken:
        """Fails in a way that nobody foresaw."""

        def graph(self, digest: str) -> Any:
            """Always."""
            raise RuntimeError("unforeseen")

        bundle = graph

    bench.site.versions = Broken()
    for _ in range(MAX_CLAIM_ATTEMPTS + 1):
        bench.advance(run, bench.worker())
        bench.pass_time(600_000)
    assert bench.head(run).attention == "dispatch_exhausted"


def test_ten_minutes_of_throttled_commits_or_of_crashes_do_not_use_up_the_attempts() -> None:
    for crashes in (True, False):
        bench = Bench(graphs.person())
        run = bench.start()
        end = bench.now + 600_000
        while bench.now < end:
            ports = bench.worker()
            name = f"w{bench.workers}"
            if crashes:
                bench.plan(name, TRANSACT, Killed("gone"))
                with contextlib.suppress(Killed):
                    bench.advance(run, ports)
            else:
                bench.plan(name, TRANSACT, Throttled("slow down"), times=1_000)
                bench.advance(run, ports)
            bench.pass_time(10_000)
        assert bench.head(run).attention is None
        bench.pass_time(1_500_000)
        bench.advance(run)
        assert bench.head(run).state(bench.now) == "waiting"


# -- time --------------------------------------------------------------------------------------------------------------


def test_a_call_for_which_no_time_is_left_is_not_started() -> None:
    bench = Bench(graphs.caller())
    run = bench.start()
    assert bench.advance(run, milliseconds=12_000) is Advanced.RELEASED
    assert bench.site.scripted.calls == []
    assert bench.head(run).wake_at == bench.now, "it is due again at once"
    bench.advance(run)
    assert bench.head(run).outcome == "succeeded"


def test_a_record_for_which_no_time_is_left_is_not_claimed() -> None:
    served: list[str] = []
    context: Any = SimpleNamespace(aws_request_id="r", get_remaining_time_in_millis=lambda: 2_000)
    event = {"Records": [{"messageId": "m-1", "body": "{}", "eventSource": "aws:sqs"}]}
    journal: Any = SimpleNamespace(begin=lambda _: None, flush=lambda: None, event=Notes().event)
    answer = serve_batch(event, context, journal, lambda body, _: served.append(body), needed_milliseconds=0)
    assert served == []
    assert answer == {"batchItemFailures": [{"itemIdentifier": "m-1"}]}


def test_execute_takes_one_record_at_a_time() -> None:
    template = (ROOT / "template.yaml").read_text()
    execute = template[
        template.index("CodeUri: functions/execute") : template.index("CodeUri: functions/dispatch")
    ]
    assert "BatchSize: 1\n" in execute


# -- release without commit --------------------------------------------------------------------------------------------


def _claimed() -> tuple[Bench, str, Head]:
    bench = Bench(graphs.person())
    run = bench.started()
    bench.edit_head(run, wake_at=bench.now)
    return bench, run, held(bench, run)


@pytest.mark.parametrize("change", ["revision", "inbox", "outcome"])
def test_a_release_is_refused_when_the_head_is_not_the_one_that_was_read(change: str) -> None:
    bench, run, head = _claimed()
    if change == "inbox":
        say(bench.ports, run, "e-1")
    else:
        bench.edit_head(run, **{change: {"revision": 9, "outcome": "terminated"}[change]})
    changed = lease.release(bench.ports, head, bench.now + 60_000)
    assert isinstance(changed, lease.Changed)
    assert bench.raw_head(run)["claim_id"] == head.claim_id


@pytest.mark.parametrize("change", [{"generation": 9}, {"claim_id": "another"}])
def test_a_release_of_a_lost_lease_changes_nothing(change: dict[str, Any]) -> None:
    bench, run, head = _claimed()
    bench.edit_head(run, **change)
    before = bench.raw_head(run)
    assert lease.release(bench.ports, head, bench.now + 60_000) is None
    assert bench.raw_head(run) == before


@pytest.mark.parametrize("stopped", [{"paused": {"since": 1}}, {"attention": "no_progress"}])
def test_a_release_sets_no_wake_at_on_a_run_that_stands_still(stopped: dict[str, Any]) -> None:
    bench, run, _ = _claimed()
    bench.edit_head(run, **stopped)
    assert lease.release(bench.ports, bench.head(run), bench.now) is None
    assert "wake_at" not in bench.raw_head(run)


def test_a_signal_that_meets_the_release_is_taken_in_by_the_same_burst() -> None:
    bench = Bench(graphs.listener())
    run = bench.started()
    bench.edit_head(run, wake_at=bench.now)
    bench.advance(run, bench.worker(at={WRITE: lambda: say(bench.ports, run, "e-1")}, nth=2))
    assert bench.head(run).outcome == "succeeded"
