"""Lease bookkeeping: claim and release (protocol.md 3). Neither revision nor segment."""

from __future__ import annotations

from dataclasses import dataclass, replace

from casegraph.application.context import Ports
from casegraph.application.heads import head_of
from casegraph.application.persistence import patiently
from casegraph.domain import rules
from casegraph.domain.head import Head, due_class, from_item, head_key
from casegraph.domain.writes import Item, Path, Update
from casegraph.errors import ConditionsFailed
from casegraph.limits import (
    CLOCK_SKEW_MILLISECONDS,
    MAX_SIGNAL_TRIES,
    PENALTY_STEP_MILLISECONDS,
    RELEASE_BACKOFF_MILLISECONDS,
)


@dataclass(frozen=True, slots=True)
class Refused:
    """No claim: the head as it was then, or None when there is no such run."""

    head: Head | None


def claim(ports: Ports, run_id: str, invocation_ends_at: int) -> Head | Refused:
    """Claim a due run: one conditional update that returns the head.

    The claimant recognises itself by claim id when its reply was lost and the resend is refused (S28). The indexed
    key is not touched: a crashed run stays due, and the ordinary sweep finds it.
    """
    claim_id = ports.ids.new()
    update = claim_update(run_id, claim_id, ports.clock.now(), invocation_ends_at)
    try:
        item = patiently(ports, lambda: ports.store.write(update))
    except ConditionsFailed as failed:
        old = failed.failures[0].old_item
        if old is not None and old.get("claim_id") == claim_id:
            return head_of(ports, old)
        return Refused(from_item(old) if old is not None else None)
    assert item is not None, "an update returns the item"
    return head_of(ports, item)


def claim_update(run_id: str, claim_id: str, now: int, invocation_ends_at: int) -> Update:
    """The claim as one conditional update."""
    return Update(
        head_key(run_id),
        (
            rules.due(now),
            rules.NOT_PAUSED,
            rules.NOT_IN_RUN_ATTENTION,
            rules.CLAIMABLE_OUTCOME,
            rules.lease_free(now),
        ),
        set={("claim_id",): claim_id},
        add={("generation",): 1, ("attempts",): 1, ("penalty",): PENALTY_STEP_MILLISECONDS},
        sum={("lease_until",): (("penalty",), invocation_ends_at + CLOCK_SKEW_MILLISECONDS)},
    )


@dataclass(frozen=True, slots=True)
class Changed:
    """A release that was refused because the head is no longer what was read."""

    item: Item


def release(ports: Ports, head: Head, wake_at: int | None) -> Changed | None:
    """Give the lease up in order: attempts and penalty start anew. None: released, or the lease was lost anyway.

    Conditional like a commit; if revision, inbox or outcome changed the caller rebuilds on what it is told.
    """
    values: dict[Path, object] = {("attempts",): 0, ("penalty",): 0}
    return _release(ports, head, wake_at, values)


def release_after_error(ports: Ports, head: Head) -> None:
    """Give the lease up after an unexpected error: attempts and penalty are kept, the next try backs off.

    A signal or an operator's write that came in between does not keep the lease: nothing of this burst is written.
    """
    first, last = RELEASE_BACKOFF_MILLISECONDS
    wait = min(last, first * 2 ** max(0, head.attempts - 1))
    for _ in range(MAX_SIGNAL_TRIES):
        changed = _release(ports, head, ports.clock.now() + wait, {})
        if changed is None:
            return
        head = head_of(ports, changed.item)


def _release(ports: Ports, head: Head, wake_at: int | None, values: dict[Path, object]) -> Changed | None:
    if head.stopped and not head.terminal:
        wake_at = None
    pk, at = due_class(replace(head, wake_at=wake_at))
    values[("due_pk",)], values[("due_at",)] = pk, at
    remove: list[Path] = [("claim_id",), ("lease_until",)]
    if wake_at is None:
        remove.append(("wake_at",))
    else:
        values[("wake_at",)] = wake_at
    update = Update(
        head_key(head.run_id),
        (
            rules.same_generation(head),
            rules.same_claim(head),
            rules.same_revision(head),
            rules.same_inbox(head),
            rules.same_terminality(head),
        ),
        set=values,
        remove=tuple(remove),
    )
    try:
        patiently(ports, lambda: ports.store.write(update))
    except ConditionsFailed as failed:
        old = failed.failures[0].old_item
        if old is None or old["generation"] != head.generation or old.get("claim_id") != head.claim_id:
            return None
        return Changed(old)
    return None
