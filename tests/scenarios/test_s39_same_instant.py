"""S39: two reports on one subject at the same instant: one run, both reports in it, the second answer says merged."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest

from casegraph.application.context import Ports
from casegraph.application.intake_report import Intake, NewReport, TakenIn, intake_report
from casegraph.application.publish import publish
from casegraph.application.queues import pin_version, put_queue, read_queue
from casegraph.domain.head import run_pk
from casegraph.domain.writes import Item, Key, Table
from casegraph.runtime.container import build
from casegraph.runtime.settings import Settings
from tests.unit.http.harness import Api, Meanwhile, review_bundle

QUEUE = "same-instant"


def prepare(ports: Ports) -> None:
    class NoComponents:
        def output_schema(self, component_id: str) -> dict[str, Any] | None:
            return None

    put_queue(ports, QUEUE, "Same instant", "subject", default=False)
    bundle = review_bundle("same_instant", QUEUE)
    version = publish(ports, NoComponents(), "same_instant", bundle, by="test", idempotency_key="k").version
    pin_version(ports, QUEUE, "same_instant", version, "test")


def send(ports: Ports, subject: str, number: int) -> TakenIn:
    new = NewReport(subject, {"number": number}, QUEUE)
    return intake_report(
        ports, new, read_queue(ports, QUEUE), caller="test", idempotency_key=f"{subject}-{number}"
    )


def merged_rows(ports: Ports, run_id: str) -> list[Item]:
    return ports.store.query(Table.RUNS, run_pk(run_id), prefix="REPORT#").items


def terminate(api: Api, run_id: str) -> None:
    api.ok("POST", f"/v1/runs/{run_id}/terminate", {"reason": "over"})


def test_the_second_of_two_simultaneous_reports_merges() -> None:
    api = Api()
    prepare(api.ports)
    first: list[TakenIn] = []
    second = send(Meanwhile.on(api.ports, lambda: first.append(send(api.ports, "s", 1))), "s", 2)
    assert not first[0].merged
    assert second == replace(first[0], report_id=second.report_id, merged=True)
    assert [row["report_id"] for row in merged_rows(api.ports, second.run_id or "")] == [second.report_id]


def test_a_report_that_meets_the_end_of_its_run_starts_another() -> None:
    api = Api()
    prepare(api.ports)
    run_id = send(api.ports, "s", 1).run_id or ""
    second = send(Meanwhile.on(api.ports, lambda: terminate(api, run_id)), "s", 2)
    assert not second.merged
    assert second.run_id != run_id
    assert merged_rows(api.ports, run_id) == []


def test_a_report_that_meets_the_burst_that_takes_the_pointer_in_joins_the_next_epoch() -> None:
    api = Api()
    prepare(api.ports)
    run_id = send(api.ports, "s", 1).run_id or ""
    api.world.settle()
    send(api.ports, "s", 2)
    third = send(Meanwhile.on(api.ports, api.world.settle), "s", 3)
    assert third.run_id == run_id
    assert [row["epoch"] for row in merged_rows(api.ports, run_id)] == [1, 2]
    api.world.settle()
    assert api.get(f"/v1/runs/{run_id}").body["inbox"] == 0


def test_a_report_that_finds_the_inbox_empty_joins_the_epoch_that_is_open_when_it_is_written() -> None:
    api = Api()
    prepare(api.ports)
    run_id = send(api.ports, "s", 1).run_id or ""
    api.world.settle()

    def another_report_that_is_taken_in() -> None:
        send(api.ports, "s", 2)
        api.world.settle()

    send(Meanwhile.on(api.ports, another_report_that_is_taken_in), "s", 3)
    assert [row["epoch"] for row in merged_rows(api.ports, run_id)] == [1, 2]


def test_two_reports_that_both_find_the_inbox_empty_leave_one_pointer() -> None:
    api = Api()
    prepare(api.ports)
    run_id = send(api.ports, "s", 1).run_id or ""
    send(Meanwhile.on(api.ports, lambda: send(api.ports, "s", 2)), "s", 3)
    assert api.get(f"/v1/runs/{run_id}").body["inbox"] == 1
    assert len(merged_rows(api.ports, run_id)) == 2


@pytest.mark.parametrize("pointed", [False, True], ids=["inbox-empty", "pointer-there"])
def test_a_report_on_a_paused_run_that_is_terminated_meanwhile_starts_another(pointed: bool) -> None:
    api = Api()
    prepare(api.ports)
    run_id = send(api.ports, "s", 1).run_id or ""
    api.ok("POST", f"/v1/runs/{run_id}/pause", {"reason": "a look"})
    if pointed:
        send(api.ports, "s", 2)
    late = send(Meanwhile.on(api.ports, lambda: terminate(api, run_id)), "s", 3)
    assert not late.merged
    assert late.report_id not in {row["report_id"] for row in merged_rows(api.ports, run_id)}


def test_of_two_reports_that_find_the_same_ended_run_one_starts_and_the_other_merges() -> None:
    api = Api()
    prepare(api.ports)
    terminate(api, send(api.ports, "s", 1).run_id or "")
    first: list[TakenIn] = []
    second = send(Meanwhile.on(api.ports, lambda: first.append(send(api.ports, "s", 2))), "s", 3)
    assert (first[0].merged, second.merged) == (False, True)
    assert second.run_id == first[0].run_id


def test_the_same_report_twice_at_once_is_merged_once() -> None:
    api = Api()
    prepare(api.ports)
    run_id = send(api.ports, "s", 1).run_id or ""
    api.world.settle()

    def the_same_that_is_taken_in() -> None:
        send(api.ports, "s", 2)
        api.world.settle()

    assert send(Meanwhile.on(api.ports, the_same_that_is_taken_in), "s", 2).replayed
    assert len(merged_rows(api.ports, run_id)) == 1


def test_the_run_sees_every_merged_report() -> None:
    api = Api()
    prepare(api.ports)
    run_id = send(api.ports, "s", 1).run_id or ""
    for number in (2, 3):
        send(api.ports, "s", number)
    assert api.get(f"/v1/runs/{run_id}").body["report_count"] == 3
    views = [json.loads(row["report"]) for row in merged_rows(api.ports, run_id)]
    assert {view["content"]["number"] for view in views} == {2, 3}


@pytest.mark.local_aws
def test_sixteen_reports_at_once_on_the_local_aws_process_are_one_run(local_aws: Settings) -> None:
    ports = build(local_aws).ports
    prepare(ports)
    for subject in ("first", "second"):
        barrier = Barrier(16)

        def one(number: int, subject: str = subject, barrier: Barrier = barrier) -> TakenIn:
            barrier.wait()
            return send(ports, f"local-{subject}", number)

        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(one, range(16)))
        run_ids = {answer.run_id for answer in answers}
        assert len(run_ids) == 1
        assert sorted(answer.merged for answer in answers) == [False] + [True] * 15
        rows = merged_rows(ports, run_ids.pop() or "")
        assert {row["report_id"] for row in rows} == {a.report_id for a in answers if a.merged}


def test_intake_needs_nothing_of_the_process_that_it_ran_in() -> None:
    api = Api()
    prepare(api.ports)
    first = send(api.ports, "s", 1)
    row_key: Key = Intake(
        api.ports, NewReport("s", {"number": 1}, QUEUE), read_queue(api.ports, QUEUE), "test", "s-1"
    ).row_key
    assert api.ports.store.get(row_key) is not None
    again = send(api.world.site.worker("another"), "s", 1)
    assert again == replace(first, replayed=True)
