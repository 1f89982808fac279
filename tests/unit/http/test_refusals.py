"""Bad requests: refused with a code and the place, and nothing is stored."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from casegraph.limits import BODY_MAX_BYTES, BODY_MAX_DEPTH
from tests.unit.http.harness import ADMIN, ANNA, CARL, Answer, Api, review_bundle, waiting_bundle

JSON = {"Content-Type": "application/json", "Idempotency-Key": "k"}
START = '{"workflow_key": "waits", "input": %s}'


@pytest.fixture(scope="module")
def prepared() -> Api:
    api = Api()
    api.queue("inbox", graph=review_bundle())
    api.publish(waiting_bundle())
    return api


def send(api: Api, body: str | bytes, headers: dict[str, str] | None = None) -> Answer:
    raw = body.encode() if isinstance(body, str) else body
    return api.raw("POST", "/v1/runs", JSON if headers is None else headers, raw, ADMIN)


def refused(api: Api, request: Callable[[], Answer], status: int, code: str) -> Answer:
    before = api.stored
    answer = request()
    assert (answer.status, answer.code) == (status, code), answer.body
    assert set(answer.body["error"]) == {"code", "message", "details"}
    assert api.stored == before
    return answer


@pytest.mark.parametrize("body", ['{"workflow_key": }', '{"a": 1} x', "{'a': 1}", '{"a": 1,}', "[1, 2"])
def test_malformed_json_is_refused_with_line_and_column(prepared: Api, body: str) -> None:
    answer = refused(prepared, lambda: send(prepared, body), 400, "malformed_json")
    assert answer.details["line"] == 1
    assert answer.details["column"] >= 2


@pytest.mark.parametrize("body", [START % "NaN", START % "-Infinity", '{"input": {"a": 1, "a": 2}}'])
def test_what_is_no_json_to_others_is_refused(prepared: Api, body: str) -> None:
    refused(prepared, lambda: send(prepared, body), 400, "malformed_json")


@pytest.mark.parametrize("number", ["1e400", "-1e126", "1e-200", "9223372036854775808", "9" * 5_000])
def test_numbers_that_would_not_come_back_as_sent_are_refused(prepared: Api, number: str) -> None:
    refused(prepared, lambda: send(prepared, START % f'{{"n": {number}}}'), 400, "number_out_of_range")


def test_half_a_surrogate_pair_is_refused(prepared: Api) -> None:
    refused(prepared, lambda: send(prepared, START % r'{"t": "\ud83d"}'), 400, "malformed_text")
    refused(prepared, lambda: send(prepared, START % r'{"\udc00": 1}'), 400, "malformed_text")
    refused(prepared, lambda: send(prepared, START % r'{"t": "a\u0000b"}'), 400, "malformed_text")


def test_a_body_that_is_not_utf8_is_refused(prepared: Api) -> None:
    refused(prepared, lambda: send(prepared, b'{"a": "\xff"}'), 400, "malformed_text")


def test_an_empty_body_is_refused(prepared: Api) -> None:
    refused(prepared, lambda: send(prepared, ""), 400, "body_missing")


@pytest.mark.parametrize("depth", [BODY_MAX_DEPTH, 20_000])
def test_a_body_that_is_too_deep_is_refused(prepared: Api, depth: int) -> None:
    nested = "[" * depth + "]" * depth
    refused(prepared, lambda: send(prepared, f'{{"workflow_key": {nested}}}'), 400, "too_deep")


def test_a_body_at_the_depth_bound_is_read(prepared: Api) -> None:
    nested = "[" * (BODY_MAX_DEPTH - 1) + "]" * (BODY_MAX_DEPTH - 1)
    refused(prepared, lambda: send(prepared, f'{{"workflow_key": {nested}}}'), 400, "invalid_body")


def test_a_body_over_the_bound_is_refused(prepared: Api) -> None:
    big = START % json.dumps({"t": "x" * BODY_MAX_BYTES})
    answer = refused(prepared, lambda: send(prepared, big), 413, "body_too_large")
    assert answer.details["allowed"] == BODY_MAX_BYTES


@pytest.mark.parametrize(
    "given", ["", "text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"]
)
def test_another_content_type_is_refused(prepared: Api, given: str) -> None:
    headers = {**JSON, "Content-Type": given}
    refused(prepared, lambda: send(prepared, START % "{}", headers), 415, "unsupported_media_type")


def test_a_creating_request_without_idempotency_key_is_refused(prepared: Api) -> None:
    headers = {"Content-Type": "application/json"}
    refused(prepared, lambda: send(prepared, START % "{}", headers), 400, "idempotency_key_missing")
    headers["Idempotency-Key"] = "k" * 201
    refused(prepared, lambda: send(prepared, START % "{}", headers), 400, "idempotency_key_invalid")


@pytest.mark.parametrize(
    ("body", "pointer", "problem"),
    [
        ({"workflow_key": "waits", "colour": 1}, "/colour", "unknown_field"),
        ({}, "/workflow_key", "missing_field"),
        ({"workflow_key": 7}, "/workflow_key", "string_type"),
        ({"workflow_key": "waits", "version": "1"}, "/version", "int_type"),
        ({"workflow_key": "waits", "version": True}, "/version", "int_type"),
        ({"workflow_key": "Waits!"}, "/workflow_key", "string_pattern_mismatch"),
        ([], "", "not_an_object"),
    ],
)
def test_a_wrong_field_is_named_by_its_pointer(prepared: Api, body: Any, pointer: str, problem: str) -> None:
    answer = refused(prepared, lambda: send(prepared, json.dumps(body)), 400, "invalid_body")
    assert (pointer, problem) in {(p["pointer"], p["code"]) for p in answer.details["problems"]}


def test_every_wrong_field_is_named_at_once(prepared: Api) -> None:
    answer = refused(prepared, lambda: send(prepared, '{"a": 1, "b": 2}'), 400, "invalid_body")
    assert [p["pointer"] for p in answer.details["problems"]] == ["/workflow_key", "/a", "/b"]


def test_a_refusal_does_not_repeat_what_was_sent(prepared: Api) -> None:
    answer = send(prepared, json.dumps({"workflow_key": "private words", "input": "private words"}))
    assert "private words" not in json.dumps(answer.body)


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("/v1/runs/run-none", "run_not_found"),
        ("/v1/runs/run-none/why", "run_not_found"),
        ("/v1/runs/run-none/log", "run_not_found"),
        ("/v1/reports/rep-none", "report_not_found"),
        ("/v1/tasks/none", "task_not_found"),
        ("/v1/tasks/run-none.review~1", "task_not_found"),
        ("/v1/queues/none", "queue_not_found"),
        ("/v1/connectors/none", "connector_not_found"),
        ("/v1/effects?run_id=run-none", "run_not_found"),
        ("/v1/workflows/waits/versions/99", "version_not_found"),
        ("/v1/nothing", "route_not_found"),
        ("/v1/runs/" + "r" * 2_000, "not_found"),
    ],
)
def test_an_unknown_id_is_not_found(prepared: Api, target: str, code: str) -> None:
    refused(prepared, lambda: prepared.get(target), 404, code)


@pytest.mark.parametrize(
    "cursor",
    ["x", "%%%", "bm90IGpzb24", "W10", "WyJhIl0", "W1tbW1tb", "WyJhIiwxLCJiIiwiYyJd", "é", "A" * 3_000],
)
@pytest.mark.parametrize("target", ["/v1/runs?", "/v1/reports?queue_id=inbox&", "/v1/tasks?queue_id=inbox&"])
def test_a_cursor_that_was_not_given_out_is_refused(prepared: Api, target: str, cursor: str) -> None:
    refused(prepared, lambda: prepared.get(f"{target}cursor={cursor}"), 400, "bad_cursor")


def test_a_cursor_of_another_list_is_refused(prepared: Api) -> None:
    for number in range(3):
        prepared.report("inbox", f"subject-{number}")
    cursor = prepared.get("/v1/runs?limit=1").body["next_cursor"]
    assert cursor is not None
    refused(prepared, lambda: prepared.get(f"/v1/runs?state=failed&cursor={cursor}"), 400, "bad_cursor")
    refused(prepared, lambda: prepared.get(f"/v1/reports?queue_id=inbox&cursor={cursor}"), 400, "bad_cursor")


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=many", "colour=red", "state=asleep"])
def test_a_wrong_query_is_refused(prepared: Api, query: str) -> None:
    answer = refused(prepared, lambda: prepared.get(f"/v1/runs?{query}"), 400, "invalid_query")
    assert answer.details["problems"][0]["pointer"] == "/" + query.partition("=")[0]


def start_waiting(api: Api) -> str:
    run_id: str = api.ok("POST", "/v1/runs", {"workflow_key": "waits"})["run_id"]
    api.world.settle()
    return run_id


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"type": "Notice Completed", "event_id": "1"}, "invalid_body"),
        ({"type": "notice.completed", "event_id": ""}, "invalid_body"),
        ({"type": "notice.completed", "event_id": "a b"}, "invalid_body"),
        ({"type": "notice.completed", "event_id": "1", "key": ""}, "invalid_body"),
        ({"type": "notice.completed", "event_id": "1", "key": "k" * 513}, "invalid_body"),
        ({"type": "notice.completed", "event_id": "1", "key": 7}, "invalid_body"),
        ({"type": "notice.withdrawn", "event_id": "1"}, "event_type_unknown"),
        ({"type": "notice.completed", "event_id": "1", "payload": {}}, "event_invalid"),
    ],
)
def test_a_wrong_event_is_refused(prepared: Api, body: dict[str, Any], code: str) -> None:
    run_id = start_waiting(prepared)
    refused(prepared, lambda: prepared.post(f"/v1/runs/{run_id}/events", body), 400, code)


def test_an_event_by_key_needs_its_key(prepared: Api) -> None:
    body = {"type": "notice.completed", "event_id": "1"}
    answer = refused(prepared, lambda: prepared.post("/v1/events", body), 400, "invalid_body")
    assert answer.details["problems"][0]["pointer"] == "/key"


def test_nobody_is_let_in_without_a_token(prepared: Api) -> None:
    refused(prepared, lambda: prepared.get("/v1/me", by=None), 401, "unauthenticated")


def test_a_role_that_may_not_is_told_which_may(prepared: Api) -> None:
    body = {"workflow_key": "waits"}
    answer = refused(prepared, lambda: prepared.post("/v1/runs", body, by=ANNA), 403, "role_missing")
    assert answer.details["allowed"] == ["admin", "operator", "publisher"]


def test_what_is_in_a_queue_of_others_does_not_exist(prepared: Api) -> None:
    report = prepared.report("inbox", "hidden")
    prepared.world.settle()
    run_id = report["run_id"]
    task_id = f"{run_id}.review~1"
    assert prepared.get(f"/v1/tasks/{task_id}", by=ANNA).status == 200
    for target, code in (
        (f"/v1/runs/{run_id}", "run_not_found"),
        (f"/v1/runs/{run_id}/steps", "run_not_found"),
        (f"/v1/runs/{run_id}/log", "run_not_found"),
        (f"/v1/runs/{run_id}/why", "run_not_found"),
        (f"/v1/effects?run_id={run_id}", "run_not_found"),
        (f"/v1/reports/{report['report_id']}", "report_not_found"),
        ("/v1/reports?queue_id=inbox", "queue_not_found"),
        (f"/v1/tasks/{task_id}", "task_not_found"),
        ("/v1/tasks?queue_id=inbox", "queue_not_found"),
        ("/v1/queues/inbox", "queue_not_found"),
    ):
        refused(prepared, lambda target=target: prepared.get(target, by=CARL), 404, code)  # type: ignore[misc]
    verbs: tuple[tuple[str, dict[str, Any]], ...] = (
        ("claim", {}),
        ("heartbeat", {"generation": 1}),
        ("release", {"generation": 1}),
        ("complete", {"generation": 1, "response": {"outcome": "none"}}),
    )
    for verb, body in verbs:
        target = f"/v1/tasks/{task_id}/{verb}"
        refused(prepared, lambda t=target, b=body: prepared.post(t, b, by=CARL), 404, "task_not_found")  # type: ignore[misc]
    report_body = {"queue_id": "inbox", "subject_key": "s", "content": {}}
    refused(prepared, lambda: prepared.post("/v1/reports", report_body, by=CARL), 404, "queue_not_found")
    refused(
        prepared,
        lambda: prepared.post("/v1/tasks/next", {"queue_id": "inbox"}, by=CARL),
        404,
        "queue_not_found",
    )


def test_a_list_of_runs_leaves_out_those_of_other_queues(prepared: Api) -> None:
    prepared.report("inbox", "hidden-in-lists")
    queues = {run["queue_id"] for run in prepared.get("/v1/runs?limit=100", by=CARL).body["items"]}
    assert "inbox" not in queues


def test_an_unexpected_error_says_nothing_of_its_insides(
    prepared: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr("casegraph.application.explain.why", broken)
    run_id = start_waiting(prepared)
    answer = prepared.get(f"/v1/runs/{run_id}/why")
    assert (answer.status, answer.code) == (500, "internal")
    assert "secret detail" not in json.dumps(answer.body)


@pytest.mark.parametrize("component_id", [[], {}, None, 1, [[]]])
def test_a_component_id_that_is_no_name_is_a_problem_with_its_place(
    prepared: Api, component_id: object
) -> None:
    graph = review_bundle()
    graph["graph"]["nodes"].insert(
        1, {"id": "ask", "kind": "enrichment", "config": {"component_id": component_id}}
    )
    told = prepared.ok("POST", "/v1/workflows/validate", graph)["problems"]
    assert "/graph/nodes/1/config/component_id" in [problem["pointer"] for problem in told]
    path = f"/v1/workflows/{graph['graph']['key']}/versions"
    refused(prepared, lambda: prepared.post(path, graph), 400, "graph_invalid")
