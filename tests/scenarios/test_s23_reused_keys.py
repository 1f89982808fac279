"""S23: the same key with another body is refused; of concurrent duplicates one wins and the others replay it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from casegraph.application.context import Ports
from casegraph.application.intake_report import NewReport, intake_report
from casegraph.application.queues import read_queue
from tests.unit.http.harness import BEN, Answer, Api, Json, review_bundle, waiting_bundle

BY_OTHER = {**BEN, "casegraph_roles": ["admin"], "casegraph_queues": ["*"]}


@pytest.fixture
def api() -> Api:
    api = Api()
    api.queue("inbox", graph=review_bundle())
    api.publish(waiting_bundle())
    return api


def version(api: Api, name: str) -> tuple[str, Json]:
    return "/v1/workflows/review_only/versions", review_bundle(name=name)


def run(api: Api, name: str) -> tuple[str, Json]:
    return "/v1/runs", {"workflow_key": "waits", "input": {"name": name}}


def report(api: Api, name: str) -> tuple[str, Json]:
    return "/v1/reports", {"queue_id": "inbox", "subject_key": "s", "content": {"name": name}}


def named_report(api: Api, name: str) -> tuple[str, Json]:
    body = {"queue_id": "inbox", "subject_key": "s", "content": {}, "report_id": f"ext-{name}"}
    return "/v1/reports", body


def pause(api: Api, name: str) -> tuple[str, Json]:
    run_id = api.ok("POST", "/v1/runs", {"workflow_key": "waits"}, key="the-run")["run_id"]
    return f"/v1/runs/{run_id}/pause", {"reason": name}


@pytest.mark.parametrize("operation", [version, run, report, named_report, pause])
def test_the_same_key_replays_the_same_body_and_refuses_another(
    api: Api, operation: Callable[[Api, str], tuple[str, Json]]
) -> None:
    target, body = operation(api, "one")
    first = api.post(target, body, key="key")
    assert first.status < 300
    before = api.stored[0]
    again = api.post(target, body, key="key")
    assert again.status == 200
    assert again.body == {**first.body, "replayed": True}
    _, other = operation(api, "two")
    refused: Answer = api.post(target, other, key="key")
    assert (refused.status, refused.code) == (409, "idempotency_key_reused")
    assert "Idempotency-Key" in refused.details["hint"]
    assert api.stored[0] == before


@pytest.mark.parametrize("operation", [run, report])
def test_the_same_key_of_another_caller_is_another_key(
    api: Api, operation: Callable[[Api, str], tuple[str, Json]]
) -> None:
    target, body = operation(api, "one")
    mine = api.ok("POST", target, body, key="key")
    theirs = api.ok("POST", target, body, key="key", by=BY_OTHER)
    assert mine["run_id"] != theirs["run_id"]


def test_of_concurrent_duplicates_one_wins_and_the_others_replay_it(api: Api) -> None:
    queue = read_queue(api.ports, "inbox")
    workers: list[Ports] = [api.world.site.worker(f"api-{n}") for n in range(8)]

    def send(ports: Ports) -> Any:
        new = NewReport("subject", {"text": "mild"}, "inbox")
        return intake_report(ports, new, queue, caller="anna", idempotency_key="key")

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(send, workers))
    assert len({(a.report_id, a.run_id) for a in answers}) == 1
    assert sorted(a.replayed for a in answers) == [False] + [True] * 7
