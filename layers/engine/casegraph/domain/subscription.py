"""Subscriptions: rows by which an event that names no run finds the wait for it (architecture.md 10, `/events`).

A subscription is written before its wait opens and parked events are looked for after that, so that an event and a
wait that come at the same instant cannot miss each other. One left over is harmless: it leads to a run that buffers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from casegraph.domain.head import run_pk
from casegraph.domain.writes import Absent, AnyOf, Compare, Delete, Item, Key, Rule, Table

if TYPE_CHECKING:
    from casegraph.domain.burst.visit import Visit


def correlation_pk(event_type: str, match: str) -> str:
    """Partition of everything about one event type and correlation key."""
    return f"WAIT#{event_type}#{match}"


def subscription_item(event_type: str, match: str, run_id: str, step: str, opened_at: int) -> Item:
    """The row of one wait; reads in order of opening (`sk` starts with the instant)."""
    return {
        "pk": correlation_pk(event_type, match),
        "sk": subscription_sk(run_id, step),
        "run_id": run_id,
        "step": step,
        "opened_at": opened_at,
    }


def subscription_sk(run_id: str, step: str) -> str:
    """Sort key of a wait's row."""
    return f"{run_pk(run_id)}#{step}"


def removals(visit: Visit) -> list[Delete]:
    """The deletes that go with the commit which ends a subscribed wait."""
    if not visit.token.match:
        return []
    types: tuple[str, ...] = getattr(visit.node.config, "event_types", ())
    return [removal(t, visit.token.match, visit.run_id, visit.step_id) for t in types]


def removal(event_type: str, match: str, run_id: str, step: str) -> Delete:
    """Remove one wait's row, if it is this run's or already gone."""
    own = Rule(
        "own_subscription",
        AnyOf((Absent(("pk",)), Compare(("run_id",), "=", run_id))),
        "a run removes only its own subscriptions",
    )
    key = Key(Table.CORRELATIONS, correlation_pk(event_type, match), subscription_sk(run_id, step))
    return Delete(key, (own,))
