"""A person's work in a test world, through the engine's own use cases."""

from __future__ import annotations

from typing import Any

from casegraph.application import work_task
from casegraph.application.complete_task import Completion, complete_task
from casegraph.application.context import Ports
from casegraph.application.tasks import read_task
from casegraph.domain.ids import public_id
from casegraph.domain.writes import Item
from casegraph.runtime.json_schemas import JsonSchemas

_SCHEMAS = JsonSchemas()


def do_task(ports: Ports, run_id: str, step: str, person: str, response: dict[str, Any]) -> Item:
    """Claim a task for a person and complete it; returns its row.

    The same again is a replay. Raises `Conflict` naming who or what was first, `InvalidInput("form_invalid")`.
    """
    item = read_task(ports, public_id(run_id, step))
    if item["state"] in ("open", "claimed"):
        item = work_task.claim(ports, item, person)
    done = complete_task(ports, _SCHEMAS, item, Completion(person, item["generation"], response))
    return done.task
