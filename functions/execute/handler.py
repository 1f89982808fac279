"""Advances runs: one record of the execute queue at a time (protocol.md 3)."""

from __future__ import annotations

from typing import Any

from casegraph.runtime.deadline import LambdaContext
from casegraph.runtime.entry import execute


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """A batch of the execute queue; the answer names the records that must come back."""
    return execute(event, context)
