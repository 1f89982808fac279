"""Delivers effects: a batch of the dispatch queue (protocol.md 5)."""

from __future__ import annotations

from typing import Any

from casegraph.runtime.deadline import LambdaContext
from casegraph.runtime.entry import dispatch


def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """A batch of the dispatch queue; the answer names the records that must come back."""
    return dispatch(event, context)
