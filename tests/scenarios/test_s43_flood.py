"""S43: 2,000 reports on one subject, half of them while its run is paused: one run, one task, flat cost."""

from __future__ import annotations

from casegraph.application.intake_report import NewReport, TakenIn, intake_report
from casegraph.application.queues import read_queue
from casegraph.domain.head import head_key, run_pk
from casegraph.domain.writes import Table
from tests.unit.http.harness import Api, review_bundle

REPORTS = 2_000


def test_a_flood_of_reports_on_one_post_is_one_run_with_one_task() -> None:
    api = Api()
    api.queue("inbox", merge="subject", graph=review_bundle())
    queue = read_queue(api.ports, "inbox")

    def send(number: int) -> TakenIn:
        new = NewReport("post", {"number": number}, "inbox")
        return intake_report(api.ports, new, queue, caller="intake", idempotency_key=f"r{number}")

    first = send(0)
    run_id = first.run_id or ""
    api.world.settle()
    calls: list[int] = []
    answers = []
    for number in range(1, REPORTS):
        if number == REPORTS // 2:
            api.ok("POST", f"/v1/runs/{run_id}/pause", {"reason": "a look"})
        before = api.world.site.counter.count
        answers.append(send(number))
        calls.append(api.world.site.counter.count - before)
        if number % 100 == 0:
            api.world.settle()
        head = api.ports.store.get(head_key(run_id))
        assert head is not None
        assert len(head["inbox"]) <= 1
    assert {(answer.run_id, answer.merged) for answer in answers} == {(run_id, True)}
    assert max(calls) <= 5
    assert sum(calls[-100:]) <= sum(calls[:100])
    assert api.ports.store.count(Table.RUNS, run_pk(run_id), prefix="REPORT#") == REPORTS - 1
    api.ok("POST", f"/v1/runs/{run_id}/resume", {"reason": "go on"})
    api.world.settle()
    shown = api.get(f"/v1/runs/{run_id}").body
    assert (shown["report_count"], shown["inbox"], shown["state"]) == (REPORTS, 0, "waiting")
    assert len(api.get("/v1/tasks?queue_id=inbox").body["items"]) == 1
    assert api.ports.store.count(Table.RUNS, run_pk(run_id), prefix="TASK#") == 1
