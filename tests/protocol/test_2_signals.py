"""protocol.md 2: three kinds of write; signals, control without a lease, merged reports, bounds."""

from __future__ import annotations

import pytest

from casegraph.application.accept_event import Event, accept_for_run
from casegraph.application.context import Ports
from casegraph.application.control_run import Control, pause
from casegraph.application.intake_report import NewReport, TakenIn, intake_report, queue_of
from casegraph.application.lease import claim, release
from casegraph.application.signals import send_signal
from casegraph.domain.head import Head
from casegraph.domain.signal import TASK, Pointer
from casegraph.errors import OutcomeUnknown, TooMany
from casegraph.limits import FAR_FUTURE_AT, MAX_PENDING_EVENTS
from tests.protocol import graphs
from tests.protocol.kit import TRANSACT, Bench

DONE = {"again": False}


def say(ports: Ports, run: str, event_id: str, event_type: str = "step.done") -> None:
    """Send an event as this worker."""
    accept_for_run(ports, run, Event(event_type, event_id, "", DONE, "sender"))


def test_signals_claims_and_releases_write_no_segment_and_no_revision() -> None:
    bench = Bench(graphs.listener())
    run = bench.started()
    say(bench.ports, run, "e-1", "case.closed")
    held = claim(bench.ports, run, bench.now + 30_000)
    assert isinstance(held, Head)
    release(bench.ports, held, bench.now)
    assert bench.head(run).revision == 1
    assert len(bench.log(run)) == 2


def test_a_signal_s_row_and_its_pointer_are_one_transaction() -> None:
    bench = Bench(graphs.listener())
    run = bench.started()
    before = len(bench.site.history.changes)
    say(bench.ports, run, "e-1")
    changes = bench.site.history.changes[before:]
    assert sorted(c.key.sk.partition("#")[0] for c in changes) == ["EVENT", "HEAD"]
    assert len({c.call for c in changes}) == 1


def test_the_same_signal_again_appends_nothing() -> None:
    bench = Bench(graphs.listener("case.closed"))
    run = bench.started()
    say(bench.ports, run, "e-1")
    say(bench.ports, run, "e-1")
    assert len(bench.head(run).inbox) == 1


def test_a_signal_whose_reply_was_lost_is_appended_once() -> None:
    bench = Bench(graphs.listener("case.closed"))
    run = bench.started()
    ports = bench.worker()
    bench.plan("w1", TRANSACT, OutcomeUnknown("lost"), after=True)
    say(ports, run, "e-1")
    assert len(bench.head(run).inbox) == 1


def test_a_signal_wakes_a_run_that_may_run() -> None:
    bench = Bench(graphs.listener())
    run = bench.started()
    bench.pass_time(1_000)
    bench.clear_jobs()
    say(bench.ports, run, "e-1")
    row = bench.raw_head(run)
    assert (row["wake_at"], row["due_at"], row["due_pk"][0]) == (bench.now, bench.now, "w")
    assert [job["run_id"] for job in bench.jobs()] == [run]


def test_a_signal_never_delays_what_is_due_already() -> None:
    bench = Bench(graphs.listener())
    run = bench.started()
    bench.edit_head(run, wake_at=bench.now)
    bench.pass_time(5_000)
    say(bench.ports, run, "e-1")
    assert bench.raw_head(run)["wake_at"] == bench.now - 5_000


@pytest.mark.parametrize("stop", ["pause", "terminate", "attention"])
def test_a_signal_to_a_stopped_run_is_stored_and_wakes_nothing(stop: str) -> None:
    bench = Bench(graphs.listener())
    run = bench.started()
    if stop == "attention":
        bench.edit_head(run, attention="no_progress")
    else:
        getattr(bench.world, stop)(run)
        bench.advance(run)
    woken = bench.raw_head(run).get("wake_at")
    bench.clear_jobs()
    say(bench.ports, run, "e-1")
    row = bench.raw_head(run)
    assert len(row["inbox"]) == 1
    assert row.get("wake_at") == woken
    assert bench.jobs() == []


def test_a_signal_that_meets_a_pause_takes_the_form_without_waking() -> None:
    bench = Bench(graphs.listener())
    run = bench.started()
    say(bench.worker(at={TRANSACT: lambda: bench.world.pause(run)}), run, "e-1")
    row = bench.raw_head(run)
    assert len(row["inbox"]) == 1
    assert "wake_at" not in row
    assert row["due_pk"][0] == "p"


def test_a_signal_that_meets_a_resume_takes_the_form_that_wakes() -> None:
    bench = Bench(graphs.listener())
    run = bench.started()
    bench.world.pause(run)

    def resumed_and_at_rest() -> None:
        bench.world.resume(run)
        bench.advance(run)

    say(bench.worker(at={TRANSACT: resumed_and_at_rest}), run, "e-1")
    assert bench.raw_head(run)["wake_at"] == bench.now


