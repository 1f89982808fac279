"""How long this invocation may still run, as Lambda says."""

from __future__ import annotations

from typing import Protocol


class LambdaContext(Protocol):
    """What the engine reads of Lambda's context object."""

    aws_request_id: str

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the invocation is stopped."""


class InvocationDeadline:
    """The `Deadline` port over Lambda's context."""

    def __init__(self, context: LambdaContext) -> None:
        self._context = context

    def remaining_milliseconds(self) -> int:
        """Milliseconds until the platform stops this invocation."""
        return self._context.get_remaining_time_in_millis()
