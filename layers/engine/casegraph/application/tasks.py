"""Tasks as people see them: found by id, listed by queue, and why one cannot be worked on (architecture.md 7)."""

from __future__ import annotations

from typing import Any

from casegraph.application import payloads
from casegraph.application.context import Ports
from casegraph.application.index_pages import each_shard
from casegraph.application.persistence import patiently
from casegraph.domain.head import row_key
from casegraph.domain.ids import parse_public_id, public_id
from casegraph.domain.instants import rfc3339
from casegraph.domain.task import OPEN_STATES, queue_pk, task_sk
from casegraph.domain.writes import Item, Key, Table
from casegraph.errors import Conflict, NotFound
from casegraph.limits import QUEUE_SHARDS

_INSTANTS = ("created_at", "due_at", "timeout_at", "claimed_at", "claim_until", "completed_at", "closed_at")
_PLAIN = (
    "run_id", "step_id", "queue_id", "title", "priority", "state", "revision", "generation", "report_id",
    "workflow_key", "claimed_by", "outcome", "completed_by", "cancelled_by",
)  # fmt: skip


def task_key(task: Item) -> Key:
    """Key of a task's row."""
    return row_key(task["run_id"], task_sk(task["step_id"]))


def not_found(task_id: str) -> NotFound:
    """Said of a task that is not there, and of one that the caller may not see, alike."""
    return NotFound(f"there is no task {task_id}", "task_not_found", task_id=task_id)


def read_task(ports: Ports, task_id: str) -> Item:
    """A task's row as it is now. Raises `NotFound("task_not_found")`."""
    parsed = parse_public_id(task_id)
    if parsed is None or parsed[2] is not None:
        raise not_found(task_id)
    key = row_key(parsed[0], task_sk(parsed[1]))
    item = patiently(ports, lambda: ports.store.get(key))
    if item is None:
        raise not_found(task_id)
    return item


def summary(task: Item) -> dict[str, Any]:
    """A task in a list: no content."""
    view = {name: task[name] for name in _PLAIN if name in task}
    view.update({name: rfc3339(task[name]) for name in _INSTANTS if name in task})
    return {"task_id": public_id(task["run_id"], task["step_id"]), **view}


def full_view(ports: Ports, task: Item, person: str) -> dict[str, Any]:
    """A task with its input, its form and what this person may do with it now."""
    forms = ports.versions.bundle(task["digest"]).get("forms", {})
    view = {
        **summary(task),
        "input": payloads.field(ports, task, "input"),
        "form": {"name": task["form"], "schema": forms[task["form"]]},
        "allowed_actions": allowed_actions(task, person, ports.clock.now()),
    }
    if task["state"] == "completed":
        view["response"] = payloads.field(ports, task, "response")
    return view


def allowed_actions(task: Item, person: str, now: int) -> list[str]:
    """What a person may do with a task as it is; the API refuses the rest by name."""
    if task["state"] == "claimed" and task["claimed_by"] == person:
        return ["heartbeat", "release", "complete"]
    free = task["state"] == "open" or (task["state"] == "claimed" and task["claim_until"] < now)
    return ["claim"] if free else []


def refusal(task: Item) -> Conflict:
    """Why this task cannot be worked on now: who was first, when, and in which state it is."""
    task_id = public_id(task["run_id"], task["step_id"])
    state = task["state"]
    details: dict[str, Any] = {"task_id": task_id, "current_state": state}
    if state == "completed":
        who, at = task["completed_by"], rfc3339(task["completed_at"])
        text = f"{who} completed the task at {at} as {task['outcome']}"
        return Conflict(text, "task_completed", **details, who=who, at=at, outcome=task["outcome"])
    if state == "expired":
        at = rfc3339(task["closed_at"])
        return Conflict(
            f"nobody completed the task in time: it expired at {at}", "task_expired", **details, at=at
        )
    if state == "cancelled":
        at, cause = rfc3339(task["closed_at"]), task["cancelled_by"]
        text = f"the task was cancelled at {at}: the run went on without it ({cause})"
        return Conflict(text, "task_cancelled", **details, at=at, cause=cause)
    if state == "claimed":
        who, until = task["claimed_by"], rfc3339(task["claim_until"])
        hint = "the claim's generation is in the answer of claim; claim the task again"
        text = f"{who} holds the task until {until} (generation {task['generation']})"
        return Conflict(
            text, "task_claimed", **details, who=who, until=until, generation=task["generation"], hint=hint
        )
    return Conflict("nobody holds the task; claim it first", "claim_needed", **details, allowed=["claim"])


def list_tasks(
    ports: Ports, queue_id: str, after: tuple[str, str, str] | None, limit: int
) -> tuple[list[Item], list[str | int] | None]:
    """Open and claimed tasks of a queue in order of rank, from the index over its shards, each read again strongly."""
    entries: list[tuple[str, str, str]] = []
    low = None if after is None else after[0]
    for found in each_shard(
        ports, range(QUEUE_SHARDS), lambda n: _ranked(ports, queue_id, n, low, limit + 1)
    ):
        entries.extend(e for e in found if after is None or e > after)
    entries.sort()
    page = entries[:limit]
    rows = read_again(ports, page)
    shown = [row for entry in page if (row := rows.get(entry)) is not None]
    more = len(entries) > limit
    return shown, list(page[-1]) if more else None


def _ranked(
    ports: Ports, queue_id: str, shard: int, low: str | None, limit: int
) -> list[tuple[str, str, str]]:
    pk = queue_pk(queue_id, shard)
    page = patiently(
        ports, lambda: ports.store.query_index(Table.RUNS, "queue_tasks", pk, low=low, limit=limit)
    )
    return [(item["task_rank"], item["pk"], item["sk"]) for item in page.items]


def read_again(ports: Ports, entries: list[tuple[str, str, str]]) -> dict[tuple[str, str, str], Item]:
    """The rows behind index entries, strongly; those that are no longer open are left out."""
    keys = {entry: Key(Table.RUNS, entry[1], entry[2]) for entry in entries}
    if not keys:
        return {}
    found = patiently(ports, lambda: ports.store.batch_get(list(keys.values())))
    rows = {entry: found.get(key) for entry, key in keys.items()}
    return {entry: row for entry, row in rows.items() if row is not None and row["state"] in OPEN_STATES}
