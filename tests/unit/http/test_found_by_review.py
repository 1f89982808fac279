"""Defects of the API that a reviewer found, each as the test that would have found it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from casegraph.application.queues import default_queue, put_queue
from tests.unit.http.harness import ADMIN, Answer, Api, Json, Meanwhile, review_bundle, waiting_bundle

ELSEWHERE = {"sub": "olga", "casegraph_roles": ["operator"], "casegraph_queues": ["elsewhere"]}
BOTH = {**ELSEWHERE, "casegraph_queues": ["inbox", "elsewhere"]}
PLAIN: Json = {"queue_id": "inbox", "subject_key": "s", "content": {"text": "one"}}
NAMED: Json = {**PLAIN, "report_id": "ext-1"}


@pytest.fixture
def api() -> Api:
    api = Api()
    api.queue("inbox", graph=review_bundle())
    return api


def waiting_run(api: Api) -> str:
    api.publish(waiting_bundle())
    run_id: str = api.ok("POST", "/v1/runs", {"workflow_key": "waits"})["run_id"]
    api.world.settle()
    return run_id


def refused(api: Api, request: Callable[[], Answer], status: int, code: str) -> Answer:
    before = api.stored
    answer = request()
    assert (answer.status, answer.body["error"]["code"]) == (status, code)
    assert api.stored == before
    return answer


def test_a_run_of_another_version_is_another_request(api: Api) -> None:
    api.publish(waiting_bundle())
    changed = waiting_bundle()
    changed["graph"]["name"] = "Second"
    api.publish(changed)
    body: Json = {"workflow_key": "waits", "version": 1}
    api.ok("POST", "/v1/runs", body, key="k")
    assert api.ok("POST", "/v1/runs", body, key="k")["replayed"]
    for other in ({"workflow_key": "waits", "version": 2}, {"workflow_key": "waits"}):
        refused(api, lambda other=other: api.post("/v1/runs", other, key="k"), 409, "idempotency_key_reused")  # type: ignore[misc]


def test_a_run_of_the_latest_version_is_replayed_after_a_new_publication(api: Api) -> None:
    api.publish(waiting_bundle())
    first = api.ok("POST", "/v1/runs", {"workflow_key": "waits"}, key="k")
    changed = waiting_bundle()
    changed["graph"]["input_schema"] = {"type": "object", "required": ["reason"]}
    api.publish(changed)
    again = api.ok("POST", "/v1/runs", {"workflow_key": "waits"}, key="k")
    assert again == {**first, "replayed": True}


def test_a_report_is_replayed_after_its_queue_got_another_workflow(api: Api) -> None:
    first = api.ok("POST", "/v1/reports", PLAIN, key="k")
    schema = {"type": "object", "required": ["reason"]}
    api.queue("inbox", graph=review_bundle(input_schema=schema))
    assert api.ok("POST", "/v1/reports", PLAIN, key="k") == {**first, "replayed": True}


@pytest.mark.parametrize(("first", "second"), [(NAMED, PLAIN), (PLAIN, NAMED)])
@pytest.mark.parametrize("content", [{"text": "one"}, {"text": "two"}])
def test_a_key_binds_a_report_with_its_senders_id_and_one_without(
    api: Api, first: Json, second: Json, content: Json
) -> None:
    api.ok("POST", "/v1/reports", first, key="k")
    other = {**second, "content": content}
    refused(api, lambda: api.post("/v1/reports", other, key="k"), 409, "idempotency_key_reused")
    assert len(api.ok("GET", "/v1/runs")["items"]) == 1


def test_a_second_key_of_the_same_report_is_bound_to_it_too(api: Api) -> None:
    first = api.ok("POST", "/v1/reports", NAMED, key="k1")
    assert api.ok("POST", "/v1/reports", NAMED, key="k2") == {**first, "replayed": True}
    other = {**PLAIN, "content": {"text": "two"}}
    refused(api, lambda: api.post("/v1/reports", other, key="k2"), 409, "idempotency_key_reused")


def test_what_binds_a_key_is_no_report(api: Api) -> None:
    derived = Api()
    derived.queue("inbox", graph=review_bundle())
    report_id = derived.ok("POST", "/v1/reports", PLAIN, key="k")["report_id"]
    api.ok("POST", "/v1/reports", NAMED, key="k")
    assert api.get(f"/v1/reports/{report_id}").code == "report_not_found"
    assert [r["report_id"] for r in api.ok("GET", "/v1/reports?queue_id=inbox")["items"]] == ["ext-1"]
    assert api.get(f"/v1/runs?report_id={report_id}").body["items"] == []
    taken: Json = {**PLAIN, "report_id": report_id}
    refused(api, lambda: api.post("/v1/reports", taken), 409, "report_id_reused")
    assert derived.post("/v1/reports", taken, key="k").code == "idempotency_key_reused"


def test_a_report_id_with_another_content_is_refused_as_such(api: Api) -> None:
    api.ok("POST", "/v1/reports", NAMED)
    other = {**NAMED, "content": {"text": "two"}}
    answer = refused(api, lambda: api.post("/v1/reports", other), 409, "report_id_reused")
    assert "report_id" in answer.body["error"]["message"]


def test_a_control_request_at_another_revision_is_another_request(api: Api) -> None:
    run_id = waiting_run(api)
    revision = api.get(f"/v1/runs/{run_id}").body["revision"]
    body: Json = {"reason": "r", "expected_revision": revision}
    api.ok("POST", f"/v1/runs/{run_id}/pause", body, key="k")
    for other in ({"reason": "r"}, {"reason": "r", "expected_revision": revision + 1}):
        refused(
            api,
            lambda other=other: api.post(f"/v1/runs/{run_id}/pause", other, key="k"),  # type: ignore[misc]
            409,
            "idempotency_key_reused",
        )


def test_the_default_is_not_taken_from_a_queue_that_the_caller_may_not_see(api: Api) -> None:
    api.ok("PUT", "/v1/queues/inbox", {"name": "Inbox", "default": True})
    body = {"name": "Elsewhere", "default": True}
    target = "/v1/queues/elsewhere"
    answer = refused(api, lambda: api.call("PUT", target, body, by=ELSEWHERE), 403, "default_queue_not_yours")
    assert "inbox" not in str(answer.body)
    assert api.ok("GET", "/v1/queues/inbox")["default"]
    assert api.ok("PUT", target, {"name": "Elsewhere"}, by=ELSEWHERE)["default"] is False
    assert api.ok("PUT", target, body, by=BOTH)["default"]
    assert api.ok("PUT", target, body, by=ELSEWHERE)["default"]


def put(api: Api, queue_id: str, default: bool) -> Callable[[], object]:
    return lambda: put_queue(api.ports, queue_id, "Q", "none", default=default)


@pytest.mark.parametrize("first", ["inbox", None])
@pytest.mark.parametrize("mine", [True, False])
def test_two_that_change_the_default_at_once_are_both_answered(
    api: Api, first: str | None, mine: bool
) -> None:
    if first:
        put(api, first, True)()
    racing = Meanwhile.on(api.ports, put(api, "elsewhere", True))
    put_queue(racing, "inbox", "Q", "none", default=mine)
    assert default_queue(api.ports) == ("inbox" if mine else "elsewhere")


def test_a_default_that_moves_out_of_sight_meanwhile_is_not_taken(api: Api) -> None:
    sees: Any = lambda queue_id: queue_id != "elsewhere"  # noqa: E731
    racing = Meanwhile.on(api.ports, put(api, "elsewhere", True))
    with pytest.raises(Exception, match="may not see"):
        put_queue(racing, "inbox", "Q", "none", default=True, sees=sees)
    assert default_queue(api.ports) == "elsewhere"


@pytest.mark.parametrize(
    "until_at", ["2025-12-31T23:59:59Z", "2026-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00"]
)
def test_a_pause_until_an_instant_that_has_passed_is_refused(api: Api, until_at: str) -> None:
    run_id = waiting_run(api)
    body = {"reason": "r", "until_at": until_at}
    refused(api, lambda: api.post(f"/v1/runs/{run_id}/pause", body), 400, "until_in_the_past")


def test_a_pause_that_is_over_is_still_replayed(api: Api) -> None:
    run_id = waiting_run(api)
    body = {"reason": "r", "until_at": "2026-01-01T01:00:00Z"}
    api.ok("POST", f"/v1/runs/{run_id}/pause", body, key="k")
    api.world.advance(7_200)
    assert api.ok("POST", f"/v1/runs/{run_id}/pause", body, key="k")["replayed"]


def test_an_instant_after_the_last_one_that_can_be_written_is_refused(api: Api) -> None:
    run_id = waiting_run(api)
    body = {"reason": "r", "until_at": "9999-12-31T23:59:59-12:00"}
    refused(api, lambda: api.post(f"/v1/runs/{run_id}/pause", body), 400, "invalid_body")


@pytest.mark.parametrize(
    ("method", "target", "allowed"),
    [
        ("DELETE", "/v1/runs", ["GET", "POST"]),
        ("PATCH", "/v1/runs/run-1", ["GET"]),
        ("GET", "/v1/runs/run-1/pause", ["POST"]),
        ("POST", "/v1/queues/inbox", ["GET", "PUT"]),
        ("GET", "/v1/queues/inbox/pins", ["DELETE", "POST"]),
        ("OPTIONS", "/v1/me", ["GET"]),
    ],
)
def test_another_method_on_a_known_path_is_told_the_allowed_ones(
    api: Api, method: str, target: str, allowed: list[str]
) -> None:
    answer = refused(api, lambda: api.call(method, target, {}, by=ADMIN), 405, "method_not_allowed")
    assert answer.details["allowed"] == allowed


def test_an_unknown_path_is_still_not_found(api: Api) -> None:
    refused(api, lambda: api.call("DELETE", "/v1/nothing"), 404, "route_not_found")
    refused(api, lambda: api.call("PATCH", "/v1/runs/a/b/c"), 404, "route_not_found")


def test_a_default_queue_that_the_caller_may_not_see_is_not_named_to_them(api: Api) -> None:
    api.ok("PUT", "/v1/queues/inbox", {"name": "Inbox", "default": True})
    body = {"subject_key": "s", "content": {}}
    answer = refused(api, lambda: api.post("/v1/reports", body, by=ELSEWHERE), 400, "queue_missing")
    assert "inbox" not in str(answer.body)
