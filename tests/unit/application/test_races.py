"""What another writer does between a use case's reading and its writing: one winner, the loser is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from casegraph.application import tasks, work_task
from casegraph.application.complete_task import Completion, complete_task
from casegraph.application.context import Ports
from casegraph.application.intake_report import NewReport, intake_report
from casegraph.application.publish import publish
from casegraph.application.queues import read_queue
from casegraph.domain.head import head_key
from casegraph.domain.writes import Path, Update
from casegraph.errors import Conflict
from casegraph.runtime.json_schemas import JsonSchemas
from tests.unit.http.harness import ANNA, Api, Meanwhile, review_bundle


@pytest.fixture
def api() -> Api:
    api = Api()
    api.queue("inbox", graph=review_bundle())
    return api


def open_task(api: Api) -> str:
    run_id = api.report("inbox", "s")["run_id"]
    api.world.settle()
    return f"{run_id}.review~1"


def change_head(api: Api, task_id: str, path: Path, value: Any) -> Callable[[], object]:
    """The head alone, as it is in the instant before cleanup has touched the rows."""
    key = head_key(task_id.partition(".")[0])
    return lambda: api.ports.store.write(Update(key, (), set={path: value}))


@pytest.mark.parametrize(
    ("path", "value"), [(("outcome",), "terminated"), (("closing", "1.1"), "another branch")]
)
def test_a_claim_is_refused_when_the_branch_loses_meanwhile(api: Api, path: Path, value: str) -> None:
    task_id = open_task(api)
    item = tasks.read_task(api.ports, task_id)
    assert item["token_key"] == "1.1"
    racing = Meanwhile.on(api.ports, change_head(api, task_id, path, value))
    with pytest.raises(Conflict) as caught:
        work_task.claim(racing, item, "anna")
    assert caught.value.code == "task_closed"
    assert tasks.read_task(api.ports, task_id)["state"] == "open"


@pytest.mark.parametrize(
    ("path", "value"), [(("outcome",), "terminated"), (("closing", "1.1"), "another branch")]
)
def test_a_completion_is_refused_when_the_branch_loses_meanwhile(api: Api, path: Path, value: str) -> None:
    task_id = open_task(api)
    generation = api.ok("POST", f"/v1/tasks/{task_id}/claim", {}, by=ANNA)["generation"]
    api.ok("POST", f"/v1/runs/{task_id.partition('.')[0]}/pause", {"reason": "a look"})
    racing = Meanwhile.on(api.ports, change_head(api, task_id, path, value))
    item = tasks.read_task(api.ports, task_id)
    with pytest.raises(Conflict) as caught:
        complete_task(racing, JsonSchemas(), item, Completion("anna", generation, {"outcome": "none"}))
    assert caught.value.code == "task_closed"
    assert tasks.read_task(api.ports, task_id)["state"] == "claimed"


def test_of_two_claims_at_once_one_wins_and_the_other_is_told_who(api: Api) -> None:
    task_id = open_task(api)
    item = tasks.read_task(api.ports, task_id)
    racing = Meanwhile.on(api.ports, lambda: work_task.claim(api.ports, item, "ben"))
    with pytest.raises(Conflict) as caught:
        work_task.claim(racing, item, "anna")
    assert caught.value.details["who"] == "ben"


def test_next_goes_on_with_another_task_when_one_was_taken_meanwhile(api: Api) -> None:
    task_ids = {open_task(api) for _ in range(2)}
    taken: list[str] = []

    def take() -> None:
        task = work_task.next_task(api.ports, "inbox", "ben")
        assert task is not None
        taken.append(task["run_id"])

    mine = work_task.next_task(Meanwhile.on(api.ports, take), "inbox", "anna")
    assert mine is not None
    assert {mine["run_id"], *taken} == {task_id.partition(".")[0] for task_id in task_ids}


def test_the_same_key_with_another_report_at_once_is_refused(api: Api) -> None:
    api.queue("unpinned")
    queue = read_queue(api.ports, "unpinned")

    def send(ports: Ports, text: str) -> None:
        new = NewReport("s", {"text": text}, "unpinned")
        intake_report(ports, new, queue, caller="anna", idempotency_key="key")

    with pytest.raises(Conflict) as caught:
        send(Meanwhile.on(api.ports, lambda: send(api.ports, "one")), "two")
    assert caught.value.code == "idempotency_key_reused"


def test_two_publications_at_once_are_two_versions(api: Api) -> None:
    class NoComponents:
        def output_schema(self, component_id: str) -> dict[str, Any] | None:
            return None

    def make(ports: Ports, name: str) -> int:
        bundle = review_bundle(name=name)
        return publish(ports, NoComponents(), "review_only", bundle, by="anna", idempotency_key=name).version

    other: list[int] = []
    mine = make(Meanwhile.on(api.ports, lambda: other.append(make(api.ports, "one"))), "two")
    assert (other, mine) == ([2], 3)
    names = [api.get(f"/v1/workflows/review_only/versions/{n}").body["name"] for n in (2, 3)]
    assert names == ["one", "two"]