def test_a_pause_that_meets_a_signal_leaves_no_wake_at() -> None:
    bench = Bench(graphs.sender())
    run = bench.started()
    assert "wake_at" not in bench.raw_head(run)
    racing = bench.worker(at={TRANSACT: lambda: say(bench.ports, run, "e-1")})
    pause(racing, run, Control("operator", "why", "k"))
    row = bench.raw_head(run)
    assert len(row["inbox"]) == 1
    assert "wake_at" not in row
    assert (row["due_pk"][0], row["due_at"]) == ("p", FAR_FUTURE_AT)


# -- pointers of later effect (undo) -----------------------------------------------------------------------------------


def _decided_later(bench: Bench, run: str, at: int) -> None:
    """A completion that counts from an instant on: its row is decided, its pointer waits."""
    bench.edit_row(
        run, "TASK#review#1", state="completed", outcome="accept", response='{"outcome":"accept"}',
        completed_by="p", completed_at=bench.now,
    )  # fmt: skip
    send_signal(bench.ports, run, Pointer(TASK, "review#1", effective_at=at), lambda _: [])


def test_a_pointer_of_later_effect_is_left_until_then_and_counts_into_wake_at() -> None:
    bench = Bench(graphs.person())
    run = bench.started()
    _decided_later(bench, run, bench.now + 30_000)
    assert bench.head(run).wake_at == bench.now + 30_000
    bench.edit_head(run, wake_at=bench.now)
    bench.advance(run)
    assert len(bench.head(run).inbox) == 1
    assert bench.head(run).wake_at == bench.now + 30_000
    bench.pass_time(30_000)
    bench.advance(run)
    assert bench.head(run).outcome == "succeeded"


def test_a_task_whose_decision_has_a_later_effect_does_not_time_out() -> None:
    bench = Bench(graphs.person(seconds=60))
    run = bench.started()
    bench.pass_time(50_000)
    _decided_later(bench, run, bench.now + 30_000)
    bench.pass_time(20_000)
    bench.edit_head(run, wake_at=bench.now)
    bench.advance(run)
    assert bench.head(run).outcome is None
    assert bench.head(run).wake_at == bench.now + 10_000, "not its deadline, which may not fire"
    bench.pass_time(10_000)
    bench.advance(run)
    (review,) = (s for item in bench.log(run) for s in item.get("steps", ()) if s["step"] == "review#1")
    assert review["port"] == "accept"


def test_a_pointer_of_later_effect_does_not_undo_a_wake_that_came_in_between() -> None:
    bench = Bench(graphs.fork("all", {"a": graphs.review("review"), "b": graphs.wait("listen")}))
    run = bench.started()
    racing = bench.worker(at={TRANSACT: lambda: say(bench.ports, run, "e-1")})
    send_signal(
        racing, run, Pointer(TASK, "fork#1/a/review#1", effective_at=bench.now + 30_000), lambda _: []
    )
    woken = bench.head(run).wake_at
    assert woken is not None
    assert woken <= bench.now


# -- control without a lease -------------------------------------------------------------------------------------------


def test_a_pause_and_a_resume_leave_a_live_lease_alone_and_the_tokens_where_they_are() -> None:
    bench = Bench(graphs.person())
    run = bench.started()
    bench.edit_head(run, wake_at=bench.now)
    held = claim(bench.ports, run, bench.now + 30_000)
    assert isinstance(held, Head)
    bench.world.pause(run)
    bench.world.resume(run, deadlines="keep")
    now = bench.head(run)
    assert (now.generation, now.claim_id, now.lease_until) == (
        held.generation,
        held.claim_id,
        held.lease_until,
    )
    assert now.frontier == held.frontier


def test_resume_shifts_the_deadlines_in_the_same_write() -> None:
    bench = Bench(graphs.person())
    run = bench.started()
    (before,) = bench.head(run).frontier.values()
    bench.world.pause(run)
    bench.pass_time(600_000)
    bench.world.resume(run)
    (after,) = bench.head(run).frontier.values()
    assert before.deadline_at is not None
    assert after.deadline_at == before.deadline_at + 600_000


def test_a_resumed_run_takes_in_at_once_what_came_during_the_pause() -> None:
    bench = Bench(graphs.listener())
    run = bench.started()
    bench.world.pause(run)
    say(bench.ports, run, "e-1")
    bench.pass_time(60_000)
    bench.world.resume(run)
    assert bench.head(run).wake_at == bench.now
    bench.advance(run)
    assert bench.head(run).outcome == "succeeded"


def test_a_resumed_run_in_run_attention_is_not_woken() -> None:
    bench = Bench(graphs.listener())
    run = bench.started()
    bench.world.pause(run)
    bench.edit_head(run, attention="no_progress")
    bench.world.resume(run)
    assert "wake_at" not in bench.raw_head(run)


@pytest.mark.parametrize("stop", ["pause", "attention"])
def test_a_terminated_run_is_neither_paused_nor_in_attention_so_that_cleanup_can_claim_it(stop: str) -> None:
    bench = Bench(graphs.person())
    run = bench.started()
    if stop == "pause":
        bench.world.pause(run)
    else:
        bench.edit_head(run, attention="no_progress", attention_pk="a#0", attention_at=1)
    bench.world.terminate(run)
    assert not {"paused", "attention", "attention_pk"} & set(bench.raw_head(run))
    bench.advance(run)
    assert bench.row(run, "TASK#review#1")["state"] == "cancelled"


