"""S27: nine duplicate or redriven jobs of one waiting run.

Elsewhere each was an attempt, and the run ended as failed. Here a job is a hint: none claims, none counts as an
attempt, none changes anything; each is acknowledged after one request, and counted.

Breaks without: rules.due, deliver_effect's look at the row's state.
"""

from __future__ import annotations

import pytest

from casegraph.application.advance_run import Advanced
from casegraph.application.deliver_effect import Delivered, deliver_effect
from casegraph.domain.head import head_key
from tests.protocol.graphs import person, sender
from tests.protocol.kit import Bench


@pytest.mark.parametrize("state", ["waiting", "paused", "ended"])
def test_nine_jobs_of_a_run_with_nothing_due_change_nothing_and_cost_one_request_each(state: str) -> None:
    bench = Bench(person())
    run = bench.started()
    if state == "paused":
        bench.world.pause(run)
    if state == "ended":
        bench.world.complete(bench.world.task(run), "reviewer-1", {"outcome": "accept"})
        bench.world.settle()
    bench.clear_jobs()
    before, counted = bench.raw_head(run), bench.site.notes.counts.get("job_nothing_due", 0)
    calls: list[str] = []
    worker = bench.site.worker("redriven", pause=calls.append)
    for _ in range(9):
        assert bench.advance(run, worker) is Advanced.NOTHING_DUE
    assert bench.site.memory.get(head_key(run)) == before
    assert len(calls) == 9
    assert bench.jobs() == [], "no job begets another"
    assert bench.site.notes.counts["job_nothing_due"] == counted + 9


def test_nine_jobs_while_another_holds_the_run_change_nothing() -> None:
    bench = Bench(person())
    run = bench.start()
    bench.crash(run)
    bench.clear_jobs()
    before = bench.raw_head(run)
    for _ in range(9):
        assert bench.advance(run) is Advanced.NOTHING_DUE
    assert bench.raw_head(run) == before
    assert bench.jobs() == []


def test_nine_jobs_after_which_the_run_still_does_its_work() -> None:
    bench = Bench(person())
    run = bench.started()
    for _ in range(9):
        bench.advance(run)
    bench.world.complete(bench.world.task(run), "reviewer-1", {"outcome": "accept"})
    bench.world.settle()
    assert bench.world.run(run).state == "succeeded"


def test_nine_jobs_of_a_settled_effect_call_nobody() -> None:
    bench = Bench(sender())
    run = bench.started()
    bench.world.settle()
    assert len(bench.mail.received) == 1
    calls: list[str] = []
    worker = bench.site.worker("redriven", pause=calls.append)
    for _ in range(9):
        found = deliver_effect(worker, run, "send#1#1", bench.site.invocation())
        assert found is Delivered.NOTHING_DUE
    assert len(bench.mail.received) == 1
    assert len(calls) == 9
