"""People's work: list, next, claim, heartbeat, release, complete."""

from __future__ import annotations

from typing import Any

from casegraph.application import cursors, tasks, work_task
from casegraph.application.complete_task import Completion, complete_task
from casegraph.domain.writes import Item
from casegraph.runtime.endpoint import Call, IdempotencyKey, Reply, get, post
from casegraph.runtime.models import Body, Generation, Listing, ObjectId


class NextBody(Body):
    """From which queue."""

    queue_id: ObjectId


class ClaimBody(Body):
    """Nothing to say."""


class HoldBody(Body):
    """The claim's generation, as the claim answered it."""

    generation: Generation


class CompleteBody(HoldBody):
    """The filled form; its `outcome` is the decision."""

    response: dict[str, Any]


class TaskQuery(Listing):
    """A list of tasks is a queue's."""

    queue_id: ObjectId


def _visible(call: Call) -> Item:
    """The task of the path. Raises `NotFound` for one in a queue that the caller may not see."""
    task_id = call.params["task_id"]
    task = tasks.read_task(call.ports, task_id)
    if not call.principal.sees(task["queue_id"]):
        raise tasks.not_found(task_id)
    return task


def _view(call: Call, task: Item) -> dict[str, Any]:
    return tasks.full_view(call.ports, task, call.principal.subject)


def index(call: Call) -> Reply:
    """Open and claimed tasks of a queue, the most urgent first."""
    query = call.filters(TaskQuery)
    call.queue_exists(query.queue_id)
    bound = {"queue_id": query.queue_id}
    position = cursors.decode("tasks", bound, query.cursor, str, str, str)
    rows, more = tasks.list_tasks(call.ports, query.queue_id, position, query.limit)
    items = [tasks.summary(row) for row in rows]
    return Reply({"items": items, "next_cursor": cursors.encode("tasks", bound, more)})


def hand_out(call: Call) -> Reply:
    """Claim the most urgent task of a queue; `task` is null when there is none."""
    body = call.body(NextBody)
    call.queue_exists(body.queue_id)
    task = work_task.next_task(call.ports, body.queue_id, call.principal.subject, call.idempotency_key)
    return Reply({"task": None if task is None else _view(call, task)})


def show(call: Call) -> Reply:
    """One task: what it is about, its form, what the caller may do."""
    return Reply(_view(call, _visible(call)))


def claim(call: Call) -> Reply:
    """Claim this task."""
    call.body(ClaimBody)
    return Reply(_view(call, work_task.claim(call.ports, _visible(call), call.principal.subject)))


def heartbeat(call: Call) -> Reply:
    """Keep the claim for another period."""
    body = call.body(HoldBody)
    task = work_task.heartbeat(call.ports, _visible(call), call.principal.subject, body.generation)
    return Reply(tasks.summary(task))


def release(call: Call) -> Reply:
    """Give the task back."""
    body = call.body(HoldBody)
    task = work_task.release(call.ports, _visible(call), call.principal.subject, body.generation)
    return Reply(tasks.summary(task))


def complete(call: Call) -> Reply:
    """Decide. The same decision again is a replay."""
    body = call.body(CompleteBody)
    completion = Completion(call.principal.subject, body.generation, body.response)
    done = complete_task(call.ports, call.schemas, _visible(call), completion)
    return Reply({**tasks.summary(done.task), "replayed": done.replayed})


ROUTES = (
    get("/v1/tasks", index),
    post("/v1/tasks/next", hand_out, key=IdempotencyKey.OPTIONAL),
    get("/v1/tasks/{task_id}", show),
    post("/v1/tasks/{task_id}/claim", claim),
    post("/v1/tasks/{task_id}/heartbeat", heartbeat),
    post("/v1/tasks/{task_id}/release", release),
    post("/v1/tasks/{task_id}/complete", complete),
)
