"""Child runs: started by a node of another run, in that run's commit (architecture.md 6.1, start_linked_workflow).

A child's row in its parent's partition (`CHILD#<step>`) is its own truth: `running`, then `ended` with the outcome and
the output, written by the child's own terminal commit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from casegraph.domain import rules
from casegraph.domain.head import Head, row_key
from casegraph.domain.ids import derived_id
from casegraph.domain.writes import Item, Path, Put, Update

CHILD_PREFIX = "CHILD#"
RUNNING, ENDED = "running", "ended"
CANCEL, DETACH = "cancel", "detach"
# In `closing`: the children that no token waits for, of a run that ended otherwise than well.
NOT_AWAITED = "*"

_AUTHORITIES = ("off", "shadow", "assist", "bounded_auto")


@dataclass(frozen=True, slots=True)
class NewChild:
    """A run to start with the parent's commit. `report` is the parent's, a JSON value or None."""

    run_id: str
    step: str
    workflow_key: str
    version: int
    digest: str
    authority: str
    input: Any
    report: Any
    started_by: str


def child_sk(step: str) -> str:
    """Sort key of the row of the child that a step started."""
    return CHILD_PREFIX + step


def child_run_id(parent_run_id: str, step: str) -> str:
    """The id of the child of a step (protocol.md 1)."""
    return derived_id("run", parent_run_id, step)


def lower_authority(one: str, other: str) -> str:
    """The lesser of two authorities (invariant 14)."""
    return min(one, other, key=_AUTHORITIES.index)


def opened(head: Head, child: NewChild, cascade: str, *, awaited: bool, now: int) -> Put:
    """The row of a new child."""
    key = row_key(head.run_id, child_sk(child.step))
    item: Item = {
        "pk": key.pk,
        "sk": key.sk,
        "run_id": head.run_id,
        "step_id": child.step,
        "child_run_id": child.run_id,
        "workflow_key": child.workflow_key,
        "version": child.version,
        "state": RUNNING,
        "cascade": cascade,
        "awaited": awaited,
        "created_at": now,
    }
    return Put(key, item, (rules.NEW_ITEM,))


def ended(child: Head, output: Item) -> Update:
    """The change of a child's row that goes with its terminal write. output: the stored form of what it gave."""
    assert child.parent_run_id is not None
    assert child.parent_step is not None
    values: dict[Path, Any] = {
        ("state",): ENDED,
        ("outcome",): child.outcome,
        ("ended_at",): child.ended_at,
        **{(name,): value for name, value in output.items()},
    }
    if child.error_code is not None:
        values[("error_code",)] = child.error_code
    key = row_key(child.parent_run_id, child_sk(child.parent_step))
    return Update(key, (rules.ITEM_EXISTS, rules.row_state_in(RUNNING)), set=values)
