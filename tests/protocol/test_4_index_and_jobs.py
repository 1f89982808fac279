"""protocol.md 4: one index class per head, jobs as hints, the sweep."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from casegraph.application import reconcile as reconcile_module
from casegraph.application.advance_run import Advanced
from casegraph.application.ports import Rejected
from casegraph.application.start_run import NewRun, start_run
from casegraph.domain.head import Paused, due_class, shard_of
from casegraph.errors import Throttled
from casegraph.limits import FAR_FUTURE_AT, INDEX_SHARDS, SWEEP_SHARD_ITEMS, TERMINAL_RETENTION_MILLISECONDS
from casegraph.testing.bundles import JsonObject
from tests.protocol import graphs
from tests.protocol.kit import WRITE, Bench
from tests.protocol.test_2_failed_conditions import held
from tests.protocol.test_2_signals import say

SEND = "jobs.send"


def test_heads_spread_evenly_over_64_shards() -> None:
    names = [f"run-{hashlib.sha256(str(n).encode()).hexdigest()[:28]}" for n in range(6_400)]
    shards = [shard_of(name) for name in names]
    assert set(shards) == set(range(INDEX_SHARDS)) == set(range(64))
    assert max(shards.count(shard) for shard in range(INDEX_SHARDS)) / len(shards) <= 1 / 32


def test_a_head_is_in_exactly_one_class_and_its_instant_says_when_it_is_looked_at() -> None:
    bench = Bench(graphs.person())
    run = bench.started()
    shard = shard_of(run)
    row = bench.raw_head(run)
    assert (row["due_pk"], row["due_at"]) == (f"w#{shard}", row["wake_at"])
    bench.world.pause(run, until=bench.now + 60_000)
    row = bench.raw_head(run)
    assert (row["due_pk"], row["due_at"]) == (f"p#{shard}", bench.now + 60_000)
    bench.world.resume(run)
    assert bench.raw_head(run)["due_pk"] == f"w#{shard}"
    bench.world.pause(run)
    assert bench.raw_head(run)["due_at"] == FAR_FUTURE_AT
    bench.world.terminate(run)
    assert bench.raw_head(run)["due_pk"] == f"w#{shard}", "its cleanup is still to do"
    bench.advance(run)
    row = bench.raw_head(run)
    assert (row["due_pk"], row["due_at"]) == (f"g#{shard}", row["ended_at"] + TERMINAL_RETENTION_MILLISECONDS)


def test_a_head_for_which_nothing_is_due_waits_in_the_far_future() -> None:
    bench = Bench(graphs.sender())
    run = bench.started()
    assert bench.raw_head(run)["due_at"] == FAR_FUTURE_AT


def test_a_paused_run_that_ended_is_no_longer_among_the_paused() -> None:
    bench = Bench(graphs.person())
    head = bench.head(bench.started())
    assert due_class(replace(head, paused=Paused(1), outcome="terminated"))[0][0] == "g"


FAILING: JsonObject = graphs.fork("all", {"a": graphs.mail("send"), "b": graphs.rest("rest", 60)})


def test_a_branch_in_attention_is_listed_and_does_not_hide_another_branch_s_timer() -> None:
    bench = Bench(FAILING)
    bench.mail.outcomes = [Rejected("no_such_address")]
    run = bench.started()
    bench.deliver(run, "fork#1/a/send#1")
    bench.advance(run)
    row = bench.raw_head(run)
    assert (row["attention_pk"], row["due_pk"]) == (f"a#{shard_of(run)}", f"w#{shard_of(run)}")
    assert row["due_at"] == row["wake_at"] == bench.head(run).started_at + 60_000
    bench.pass_time(60_000)
    bench.advance(run)
    assert "fork#1/b/rest#1" in bench.steps(run)
    assert bench.raw_head(run)["attention_pk"] == row["attention_pk"]
    assert bench.raw_head(run)["attention_at"] == row["attention_at"], "since it began"


def test_run_attention_is_listed_too() -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    bench.edit_head(run, attempts=8)
    bench.advance(run)
    assert bench.raw_head(run)["attention_pk"] == f"a#{shard_of(run)}"


# -- jobs --------------------------------------------------------------------------------------------------------------


def test_a_job_is_sent_after_the_commit() -> None:
    bench = Bench(graphs.sender())
    run = bench.start()
    states: list[int] = []
    bench.advance(run, bench.worker(at={SEND: lambda: states.append(bench.head(run).revision)}))
    assert states == [1]


def test_a_job_that_cannot_be_sent_fails_nothing_and_is_counted() -> None:
    bench = Bench(graphs.sender())
    run = bench.start()
    ports = bench.worker()
    bench.plan("w1", SEND, Throttled("slow down"), times=100)
    assert bench.advance(run, ports) is Advanced.RELEASED
    assert bench.site.notes.counts["job_send_failed"] == 1
    bench.clear_jobs()
    bench.pass_time(61_000)
    bench.sweep()
    assert [job["type"] for job in bench.jobs()] == ["deliver_effect"]


def test_a_job_for_a_run_due_within_120_s_is_sent_again_with_that_delay() -> None:
    bench = Bench(graphs.sleeper(100))
    run = bench.started()
    bench.clear_jobs()
    assert bench.advance(run) is Advanced.NOT_YET
    assert [job["at"] for job in bench.jobs()] == [bench.now + 100_000]


@pytest.mark.parametrize("seconds", [121, 86_400])
def test_a_job_that_finds_nothing_due_is_acknowledged_after_one_request_and_counted(seconds: float) -> None:
    bench = Bench(graphs.sleeper(seconds))
    run = bench.started()
    bench.clear_jobs()
    calls = bench.site.counter.count
    assert bench.advance(run) is Advanced.NOTHING_DUE
    assert bench.site.counter.count == calls + 1
    assert bench.jobs() == []
    assert bench.site.notes.counts["job_nothing_due"] == 1


def test_a_job_for_a_leased_run_is_not_sent_again_and_again() -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    until = held(bench, run).lease_until
    assert until is not None
    bench.clear_jobs()
    bench.advance(run)
    bench.pass_time(until - bench.now + 1)
    bench.advance(run)
    assert bench.jobs() == []


@pytest.mark.parametrize(("seconds", "sent"), [(30, True), (840, True), (1_000, False)])
def test_a_writer_sends_the_delayed_job_itself_for_what_falls_due_within_15_minutes(
    seconds: int, sent: bool
) -> None:
    bench = Bench(graphs.sleeper(seconds))
    run = bench.start()
    bench.clear_jobs()
    bench.advance(run)
    assert [job["at"] for job in bench.jobs()] == ([bench.now + seconds * 1_000] if sent else [])


# -- the sweep ---------------------------------------------------------------------------------------------------------


def test_the_sweep_sends_what_falls_due_in_the_next_120_s_with_its_delay() -> None:
    bench = Bench(graphs.sleeper(1_000))
    run = bench.started()
    due_at = bench.now + 1_000_000
    bench.clear_jobs()
    bench.pass_time(870_000)
    bench.sweep()
    assert bench.jobs() == []
    bench.pass_time(20_000)
    bench.sweep()
    assert [(job["run_id"], job["at"]) for job in bench.jobs()] == [(run, due_at)]


def test_the_sweep_sends_what_is_overdue_by_more_than_60_s_and_leaves_the_rest_to_its_job() -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    bench.clear_jobs()
    bench.pass_time(59_000)
    bench.sweep()
    assert bench.jobs() == []
    bench.pass_time(2_000)
    bench.sweep()
    assert [job["run_id"] for job in bench.jobs()] == [run]


def _crowd(bench: Bench, count: int, **facts: Any) -> list[str]:
    """Runs of one shard, started one second after the other."""
    assert bench.version is not None
    version = bench.version
    runs = []
    for number in range(count):
        run = f"run-{number:026x}00"
        new = NewRun(
            run, version.workflow_key, version.version, version.digest, version.authority, {"key": "k"}, "w"
        )
        start_run(bench.ports, new)
        bench.edit_head(run, **facts)
        bench.pass_time(1_000)
        runs.append(run)
    return runs


def test_runs_that_cannot_be_claimed_do_not_fill_the_sweep() -> None:
    bench = Bench(graphs.person())
    stuck = _crowd(bench, 2 * SWEEP_SHARD_ITEMS, lease_until=10**15)
    healthy = stuck[-1]
    bench.edit_head(healthy, lease_until=1)
    bench.pass_time(120_000)
    bench.clear_jobs()
    for _ in range(5):
        bench.sweep()
        bench.pass_time(60_000)
    assert {job["run_id"] for job in bench.jobs()} == {healthy}


def test_the_oldest_are_always_among_the_swept() -> None:
    bench = Bench(graphs.person())
    oldest = _crowd(bench, 2 * SWEEP_SHARD_ITEMS)[0]
    bench.pass_time(120_000)
    for _ in range(3):
        bench.clear_jobs()
        bench.sweep()
        assert oldest in {job["run_id"] for job in bench.jobs()}
        assert len(bench.jobs()) <= SWEEP_SHARD_ITEMS
        bench.pass_time(60_000)


def test_the_sweep_holds_back_while_the_queue_is_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(graphs.person())
    _crowd(bench, 5)
    bench.pass_time(120_000)
    monkeypatch.setattr(reconcile_module, "SWEEP_MAX_QUEUE_DEPTH", 4)
    assert bench.sweep().held_back == 5
    assert len(bench.jobs()) == 5
    bench.clear_jobs()
    assert bench.sweep().runs == 5


@pytest.mark.parametrize("meanwhile", ["ended", "paused", "attention", "leased"])
def test_the_sweep_reads_again_what_it_acts_on(meanwhile: str) -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    bench.pass_time(120_000)
    if meanwhile == "leased":
        held(bench, run)
    elif meanwhile == "attention":
        bench.edit_head(run, attention="no_progress")
    else:
        getattr(bench.world, {"ended": "terminate", "paused": "pause"}[meanwhile])(run)
    bench.clear_jobs()
    bench.faults.index_lag = 60_000
    bench.sweep()
    assert bench.jobs() == []


def test_reconcile_resumes_a_pause_whose_time_is_over_and_no_other() -> None:
    bench = Bench(graphs.listener())
    boxed, open_ended = bench.started(), bench.start(key="second")
    bench.advance(open_ended)
    bench.world.pause(boxed, until=bench.now + 300_000)
    bench.world.pause(open_ended)
    bench.pass_time(299_000)
    assert bench.sweep().resumed == 0
    bench.pass_time(1_000)
    assert bench.sweep().resumed == 1
    assert bench.head(boxed).paused is None
    assert bench.head(open_ended).paused is not None


def test_one_broken_item_stops_nothing() -> None:
    bench = Bench(graphs.person())
    first, second = _crowd(bench, 2)
    bench.pass_time(120_000)
    bench.clear_jobs()
    bench.edit_head(first, frontier={"0.1": "no-such-status"})
    assert bench.sweep().failed == 1
    assert [job["run_id"] for job in bench.jobs()] == [second]


def test_a_lagging_index_changes_nothing_but_time() -> None:
    bench = Bench(graphs.listener())
    run = bench.started()
    say(bench.ports, run, "e-1")
    bench.clear_jobs()
    bench.pass_time(61_000)
    bench.faults.index_lag = 120_000
    bench.sweep()
    assert bench.jobs() == []
    bench.faults.index_lag = 0
    bench.sweep()
    bench.world.settle()
    assert bench.head(run).outcome == "succeeded"


def test_a_claim_that_is_refused_writes_nothing() -> None:
    bench = Bench(graphs.sleeper(600))
    run = bench.started()
    before = bench.raw_head(run)
    bench.advance(run, bench.worker(at={WRITE: lambda: None}))
    assert bench.raw_head(run) == before
