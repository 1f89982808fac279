"""People's work over the API: next, claim, heartbeat, release, complete; one winner, and the loser is told who."""

from __future__ import annotations

from typing import Any

import pytest

from casegraph.limits import CLOCK_SKEW_MILLISECONDS, TASK_CLAIM_MILLISECONDS
from tests.unit.http.harness import ADMIN, ANNA, BEN, Api, Json, review_bundle

REMOVE = {"outcome": "remove", "note": "seen"}


@pytest.fixture
def api() -> Api:
    api = Api()
    api.queue("inbox", graph=review_bundle())
    return api


def open_task(api: Api, subject: str = "s") -> str:
    run_id = api.report("inbox", subject)["run_id"]
    api.world.settle()
    return f"{run_id}.review~1"


def claim(api: Api, task_id: str, by: Any = ANNA) -> int:
    generation: int = api.ok("POST", f"/v1/tasks/{task_id}/claim", {}, by=by)["generation"]
    return generation


def complete(api: Api, task_id: str, generation: int, response: Json = REMOVE, by: Any = ANNA) -> Any:
    body = {"generation": generation, "response": response}
    return api.post(f"/v1/tasks/{task_id}/complete", body, by=by)


def test_a_completed_task_moves_its_run_on(api: Api) -> None:
    task_id = open_task(api)
    answer = complete(api, task_id, claim(api, task_id))
    assert (answer.status, answer.body["outcome"], answer.body["replayed"]) == (200, "remove", False)
    api.world.settle()
    assert api.get(f"/v1/runs/{task_id.partition('.')[0]}").body["state"] == "succeeded"
    shown = api.get(f"/v1/tasks/{task_id}").body
    assert (shown["state"], shown["response"], shown["allowed_actions"]) == ("completed", REMOVE, [])


def test_next_gives_the_task_with_its_form_to_one_person_only(api: Api) -> None:
    task_id = open_task(api)
    task = api.ok("POST", "/v1/tasks/next", {"queue_id": "inbox"}, by=ANNA)["task"]
    assert task["task_id"] == task_id
    assert task["claimed_by"] == "anna"
    assert task["form"]["schema"]["properties"]["outcome"]["enum"] == ["remove", "none"]
    assert task["allowed_actions"] == ["heartbeat", "release", "complete"]
    assert api.ok("POST", "/v1/tasks/next", {"queue_id": "inbox"}, by=BEN)["task"] is None


def test_next_gives_the_most_urgent_first(api: Api) -> None:
    urgent = review_bundle("urgent", "inbox")
    urgent["graph"]["nodes"][1]["config"]["priority"] = 90
    api.queue("second", graph=urgent)
    for number in range(5):
        open_task(api, f"s{number}")
    run_id = api.report("second", "x")["run_id"]
    api.world.settle()
    task = api.ok("POST", "/v1/tasks/next", {"queue_id": "inbox"}, by=ANNA)["task"]
    assert task["run_id"] == run_id


def test_next_hands_out_each_task_once(api: Api) -> None:
    tasks = {open_task(api, f"s{number}") for number in range(30)}
    given = [api.ok("POST", "/v1/tasks/next", {"queue_id": "inbox"}, by=ANNA)["task"] for _ in range(31)]
    assert given[-1] is None
    assert {task["task_id"] for task in given[:-1]} == tasks


def test_a_repeated_request_for_the_next_task_gives_the_same_one_while_it_is_held(api: Api) -> None:
    for number in range(3):
        open_task(api, f"s{number}")

    def ask(key: str, by: Any = ANNA) -> Json:
        task: Json = api.ok("POST", "/v1/tasks/next", {"queue_id": "inbox"}, by=by, key=key)["task"]
        return task

    first = ask("one")
    assert ask("one")["task_id"] == first["task_id"]
    assert len({first["task_id"], ask("two")["task_id"], ask("one", BEN)["task_id"]}) == 3
    complete(api, first["task_id"], first["generation"])
    assert api.ok("POST", "/v1/tasks/next", {"queue_id": "inbox"}, by=ANNA, key="one")["task"] is None


