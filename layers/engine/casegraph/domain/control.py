"""Operator control of a run, decided purely: which states allow it, and what the head is afterwards (protocol.md 6)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from casegraph.domain.child import NOT_AWAITED
from casegraph.domain.head import Head, Paused
from casegraph.domain.token import TokenStatus
from casegraph.errors import Conflict

# Allowed sources of each operation, in the words that a reader sees (`Head.state`).
_LIVE = ("pending", "running", "waiting", "leased", "attention")
CONTROL_SOURCES: dict[str, tuple[str, ...]] = {
    "pause": _LIVE,
    "resume": ("paused",),
    "terminate": (*_LIVE, "paused"),
}


def check_allowed(operation: str, head: Head, now: int) -> None:
    """Raise the typed conflict that names both states when the run's state does not allow the operation."""
    state = head.state(now)
    if state not in CONTROL_SOURCES[operation]:
        raise Conflict(
            f"run {head.run_id} is {state}: {operation} needs one of {', '.join(CONTROL_SOURCES[operation])}",
            "illegal_transition",
            run_id=head.run_id,
            current_state=state,
            allowed=list(CONTROL_SOURCES[operation]),
        )


def paused(head: Head, now: int, until: int | None) -> Head:
    """Stand still from now on: no wake-up, nothing advances, signals are stored."""
    return _next(head, now, paused=Paused(now, until), wake_at=None)


def resumed(head: Head, now: int, *, deadlines: str) -> Head:
    """Go on: deadlines move by the pause's length (`shift`) or stay (`keep`), in the same write."""
    assert head.paused is not None
    by = max(0, now - head.paused.since) if deadlines == "shift" else 0
    wake_at = None if head.attention is not None else now
    deadline_at = None if head.deadline_at is None else head.deadline_at + by
    return _next(
        head,
        now,
        paused=None,
        frontier=head.shifted(by),
        deadline_at=deadline_at,
        shifted_by=head.shifted_by + by,
        wake_at=wake_at,
    )


def terminated(head: Head, now: int) -> Head:
    """End now: pause and attention are cleared, else cleanup could never claim; open rows are closed in pages."""
    closing = dict(head.closing)
    for key, token in head.frontier.items():
        if token.status in (TokenStatus.WAITING, TokenStatus.ATTENTION, TokenStatus.BACKOFF):
            closing[key] = f"terminated|{token.match}"
    if head.cascades:
        closing[NOT_AWAITED] = "terminated|"
    return _next(
        head,
        now,
        outcome="terminated",
        ended_at=max(now, head.recorded_at),
        paused=None,
        attention=None,
        attention_at=None,
        frontier={},
        latest={},
        buffered=(),
        closing=closing,
        wake_at=now if closing else None,
    )


def _next(head: Head, now: int, **changes: Any) -> Head:
    return replace(
        head,
        revision=head.revision + 1,
        recorded_at=max(now, head.recorded_at),
        latest_elsewhere=False,
        **changes,
    )
