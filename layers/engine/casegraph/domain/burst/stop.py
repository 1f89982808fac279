"""Stopping a whole run: attention that no graph is needed for (protocol.md 6)."""

from __future__ import annotations

from dataclasses import replace

from casegraph.domain.burst.decide import Plan
from casegraph.domain.head import Head
from casegraph.domain.segment import Segment, delta_between


def stop_plan(head: Head, code: str, now: int) -> Plan:
    """The plan that puts the run in attention `code` (definition_changed, payload_missing, ...)."""
    recorded_at = max(now, head.recorded_at)
    stopped = replace(
        head,
        revision=head.revision + 1,
        attention=code,
        attention_at=head.attention_at or recorded_at,
        wake_at=None,
        recorded_at=recorded_at,
    )
    segment = Segment(
        run_id=head.run_id,
        revision=stopped.revision,
        kind="burst",
        recorded_at=recorded_at,
        commit_id="",
        previous=head.chain,
        delta=delta_between(head, stopped),
    )
    return Plan(stopped, segment, (), {}, (), (), (), changes_nothing=False)
