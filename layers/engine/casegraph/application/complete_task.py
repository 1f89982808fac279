"""Completing a task: the row and its signal in one transaction; one winner, the loser is told who and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from casegraph.application import payloads
from casegraph.application.context import Ports
from casegraph.application.persistence import patiently
from casegraph.application.schemas import Schemas, require_valid
from casegraph.application.signals import send_signal
from casegraph.application.tasks import refusal, task_key
from casegraph.application.work_task import closed
from casegraph.domain import rules, task
from casegraph.domain.canonical import digest
from casegraph.domain.head import Head
from casegraph.domain.signal import TASK, Pointer
from casegraph.domain.writes import Item, Rule, Update, Write
from casegraph.errors import ConditionsFailed, ItemFailure


@dataclass(frozen=True, slots=True)
class Completion:
    """A person's decision under the claim's generation; `response` is the filled form."""

    person: str
    generation: int
    response: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Completed:
    """The task's row afterwards; replayed: this very decision had been recorded before."""

    task: Item
    replayed: bool = False


def complete_task(ports: Ports, schemas: Schemas, item: Item, completion: Completion) -> Completed:
    """Record a decision. The same decision of the same person again is a replay and writes nothing.

    Raises `InvalidInput("form_invalid")` with every problem, and `Conflict` naming who or what was first.
    """
    if item["state"] not in task.OPEN_STATES:
        return _decided(ports, item, completion)
    _check_form(ports, schemas, item, completion.response)
    try:
        send_signal(
            ports,
            item["run_id"],
            Pointer(TASK, item["step_id"]),
            lambda head: _own_writes(ports, head, item, completion),
            guards=lambda head: _guards(item),
        )
    except ConditionsFailed as failed:
        return _decided(ports, failed.failures[0].old_item or item, completion)
    after = patiently(ports, lambda: ports.store.get(task_key(item)))
    return Completed(after or item)


def _check_form(ports: Ports, schemas: Schemas, item: Item, response: dict[str, Any]) -> None:
    form = ports.versions.bundle(item["digest"])["forms"][item["form"]]
    require_valid(schemas, form, response, what="the form", code="form_invalid", at="/response")


def _guards(item: Item) -> Sequence[Rule]:
    return (rules.NOT_TERMINAL, rules.token_open(item["token_key"]))


def _own_writes(ports: Ports, head: Head, item: Item, completion: Completion) -> list[Write]:
    """Refuse at once what the head that was read does not allow; its rules refuse what changes after that."""
    key = item["token_key"]
    if head.terminal or key not in head.frontier or key in head.closing:
        current = patiently(ports, lambda: ports.store.get(task_key(item)))
        raise _AlreadyDecided(current or item)
    return [_completion(ports, item, completion)]


class _AlreadyDecided(ConditionsFailed):
    """The token is gone: whatever the row says now is the answer."""

    def __init__(self, item: Item) -> None:
        super().__init__([ItemFailure(0, ("token_open",), item)])


def _completion(ports: Ports, item: Item, completion: Completion) -> Update:
    kept = payloads.stored(ports, item["run_id"], "response", completion.response)
    update = task.complete(
        task_key(item),
        completion.person,
        completion.generation,
        completion.response["outcome"],
        None,
        kept["response_digest"],
        ports.clock.now(),
    )
    values = {path: value for path, value in update.set.items() if path != ("response",)}
    return replace(update, set={**values, **{(name,): value for name, value in kept.items()}})


def _decided(ports: Ports, item: Item, completion: Completion) -> Completed:
    """The row is decided, or the claim is not this one: a replay, or the conflict that names the winner."""
    if item["state"] in task.OPEN_STATES:
        held = item["state"] == "claimed" and item["claimed_by"] == completion.person
        raise closed(ports, item) if held and item["generation"] == completion.generation else refusal(item)
    same = (
        item["state"] == "completed"
        and item["completed_by"] == completion.person
        and item["response_digest"] == digest(completion.response)
    )
    if same:
        return Completed(item, replayed=True)
    raise refusal(item)
