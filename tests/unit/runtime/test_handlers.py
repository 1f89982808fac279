"""The four handlers on their recorded events, over a container of memory adapters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from casegraph.adapters.component_registry import ComponentRegistry
from casegraph.local.functions import load_handler
from casegraph.local.lambda_context import LambdaContext
from casegraph.runtime import api, entry
from casegraph.runtime.container import Container
from casegraph.runtime.observability import LambdaJournal
from casegraph.runtime.settings import Settings
from tests.unit.http.harness import Api, review_bundle

EVENTS = Path(__file__).parents[3] / "events"
SETTINGS = Settings(
    runs_table="r", subjects_table="s", correlations_table="c", reports_table="p", catalog_table="k",
    payload_bucket="b", execute_queue_url="http://queue/e", dispatch_queue_url="http://queue/d",
)  # fmt: skip


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Api:
    made = Api()
    container = Container(SETTINGS, made.ports, LambdaJournal("ERROR"), ComponentRegistry())
    monkeypatch.setattr(entry, "container", lambda: container)
    monkeypatch.setattr(api, "container", lambda: container)
    api._api.cache_clear()
    return made


def invoke(function: str, case: str, **changes: Any) -> Any:
    event = json.loads((EVENTS / function / f"{case}.json").read_text())
    event.update(changes)
    return load_handler(function)(event, LambdaContext(function, 60))


@pytest.mark.parametrize(
    ("case", "status", "code"),
    [
        ("me", 200, None),
        ("me-reviewer", 200, None),
        ("put-queue", 200, None),
        ("list-runs", 200, None),
        ("send-report", 404, "queue_not_found"),
        ("malformed-body", 400, "malformed_json"),
        ("no-authorizer", 401, "unauthenticated"),
    ],
)
def test_the_api_answers_its_recorded_events(world: Api, case: str, status: int, code: str | None) -> None:
    answer = invoke("api", case)
    body = json.loads(answer["body"])
    assert (answer["statusCode"], body.get("error", {}).get("code")) == (status, code)
    assert answer["headers"]["Content-Type"] == "application/json"
    assert answer["headers"]["X-Request-Id"] == "AbCdEfGhIjKlMnO="


def test_a_reviewer_s_claims_of_the_gateway_are_read(world: Api) -> None:
    me = json.loads(invoke("api", "me-reviewer")["body"])
    assert (me["subject"], me["queues"]) == ("reviewer-1", ["appeals", "illegal-content"])


def test_a_body_in_base64_is_read_as_the_gateway_means_it(world: Api) -> None:
    import base64

    event = json.loads((EVENTS / "api/put-queue.json").read_text())
    body = base64.b64encode(event["body"].encode()).decode()
    assert invoke("api", "put-queue", body=body, isBase64Encoded=True)["statusCode"] == 200
    assert invoke("api", "put-queue", body="%%%", isBase64Encoded=True)["statusCode"] == 400


def test_execute_advances_the_run_of_its_record(world: Api) -> None:
    world.queue("inbox", graph=review_bundle())
    run_id = world.report("inbox", "s")["run_id"]
    event = json.loads((EVENTS / "execute/advance-run.json").read_text())
    job = {**json.loads(event["Records"][0]["body"]), "run_id": run_id}
    event["Records"][0]["body"] = json.dumps(job)
    assert invoke("execute", "advance-run", **event) == {"batchItemFailures": []}
    assert world.get(f"/v1/runs/{run_id}").body["state"] == "waiting"


@pytest.mark.parametrize("case", ["unknown-version", "malformed"])
def test_a_message_that_is_no_known_job_comes_back_until_it_is_a_dead_letter(world: Api, case: str) -> None:
    assert len(invoke("execute", case)["batchItemFailures"]) == 1


def test_a_job_for_a_run_that_is_not_there_is_acknowledged(world: Api) -> None:
    assert invoke("execute", "advance-run") == {"batchItemFailures": []}
    assert invoke("dispatch", "deliver-effect") == {"batchItemFailures": []}


def test_dispatch_gives_back_the_record_that_it_does_not_know(world: Api) -> None:
    answer = invoke("dispatch", "mixed-batch")
    assert [f["itemIdentifier"] for f in answer["batchItemFailures"]] == [
        "00000001-0000-4000-8000-000000000000"
    ]


def test_reconcile_answers_with_what_it_did(world: Api) -> None:
    world.queue("inbox", graph=review_bundle())
    world.report("inbox", "s")
    world.world.site.time.to(world.world.site.time.at + 120_000)
    assert invoke("reconcile", "scheduled")["runs"] == 1


def test_every_recorded_event_is_used_here() -> None:
    used = Path(__file__).read_text()
    unused = [str(p.relative_to(EVENTS)) for p in EVENTS.rglob("*.json") if f'"{p.stem}"' not in used]
    assert unused == []
