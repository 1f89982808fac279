"""Runs, reports, events, queues and versions over the API."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.http.harness import ADMIN, ANNA, Api, Json, review_bundle, waiting_bundle

NOTICE = {"type": "notice.completed", "event_id": "e1", "payload": {"explanation": "more"}}


@pytest.fixture
def api() -> Api:
    return Api()


def waiting_run(api: Api) -> str:
    api.publish(waiting_bundle())
    run_id: str = api.ok("POST", "/v1/runs", {"workflow_key": "waits", "input": {"a": 1}})["run_id"]
    api.world.settle()
    return run_id


def all_items(api: Api, target: str) -> list[Json]:
    items: list[Json] = []
    cursor = ""
    while True:
        page = api.get(target + cursor).body
        items += page["items"]
        if page["next_cursor"] is None:
            return items
        cursor = f"&cursor={page['next_cursor']}"


def test_a_version_is_published_listed_and_shown(api: Api) -> None:
    assert api.publish(review_bundle()) == 1
    second = review_bundle(name="Second")
    assert api.publish(second) == 2
    versions = all_items(api, "/v1/workflows/review_only/versions?limit=1")
    assert [v["version"] for v in versions] == [2, 1]
    shown = api.get("/v1/workflows/review_only/versions/2").body
    assert shown["bundle"]["graph"]["name"] == "Second"
    assert shown["digest"] == versions[0]["digest"]


def test_the_same_bundle_again_is_the_same_version(api: Api) -> None:
    api.publish(review_bundle())
    before = api.stored[0]
    again = api.post("/v1/workflows/review_only/versions", review_bundle())
    assert (again.status, again.body["version"], again.body["replayed"]) == (200, 1, True)
    assert api.stored[0] == before


def test_a_bundle_is_published_under_its_own_key_only(api: Api) -> None:
    answer = api.post("/v1/workflows/another/versions", review_bundle())
    assert (answer.status, answer.code, answer.details["pointer"]) == (
        400,
        "workflow_key_mismatch",
        "/graph/key",
    )


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        (lambda graph: graph.update(colour="red"), "/graph"),
        (lambda graph: graph["nodes"][1].update(kind="oracle"), "/graph/nodes/1"),
        (lambda graph: graph["nodes"][1]["config"].update(colour="red"), "/graph/nodes/1"),
        (lambda graph: graph["nodes"][1].pop("timeout_seconds"), "/graph/nodes/1"),
        (
            lambda graph: graph["nodes"][1].update(input_mapping={"a": "inptu.x"}),
            "/graph/nodes/1/input_mapping/a",
        ),
        (
            lambda graph: graph["nodes"][1].update(input_mapping={"a": "1 + 'x'"}),
            "/graph/nodes/1/input_mapping/a",
        ),
        (lambda graph: graph["nodes"].insert(2, {"id": "island", "kind": "end"}), "/graph/nodes/2"),
        (lambda graph: graph["edges"].pop(), "/graph/nodes/1"),
        (lambda graph: graph.update(authority="shadow"), "/graph/authority"),
    ],
)
def test_an_invalid_graph_is_refused_with_every_place_and_stores_nothing(
    api: Api, change: Any, pointer: str
) -> None:
    bundle = review_bundle()
    change(bundle["graph"])
    answer = api.post("/v1/workflows/review_only/versions", bundle)
    assert (answer.status, answer.code) == (400, "graph_invalid")
    assert any(p["pointer"].startswith(pointer) for p in answer.details["problems"])
    assert api.stored == (0, 0)
    checked = api.ok("POST", "/v1/workflows/validate", bundle)
    assert checked == {"valid": False, "problems": answer.details["problems"]}


def test_a_valid_bundle_validates_and_stores_nothing(api: Api) -> None:
    assert api.ok("POST", "/v1/workflows/validate", review_bundle()) == {"valid": True, "problems": []}
    assert api.stored == (0, 0)


def test_a_run_starts_from_the_latest_version_unless_one_is_named(api: Api) -> None:
    api.publish(waiting_bundle())
    changed = waiting_bundle()
    changed["graph"]["name"] = "Second"
    api.publish(changed)
    latest = api.ok("POST", "/v1/runs", {"workflow_key": "waits"})["run_id"]
    first = api.ok("POST", "/v1/runs", {"workflow_key": "waits", "version": 1})["run_id"]
    assert api.get(f"/v1/runs/{latest}").body["version"] == 2
    assert api.get(f"/v1/runs/{first}").body["version"] == 1


def test_input_that_the_workflow_does_not_take_is_refused(api: Api) -> None:
    schema = {"type": "object", "required": ["reason"], "properties": {"reason": {"type": "string"}}}
    bundle = review_bundle(input_schema=schema)
    api.queue("inbox", graph=bundle)
    before = api.stored
    run = api.post("/v1/runs", {"workflow_key": "review_only", "input": {"reason": 7}})
    assert (run.status, run.code, run.details["problems"][0]["pointer"]) == (
        400,
        "input_invalid",
        "/input/reason",
    )
    report = api.post("/v1/reports", {"queue_id": "inbox", "subject_key": "s", "content": {}})
    assert (report.status, report.code) == (400, "input_invalid")
    assert report.details["problems"][0]["pointer"] == "/content"
    assert api.stored == before


def test_an_event_ends_the_wait_of_its_run(api: Api) -> None:
    run_id = waiting_run(api)
    answer = api.post(f"/v1/runs/{run_id}/events", NOTICE)
    assert (answer.status, answer.body) == (202, {"run_id": run_id, "replayed": False, "late": False})
    assert api.post(f"/v1/runs/{run_id}/events", NOTICE).body["replayed"]
    api.world.settle()
    assert api.get(f"/v1/runs/{run_id}").body["state"] == "succeeded"
    assert api.post(f"/v1/runs/{run_id}/events", {**NOTICE, "event_id": "e2"}).body["late"]


def test_a_reused_event_id_with_another_payload_is_refused(api: Api) -> None:
    run_id = waiting_run(api)
    api.ok("POST", f"/v1/runs/{run_id}/events", NOTICE)
    other = {**NOTICE, "payload": {"explanation": "less"}}
    answer = api.post(f"/v1/runs/{run_id}/events", other)
    assert (answer.status, answer.code) == (409, "idempotency_key_reused")


def test_the_33rd_event_that_nobody_takes_is_refused(api: Api) -> None:
    run_id = waiting_run(api)
    api.ok("POST", f"/v1/runs/{run_id}/pause", {"reason": "hold"})
    for number in range(32):
        api.ok("POST", f"/v1/runs/{run_id}/events", {**NOTICE, "event_id": f"e{number}"})
    answer = api.post(f"/v1/runs/{run_id}/events", {**NOTICE, "event_id": "one-more"})
    assert (answer.status, answer.code) == (429, "inbox_full")


def test_runs_are_steered_once_per_key_and_at_the_revision_seen(api: Api) -> None:
    run_id = waiting_run(api)
    revision = api.get(f"/v1/runs/{run_id}").body["revision"]
    stale = api.post(f"/v1/runs/{run_id}/pause", {"reason": "r", "expected_revision": revision - 1})
    assert (stale.status, stale.code, stale.details["current"]) == (409, "revision_changed", revision)
    body = {"reason": "r", "expected_revision": revision}
    assert api.ok("POST", f"/v1/runs/{run_id}/pause", body, key="p1")["state"] == "paused"
    assert api.ok("POST", f"/v1/runs/{run_id}/pause", body, key="p1")["replayed"]
    twice = api.post(f"/v1/runs/{run_id}/pause", {"reason": "r"}, key="p2")
    assert (twice.status, twice.code, twice.details["current_state"]) == (409, "illegal_transition", "paused")
    why = api.get(f"/v1/runs/{run_id}/why").body["sentence"]
    assert why.startswith("The run is paused since 2026-01-01T00:00:00.000Z")


def test_runs_are_listed_newest_first_over_pages_and_by_filter(api: Api) -> None:
    api.queue("inbox", graph=review_bundle())
    started = []
    for number in range(7):
        started.append(api.report("inbox", f"s{number}")["run_id"])
        if number % 2:
            api.world.advance(1)
    other = waiting_run(api)
    listed = [run["run_id"] for run in all_items(api, "/v1/runs?limit=2")]
    assert listed[0] == other
    assert sorted(listed) == sorted([*started, other])
    starts = [run["started_at"] for run in all_items(api, "/v1/runs?limit=2")]
    assert starts == sorted(starts, reverse=True)
    by_workflow = all_items(api, "/v1/runs?workflow=review_only&limit=3")
    assert {run["run_id"] for run in by_workflow} == set(started)
    api.ok("POST", f"/v1/runs/{other}/terminate", {"reason": "done"})
    assert [run["run_id"] for run in all_items(api, "/v1/runs?state=terminated&limit=5")] == [other]
    report_id = api.get(f"/v1/runs/{started[0]}").body["report_id"]
    assert [run["run_id"] for run in all_items(api, f"/v1/runs?report_id={report_id}")] == [started[0]]


def test_runs_in_attention_are_found_by_state_and_code(api: Api) -> None:
    bundle = review_bundle()
    bundle["graph"]["nodes"][1]["input_mapping"] = {"missing": "input.nothing"}
    version = api.world.publish(bundle)
    run_id = api.world.start(version)
    api.world.settle()
    found = all_items(api, "/v1/runs?state=attention&limit=5")
    assert [run["run_id"] for run in found] == [run_id]
    code = found[0]["attention"][0]
    assert [r["run_id"] for r in all_items(api, f"/v1/runs?code={code}&limit=5")] == [run_id]
    assert "operator" in api.get(f"/v1/runs/{run_id}/why").body["sentence"]


def test_the_log_verifies_over_pages_and_shows_a_changed_segment(api: Api) -> None:
    run_id = waiting_run(api)
    api.ok("POST", f"/v1/runs/{run_id}/events", NOTICE)
    api.world.settle()
    first = api.get(f"/v1/runs/{run_id}/log?limit=1").body
    second = api.get(f"/v1/runs/{run_id}/log?limit=1&cursor={first['next_cursor']}").body
    assert first["chain"] == second["chain"] == {"verified": True, "faults": []}
    assert [first["items"][0]["revision"], second["items"][0]["revision"]] == [0, 1]
    steps = all_items(api, f"/v1/runs/{run_id}/steps?limit=1")
    assert [step["step"] for step in steps] == ["start#1", "await_it#1", "end#1"]


def test_reports_are_listed_and_shown(api: Api) -> None:
    api.queue("inbox", graph=review_bundle())
    ids = [api.report("inbox", f"s{number}", text="mild")["report_id"] for number in range(5)]
    listed = [report["report_id"] for report in all_items(api, "/v1/reports?queue_id=inbox&limit=2")]
    assert sorted(listed) == sorted(ids)
    shown = api.get(f"/v1/reports/{ids[0]}", by=ANNA).body
    assert (shown["content"], shown["subject_key"], shown["merged"]) == ({"text": "mild"}, "s0", False)


def test_a_report_without_a_pinned_workflow_is_stored_and_starts_nothing(api: Api) -> None:
    api.queue("inbox")
    report = api.report("inbox", "s")
    assert report["run_id"] is None
    assert api.get(f"/v1/reports/{report['report_id']}").body["run_id"] is None


def test_a_report_that_names_no_queue_comes_to_the_default_one(api: Api) -> None:
    body = {"subject_key": "s", "content": {}}
    answer = api.post("/v1/reports", body)
    assert (answer.status, answer.code) == (400, "queue_missing")
    api.ok("PUT", "/v1/queues/general", {"name": "General", "default": True})
    report = api.ok("POST", "/v1/reports", body)
    assert api.get(f"/v1/reports/{report['report_id']}").body["queue_id"] == "general"
    api.ok("PUT", "/v1/queues/general", {"name": "General"})
    assert api.post("/v1/reports", body).code == "queue_missing"


def test_a_report_that_is_too_large_is_refused(api: Api) -> None:
    api.queue("inbox", graph=review_bundle())
    before = api.stored
    body = {"queue_id": "inbox", "subject_key": "s", "content": {"text": "t" * 70_000}}
    answer = api.post("/v1/reports", body)
    assert (answer.status, answer.code) == (413, "report_too_large")
    assert api.stored == before


def test_a_report_of_50_kb_reaches_its_run(api: Api) -> None:
    api.queue("inbox", merge="subject", graph=review_bundle())
    first = api.report("inbox", "s", text="t" * 50_000)
    second = api.report("inbox", "s", text="u" * 50_000)
    api.world.settle()
    assert second["merged"]
    assert len(api.get(f"/v1/runs/{first['run_id']}").body["input"]["text"]) == 50_000


def test_a_subject_key_of_any_length_merges(api: Api) -> None:
    api.queue("inbox", merge="subject", graph=review_bundle())
    key = "at://did:example:a/" + "é" * 2_000
    assert not api.report("inbox", key)["merged"]
    assert api.report("inbox", key)["merged"]


def test_reports_merge_only_within_a_queue_and_while_the_run_is_open(api: Api) -> None:
    bundle = review_bundle()
    api.queue("inbox", merge="subject", graph=bundle)
    api.queue("second", merge="subject", graph=bundle)
    first = api.report("inbox", "s")["run_id"]
    assert not api.report("second", "s")["merged"]
    api.ok("POST", f"/v1/runs/{first}/terminate", {"reason": "done"})
    third = api.report("inbox", "s")
    assert not third["merged"]
    assert third["run_id"] != first
    assert api.report("inbox", "s")["run_id"] == third["run_id"]


def test_a_pin_needs_a_published_version(api: Api) -> None:
    api.queue("inbox")
    answer = api.post("/v1/queues/inbox/pins", {"workflow_key": "review_only", "version": 1})
    assert (answer.status, answer.code) == (404, "version_not_found")


def test_an_unpinned_queue_starts_nothing(api: Api) -> None:
    api.queue("inbox", graph=review_bundle())
    pins = [{"mode": "primary", "workflow_key": "review_only", "version": 1}]
    assert api.get("/v1/queues/inbox").body["pins"] == pins
    assert api.ok("DELETE", "/v1/queues/inbox/pins")["pins"] == []
    assert api.report("inbox", "s")["run_id"] is None


def test_me_says_what_the_caller_may(api: Api) -> None:
    me = api.get("/v1/me", by=ANNA).body
    assert (me["subject"], me["roles"], me["queues"]) == ("anna", ["reviewer"], ["inbox"])
    assert "POST /v1/tasks/next" in me["allowed_routes"]
    assert "POST /v1/runs" not in me["allowed_routes"]


def test_a_connector_is_put_and_shown_without_secrets(api: Api) -> None:
    body = {"kind": "http", "url": "https://receiver.example/hook"}
    assert api.ok("PUT", "/v1/connectors/platform", body)["visibility_seconds"] == 60
    assert api.get("/v1/connectors/platform").body["url"] == body["url"]
    for url in ("ftp://x", "https://user:secret@receiver.example/", "receiver.example"):
        answer = api.call("PUT", "/v1/connectors/platform", {"kind": "http", "url": url}, by=ADMIN)
        assert (answer.status, answer.code) == (400, "invalid_body")
