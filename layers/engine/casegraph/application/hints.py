"""Jobs as hints: sent after a commit, best effort, counted on failure (protocol.md 4)."""

from __future__ import annotations

from typing import Any

from casegraph.application.context import Ports
from casegraph.errors import CasegraphError
from casegraph.limits import JOB_MAX_DELAY_MILLISECONDS


def run_due(ports: Ports, run_id: str, due_at: int) -> None:
    """Tell the executor that a run falls due at `due_at` (epoch ms), if that is within 15 minutes."""
    _send(ports, {"type": "advance_run", "run_id": run_id}, due_at)


def effect_due(ports: Ports, run_id: str, ref: str, due_at: int) -> None:
    """Tell the dispatcher that an effect (`<step>#<n>`) falls due at `due_at`, if that is within 15 minutes."""
    _send(ports, {"type": "deliver_effect", "run_id": run_id, "effect_id": ref}, due_at)


def _send(ports: Ports, job: dict[str, Any], due_at: int) -> None:
    wait = max(0, due_at - ports.clock.now())
    if wait > JOB_MAX_DELAY_MILLISECONDS:
        return  # the sweeper sends it when it falls due
    body = {"version": 1, "job_id": ports.ids.new(), **job}
    try:
        ports.jobs.send(body, delay_seconds=-(-wait // 1000))
    except CasegraphError:
        ports.journal.count("job_send_failed")
