"""What the api function calls; apart from entry.py, since only this one loads the HTTP resolver and JSON Schema."""

from __future__ import annotations

from functools import cache
from typing import Any

from casegraph.runtime.container import container
from casegraph.runtime.deadline import LambdaContext
from casegraph.runtime.http import HttpApi
from casegraph.runtime.json_schemas import JsonSchemas


@cache
def _api() -> HttpApi:
    made = container()
    return HttpApi(
        made.ports,
        JsonSchemas(),
        made.components,
        roles_claim=made.settings.roles_claim,
        queues_claim=made.settings.queues_claim,
    )


def answer(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Answer one HTTP request (HTTP API event, payload 2.0)."""
    journal = container().journal
    journal.begin(context.aws_request_id)
    try:
        return _api().handle(event, context)
    finally:
        journal.flush()
