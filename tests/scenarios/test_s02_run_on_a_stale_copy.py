"""S2: the sweeper read a run before it held the lock, and ran it on that copy.

(conductor-oss 208; dbos-transact-py 742.)

Here everything that is used after a claim comes from the claim's own answer, or from a strong read after it; what a
sweep takes from the lagging index is read again, and a resume is bound to the revision that was read.

Breaks without: control_run._check_revision (the resume), reconcile._hint_run on re-read heads (the sweep),
lease.claim's answer (the burst).
"""

from __future__ import annotations

from casegraph.application.advance_run import Advanced
from casegraph.application.context import Ports
from casegraph.application.reconcile import reconcile
from tests.protocol.graphs import caller, listener, person
from tests.protocol.kit import Bench

MINUTE = 60_000


def sweep(bench: Bench, ports: Ports) -> None:
    reconcile(ports, bench.site.invocation(55_000))


def test_a_burst_sees_what_came_between_the_job_and_its_claim() -> None:
    """The job was sent for one thing; by the time of the claim another has come."""
    bench = Bench(listener())
    run = bench.started()
    bench.pass_time(3_600_000)
    calls: list[str] = []

    def watched(name: str) -> None:
        calls.append(name)
        if calls == ["store.write"]:
            bench.world.event(run, "step.done", payload={"again": False})

    assert bench.advance(run, bench.site.worker("late", pause=watched)) is Advanced.RELEASED
    assert bench.world.run(run).output["listen"]["type"] == "step.done", "the event, not the deadline"
    assert calls.count("store.transact") == 1, "decided on the claim's answer: nothing to decide again"


def test_a_worker_whose_run_another_finished_before_the_claim_does_nothing() -> None:
    bench = Bench(caller())
    run = bench.start()
    late = bench.worker(at={"store.write": lambda: bench.advance(run)})
    assert bench.advance(run, late) is Advanced.NOTHING_DUE
    assert len(bench.site.scripted.calls) == 1


def test_the_sweep_reads_again_what_a_lagging_index_says() -> None:
    """The index still shows the run as long overdue; in truth it has moved on and waits for an hour."""
    bench = Bench(person())
    run = bench.start()
    bench.clear_jobs()
    bench.pass_time(3 * MINUTE)
    bench.advance(run)
    bench.clear_jobs()
    bench.pass_time(MINUTE)
    bench.site.store.lag = lambda: 2 * MINUTE
    swept = bench.sweep()
    assert (swept.runs, swept.waits_overdue, swept.due_lag_seconds) == (0, 0, 0)
    assert bench.jobs() == []


def test_the_sweep_does_not_resume_a_pause_that_an_operator_made_after_it_read() -> None:
    """A time-boxed pause is over; before the sweep writes, the operator resumes and pauses again, without an end."""
    bench = Bench(person())
    run = bench.started()
    bench.world.pause(run, until=bench.now + MINUTE)
    bench.pass_time(MINUTE)

    def decide_otherwise() -> None:
        bench.world.resume(run)
        bench.world.pause(run)

    sweep(bench, bench.worker(at={"store.transact": decide_otherwise}))
    assert bench.world.run(run).state == "paused"
    assert [i["kind"] for i in bench.log(run)[-3:]] == ["pause", "resume", "pause"]


def test_the_sweep_does_not_resume_on_a_copy_read_before_the_operators_second_pause() -> None:
    """The same, right after the sweep's read of the head."""
    bench = Bench(person())
    run = bench.started()
    bench.world.pause(run, until=bench.now + MINUTE)
    bench.pass_time(MINUTE)

    def decide_otherwise() -> None:
        bench.world.resume(run)
        bench.world.pause(run)

    # The sweep's own read is the first get; the resume's read of the head is the second.
    sweep(bench, bench.worker(at={"store.get": decide_otherwise}, nth=2))
    assert bench.world.run(run).state == "paused"