def test_next_gives_again_what_a_person_let_expire(api: Api) -> None:
    task_id = open_task(api)
    claim(api, task_id)
    api.world.advance(TASK_CLAIM_MILLISECONDS / 1000)
    assert api.ok("POST", "/v1/tasks/next", {"queue_id": "inbox"}, by=BEN)["task"] is None
    api.world.advance((CLOCK_SKEW_MILLISECONDS + 1) / 1000)
    assert api.ok("POST", "/v1/tasks/next", {"queue_id": "inbox"}, by=BEN)["task"]["task_id"] == task_id


def test_the_period_of_heartbeats_is_the_node_s_own_where_it_says_so() -> None:
    api, graph = Api(), review_bundle()
    (review,) = [node for node in graph["graph"]["nodes"] if node["id"] == "review"]
    review["config"]["heartbeat_seconds"] = 60
    api.queue("inbox", graph=graph)
    task_id = open_task(api)
    generation = claim(api, task_id)
    api.world.advance("59s")
    api.ok("POST", f"/v1/tasks/{task_id}/heartbeat", {"generation": generation}, by=ANNA)
    api.world.advance("59s")
    assert api.ok("POST", "/v1/tasks/next", {"queue_id": "inbox"}, by=BEN)["task"] is None
    api.world.advance("4s")
    assert api.ok("POST", "/v1/tasks/next", {"queue_id": "inbox"}, by=BEN)["task"]["task_id"] == task_id


def test_a_heartbeat_keeps_the_claim(api: Api) -> None:
    task_id = open_task(api)
    generation = claim(api, task_id)
    api.world.advance("10m")
    api.ok("POST", f"/v1/tasks/{task_id}/heartbeat", {"generation": generation}, by=ANNA)
    api.world.advance("10m")
    assert api.ok("POST", "/v1/tasks/next", {"queue_id": "inbox"}, by=BEN)["task"] is None
    assert complete(api, task_id, generation).status == 200


def test_a_released_task_is_free_again(api: Api) -> None:
    task_id = open_task(api)
    generation = claim(api, task_id)
    api.ok("POST", f"/v1/tasks/{task_id}/release", {"generation": generation}, by=ANNA)
    assert claim(api, task_id, BEN) == generation + 1


def test_a_task_that_somebody_holds_is_refused_with_who_and_until_when(api: Api) -> None:
    task_id = open_task(api)
    claim(api, task_id)
    answer = api.post(f"/v1/tasks/{task_id}/claim", {}, by=BEN)
    assert (answer.status, answer.code, answer.details["who"]) == (409, "task_claimed", "anna")
    assert answer.details["until"].endswith("Z")


def test_a_claim_of_an_earlier_generation_decides_nothing(api: Api) -> None:
    task_id = open_task(api)
    lost = claim(api, task_id)
    api.world.advance("16m")
    held = claim(api, task_id, BEN)
    answer = complete(api, task_id, lost)
    assert (answer.status, answer.code, answer.details["who"]) == (409, "task_claimed", "ben")
    assert complete(api, task_id, held, by=BEN).status == 200


def test_completing_needs_a_claim(api: Api) -> None:
    task_id = open_task(api)
    answer = complete(api, task_id, 1)
    assert (answer.status, answer.code) == (409, "claim_needed")


def test_the_same_decision_again_is_a_replay_that_writes_nothing(api: Api) -> None:
    task_id = open_task(api)
    generation = claim(api, task_id)
    complete(api, task_id, generation)
    for settled in (False, True):
        if settled:
            api.world.settle()
        before = api.stored
        again = complete(api, task_id, generation)
        assert (again.status, again.body["replayed"]) == (200, True)
        assert api.stored == before


@pytest.mark.parametrize(("by", "response"), [(ANNA, {"outcome": "none"}), (BEN, REMOVE)])
def test_another_decision_is_refused_with_who_and_when(api: Api, by: Any, response: Json) -> None:
    task_id = open_task(api)
    generation = claim(api, task_id)
    complete(api, task_id, generation)
    answer = complete(api, task_id, generation, response, by)
    assert (answer.status, answer.code) == (409, "task_completed")
    assert (answer.details["who"], answer.details["outcome"]) == ("anna", "remove")
    assert answer.details["at"] == "2026-01-01T00:00:00.000Z"


