"""S39: two reports on one subject at the same instant: one run, both reports in it, the second answer says merged."""

from __future__ import annotations

import json
from collections.abc import Iterator
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
from tests.unit.http.harness import Api, review_bundle

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


class Meanwhile:
    """A store that lets another report in between this one's reading and writing."""

    def __init__(self, inner: Any, interruptions: Iterator[Any]) -> None:
        self._inner = inner
        self._interruptions = interruptions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def transact(self, writes: Any, token: str) -> None:
        for interrupt in self._interruptions:
            interrupt()
            break
        self._inner.transact(writes, token)


def test_the_second_of_two_simultaneous_reports_merges() -> None:
    api = Api()
    prepare(api.ports)
    first: list[TakenIn] = []
    racing = replace(
        api.ports, store=Meanwhile(api.ports.store, iter([lambda: first.append(send(api.ports, "s", 1))]))
    )
    second = send(racing, "s", 2)
    assert not first[0].merged
    assert second == replace(first[0], report_id=second.report_id, merged=True)
    assert [row["report_id"] for row in merged_rows(api.ports, second.run_id or "")] == [second.report_id]


def test_a_report_that_meets_the_end_of_its_run_starts_another() -> None:
    api = Api()
    prepare(api.ports)
    run_id = send(api.ports, "s", 1).run_id or ""
    end = iter([lambda: api.ok("POST", f"/v1/runs/{run_id}/terminate", {"reason": "over"})])
    second = send(replace(api.ports, store=Meanwhile(api.ports.store, end)), "s", 2)
    assert not second.merged
    assert second.run_id != run_id
    assert merged_rows(api.ports, run_id) == []


def test_a_report_that_meets_the_burst_that_takes_the_pointer_in_joins_the_next_epoch() -> None:
    api = Api()
    prepare(api.ports)
    run_id = send(api.ports, "s", 1).run_id or ""
    api.world.settle()
    send(api.ports, "s", 2)
    third = send(replace(api.ports, store=Meanwhile(api.ports.store, iter([api.world.settle]))), "s", 3)
    assert third.run_id == run_id
    assert [row["epoch"] for row in merged_rows(api.ports, run_id)] == [1, 2]
    api.world.settle()
    assert api.get(f"/v1/runs/{run_id}").body["inbox"] == 0


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
