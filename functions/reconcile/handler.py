"""Sweeps what is due, once a minute (protocol.md 4)."""

from __future__ import annotations

from typing import Any

from casegraph.runtime.deadline import LambdaContext
from casegraph.runtime.entry import sweep


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """A tick of the schedule; the answer counts what was done."""
    return sweep(event, context)
