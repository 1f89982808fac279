"""What a run's commit writes into other runs: the children that it starts, and its end in its parent's partition.

A child starts in the same transaction as the step that starts it; its terminal write carries the change of its row and,
while a token of the parent may wait for it, the signal to the parent (protocol.md 6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from casegraph.application import hints, payloads
from casegraph.application.context import Ports
from casegraph.application.heads import head_of
from casegraph.application.persistence import patiently
from casegraph.application.signals import append_update
from casegraph.application.start_run import NewRun, Parent, start_writes
from casegraph.domain import child
from casegraph.domain.burst.decide import Plan
from casegraph.domain.head import Head, head_key, row_key
from casegraph.domain.signal import CHILD, Pointer
from casegraph.domain.writes import Write


@dataclass(frozen=True, slots=True)
class Linked:
    """writes: for the transaction; due: runs to hint to the executor after it."""

    writes: tuple[Write, ...] = ()
    due: tuple[str, ...] = ()


def of_plan(ports: Ports, base: Head, plan: Plan) -> Linked:
    """What goes with a burst's commit; the parent is read anew each time, so that a rebuild sees it as it is."""
    end = of_end(ports, base, plan.head, plan.output)
    starts = [write for new in plan.children for write in start_writes(ports, _run_of(base, new))]
    return Linked((*starts, *end.writes), (*(new.run_id for new in plan.children), *end.due))


def _run_of(base: Head, new: child.NewChild) -> NewRun:
    return NewRun(
        run_id=new.run_id,
        workflow_key=new.workflow_key,
        version=new.version,
        digest=new.digest,
        authority=new.authority,
        input=new.input,
        started_by=new.started_by,
        report=new.report,
        report_id=base.report_id,
        queue_id=base.queue_id,
        origin={"kind": "linked", "run_id": base.run_id, "step": new.step},
        parent=Parent(base.run_id, new.step, base.root_run_id or base.run_id, base.depth + 1),
    )


def of_end(ports: Ports, before: Head, after: Head, output: Any = None) -> Linked:
    """What goes with a write that ends a child run; nothing for other writes and other runs.

    A child that nobody awaits sends no signal: open tokens bound the inbox, and it has none. A parent that is terminal,
    or whose rows are purged already, gets none either.
    """
    if before.terminal or not after.terminal or after.parent_run_id is None or after.parent_step is None:
        return Linked()
    parent_key = head_key(after.parent_run_id)
    key = row_key(after.parent_run_id, child.child_sk(after.parent_step))
    found = patiently(ports, lambda: ports.store.batch_get([parent_key, key]))
    row, parent_item = found.get(key), found.get(parent_key)
    if row is None or parent_item is None:
        return Linked()
    stored = payloads.stored(ports, after.parent_run_id, "output", output)
    ended = child.ended(after, stored)
    parent = head_of(ports, parent_item)
    if parent.terminal or not row["awaited"]:
        return Linked((ended,))
    update = append_update(ports, parent, Pointer(CHILD, after.parent_step))
    return Linked((ended, update), () if parent.stopped else (parent.run_id,))


def wake(ports: Ports, linked: Linked) -> None:
    """Hint to the executor, after the commit."""
    for run_id in linked.due:
        hints.run_due(ports, run_id, ports.clock.now())