# -- merged reports ----------------------------------------------------------------------------------------------------


def merging() -> tuple[Bench, str]:
    """A bench with a queue that merges, and its open run."""
    bench = Bench(graphs.person())
    assert bench.version is not None
    bench.world.queue("reports", pin=bench.version, merge="subject")
    run = bench.world.report("reports", {"key": "first"}).run_id
    assert run is not None
    bench.advance(run)
    return bench, run


def report(ports: Ports, key: str) -> TakenIn:
    """Send a report on the subject as this worker."""
    new = NewReport(subject_key="subject-1", content={"key": key}, queue_id="reports")
    return intake_report(ports, new, queue_of(ports, new), caller="c", idempotency_key=key)


@pytest.mark.parametrize("paused", [False, True])
def test_merged_reports_are_rows_of_their_own_under_one_pointer_and_are_never_refused(paused: bool) -> None:
    bench, run = merging()
    if paused:
        bench.world.pause(run)
    for number in range(2 * MAX_PENDING_EVENTS):
        assert report(bench.ports, f"r-{number}").merged
    assert bench.head(run).inbox == ("reports|1",)
    assert len(bench.rows(run, "REPORT#")) == 2 * MAX_PENDING_EVENTS


def test_two_merges_at_the_same_instant_append_one_pointer() -> None:
    bench, run = merging()
    report(bench.worker(at={TRANSACT: lambda: report(bench.ports, "r-1")}), "r-2")
    assert bench.head(run).inbox == ("reports|1",)
    assert len(bench.rows(run, "REPORT#00000001#")) == 2


def test_a_report_that_meets_the_burst_which_takes_the_pointer_in_goes_to_the_next_epoch() -> None:
    bench, run = merging()
    report(bench.ports, "r-1")
    report(bench.worker(at={TRANSACT: lambda: bench.advance(run)}), "r-2")
    assert [row["epoch"] for row in bench.rows(run, "REPORT#")] == [1, 2]
    assert bench.head(run).inbox == ("reports|2",)


def test_a_report_that_was_to_append_meets_a_whole_epoch_and_takes_the_next() -> None:
    bench, run = merging()

    def another_epoch() -> None:
        report(bench.ports, "r-1")
        bench.advance(run)

    report(bench.worker(at={TRANSACT: another_epoch}), "r-2")
    assert [row["epoch"] for row in bench.rows(run, "REPORT#")] == [1, 2]
    assert bench.head(run).inbox == ("reports|2",)


@pytest.mark.parametrize("waiting", [False, True])
def test_a_report_that_meets_the_run_s_end_starts_a_run_of_its_own(waiting: bool) -> None:
    bench, run = merging()
    if waiting:
        report(bench.ports, "r-1")
    taken = report(bench.worker(at={TRANSACT: lambda: bench.world.terminate(run)}), "r-2")
    assert not taken.merged
    assert taken.run_id != run


# -- bounds ------------------------------------------------------------------------------------------------------------


def _filled(bench: Bench, run: str, number: int) -> None:
    for index in range(number):
        say(bench.ports, run, f"fill-{index}", "case.closed")


def test_an_event_beyond_32_pending_ones_is_refused_wherever_they_stand() -> None:
    bench = Bench(graphs.listener())
    run = bench.started()
    _filled(bench, run, 20)
    bench.advance(run)
    assert len(bench.head(run).buffered) == 20
    for index in range(12):
        say(bench.ports, run, f"more-{index}", "case.closed")
    with pytest.raises(TooMany) as refused:
        say(bench.ports, run, "one-too-many")
    assert refused.value.code == "inbox_full"
    say(bench.ports, run, "more-1", "case.closed")  # a replay of one that is there is no new one


def test_two_events_that_both_saw_one_free_place_do_not_both_get_it() -> None:
    bench = Bench(graphs.listener())
    run = bench.started()
    _filled(bench, run, MAX_PENDING_EVENTS - 1)
    racing = bench.worker(at={TRANSACT: lambda: say(bench.ports, run, "e-1", "case.closed")})
    with pytest.raises(TooMany):
        say(racing, run, "e-2", "case.closed")


def test_an_event_that_saw_a_free_place_in_the_buffer_before_a_burst_filled_it_is_refused() -> None:
    bench = Bench(graphs.listener())
    run = bench.started()
    _filled(bench, run, MAX_PENDING_EVENTS - 2)
    bench.advance(run)
    say(bench.ports, run, "e-1", "case.closed")

    def taken_in_and_another() -> None:
        bench.advance(run)
        say(bench.ports, run, "e-2", "case.closed")

    with pytest.raises(TooMany):
        say(bench.worker(at={TRANSACT: taken_in_and_another}), run, "e-3", "case.closed")


def test_a_run_s_own_signals_always_fit() -> None:
    bench = Bench(graphs.person())
    run = bench.started()
    _filled(bench, run, MAX_PENDING_EVENTS)
    bench.world.complete(bench.world.task(run), "p-1", {"outcome": "accept"})
    bench.advance(run)
    assert bench.head(run).outcome == "succeeded"