def test_a_task_that_expired_is_refused_with_its_state(api: Api) -> None:
    task_id = open_task(api)
    generation = claim(api, task_id)
    api.world.advance("2d")
    answer = complete(api, task_id, generation)
    assert (answer.status, answer.code, answer.details["current_state"]) == (409, "task_expired", "expired")


def test_a_task_of_a_terminated_run_is_refused_before_and_after_cleanup(api: Api) -> None:
    task_id = open_task(api)
    generation = claim(api, task_id)
    run_id = task_id.partition(".")[0]
    api.ok("POST", f"/v1/runs/{run_id}/terminate", {"reason": "not needed"})
    assert complete(api, task_id, generation).code == "task_closed"
    assert api.post(f"/v1/tasks/{task_id}/claim", {}, by=ANNA).code == "task_closed"
    api.world.settle()
    assert complete(api, task_id, generation).code == "task_cancelled"
    assert api.ok("POST", "/v1/tasks/next", {"queue_id": "inbox"}, by=BEN)["task"] is None


@pytest.mark.parametrize(
    ("response", "pointer"),
    [
        ({}, "/response"),
        ({"outcome": "burn"}, "/response/outcome"),
        ({"outcome": "none", "note": 7}, "/response/note"),
    ],
)
def test_a_wrong_form_is_refused_with_the_field(api: Api, response: Json, pointer: str) -> None:
    task_id = open_task(api)
    generation = claim(api, task_id)
    before = api.stored
    answer = complete(api, task_id, generation, response)
    assert (answer.status, answer.code) == (400, "form_invalid")
    assert [p["pointer"] for p in answer.details["problems"]] == [pointer]
    assert "burn" not in str(answer.body)
    assert api.stored == before


def test_a_large_response_is_kept_beside_the_run(api: Api) -> None:
    task_id = open_task(api)
    response = {"outcome": "remove", "note": "n" * 10_000}
    assert complete(api, task_id, claim(api, task_id), response).status == 200
    assert api.get(f"/v1/tasks/{task_id}").body["response"] == response
    api.world.settle()
    assert api.get(f"/v1/runs/{task_id.partition('.')[0]}").body["state"] == "succeeded"


def test_a_completion_on_a_paused_run_is_taken_when_it_goes_on(api: Api) -> None:
    task_id = open_task(api)
    generation = claim(api, task_id)
    run_id = task_id.partition(".")[0]
    api.ok("POST", f"/v1/runs/{run_id}/pause", {"reason": "a look"})
    assert complete(api, task_id, generation).status == 200
    api.world.settle()
    assert api.get(f"/v1/runs/{run_id}").body["state"] == "paused"
    api.ok("POST", f"/v1/runs/{run_id}/resume", {"reason": "seen"})
    api.world.settle()
    assert api.get(f"/v1/runs/{run_id}").body["state"] == "succeeded"


def test_tasks_are_listed_by_rank_over_pages(api: Api) -> None:
    tasks = {open_task(api, f"s{number}") for number in range(7)}
    seen: list[str] = []
    cursor = ""
    while True:
        page = api.get(f"/v1/tasks?queue_id=inbox&limit=3{cursor}", by=ANNA).body
        assert len(page["items"]) <= 3
        seen += [item["task_id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert len(seen) == 7
    assert set(seen) == tasks


def test_why_names_who_holds_the_task(api: Api) -> None:
    task_id = open_task(api)
    run_id = task_id.partition(".")[0]
    waits = api.get(f"/v1/runs/{run_id}/why", by=ADMIN).body["waits_for"]
    assert waits[0]["who"] == "a reviewer of queue inbox"
    claim(api, task_id)
    answer = api.get(f"/v1/runs/{run_id}/why", by=ADMIN).body
    assert answer["waits_for"][0]["who"] == "anna"
    assert "anna" in answer["sentence"]
