"""The HTTP API (architecture.md 10): identity, role, body, one use case, its answer."""

from __future__ import annotations

from typing import Any

from casegraph.runtime.api import answer
from casegraph.runtime.deadline import LambdaContext


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """One request of the HTTP API (payload format 2.0)."""
    return answer(event, context)
