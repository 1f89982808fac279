"""One decision of a burst: a pure function of the head, of what is known, and of the instant.

    decide(head, graph, knowledge, now) -> Plan     (or raises Missing: read that, and decide again)

The order is the protocol's (section 3): the inbox before any deadline, then the graph as far as it goes. A plan can
be committed at any time: tokens whose calls or subscriptions are still to come simply stay ready.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from casegraph.domain.burst.closing import close_page
from casegraph.domain.burst.deadlines import fire_deadlines, move_due_times, next_instant
from casegraph.domain.burst.draft import Draft
from casegraph.domain.burst.inbox import take_in
from casegraph.domain.burst.knowledge import Knowledge, PendingCall, PendingSubscription
from casegraph.domain.burst.walk import record_results, walk
from casegraph.domain.child import NewChild
from casegraph.domain.head import Head
from casegraph.domain.segment import Segment, delta_between
from casegraph.domain.signal import Pointer
from casegraph.domain.token import TokenStatus
from casegraph.domain.writes import Write
from casegraph.limits import MAX_IDLE_COMMITS

if TYPE_CHECKING:
    from casegraph.domain.graph.compiled import CompiledGraph


@dataclass(frozen=True)
class Plan:
    """What a burst would commit now, and what it would rather do first.

    head: the head afterwards, lease and chain not yet set; segment: without commit id and previous hash;
    writes: rows that go with it; blobs: payloads to store before it; calls, subscriptions: to be done before the
    tokens that need them can go on; effects: `(step#n, due at)` to hint to the dispatcher after the commit;
    children: runs that start with it; output: what a run that ends here gives.
    """

    head: Head
    segment: Segment
    writes: tuple[Write, ...]
    blobs: dict[str, bytes]
    calls: tuple[PendingCall, ...]
    subscriptions: tuple[PendingSubscription, ...]
    effects: tuple[tuple[str, int], ...]
    changes_nothing: bool
    children: tuple[NewChild, ...] = ()
    output: Any = None

    @property
    def more_to_do(self) -> bool:
        """Whether the run is due again at once after this commit."""
        return self.head.wake_at is not None and self.head.wake_at <= self.segment.recorded_at


def decide(
    head: Head, graph: CompiledGraph, knowledge: Knowledge, now: int, *, results_only: bool = False
) -> Plan:
    """Decide what a claimed, non-terminal run does at `now` (epoch ms). Raises `Missing`.

    results_only: keep the answers of calls already made and start nothing, as for a run that was stopped meanwhile.
    """
    draft = Draft.of(head, graph, now)
    if head.stopped or results_only:
        record_results(draft, knowledge)
    else:
        close_page(draft, knowledge)
        _advance(draft, knowledge)
    return _plan(draft, "burst")


def _advance(draft: Draft, knowledge: Knowledge) -> None:
    """The protocol's order: the inbox before any deadline, the run's own before those of its waits, then the graph."""
    move_due_times(draft, knowledge)
    take_in(draft, knowledge)
    if any(_counts(text, draft.now) for text in draft.inbox):
        return  # the commit is full: the next one takes the rest in before any deadline
    deadline_at = draft.base.deadline_at
    if draft.outcome is None and deadline_at is not None and deadline_at <= draft.now:
        draft.end("timed_out", "run_deadline")
        return
    fire_deadlines(draft, knowledge)
    walk(draft, knowledge)
    if draft.outcome is None and not draft.frontier:
        draft.end("succeeded")


def _counts(pointer: str, now: int) -> bool:
    effective_at = Pointer.parse(pointer).effective_at
    return effective_at is None or effective_at <= now


def _plan(draft: Draft, kind: str) -> Plan:
    base = draft.base
    draft.prune_latest()
    recorded_at = max(draft.now, base.recorded_at)
    wake_at = _wake_at(draft, recorded_at)
    head = _idle_counted(draft, draft.next_head(wake_at, recorded_at))
    delta = delta_between(base, head)
    segment = Segment(
        run_id=base.run_id,
        revision=head.revision,
        kind=kind,
        recorded_at=recorded_at,
        commit_id="",
        previous=base.chain,
        steps=tuple(draft.steps),
        opened=tuple(draft.opened),
        taken=tuple(draft.taken),
        delta=delta,
    )
    quiet = not (draft.steps or draft.opened or draft.taken or draft.writes)
    return Plan(
        head=head,
        segment=segment,
        writes=tuple(draft.writes),
        blobs=draft.blobs,
        calls=tuple(draft.calls),
        subscriptions=tuple(draft.subscriptions),
        effects=tuple(draft.effects_due),
        children=tuple(draft.children),
        output=draft.output if head.outcome == "succeeded" else None,
        changes_nothing=quiet and not _changed(draft) and head.attention == base.attention,
    )


def _changed(draft: Draft) -> bool:
    base = draft.base
    return (
        draft.frontier != dict(base.frontier)
        or draft.closing != dict(base.closing)
        or draft.shifted_by != base.shifted_by
        or tuple(draft.inbox) != base.inbox
        or draft.outcome != base.outcome
    )


def _idle_counted(draft: Draft, head: Head) -> Head:
    """Three burst commits in a row without progress ask for help (protocol.md 3)."""
    if draft.base.stopped or head.terminal:
        return head
    later = head.wake_at is None or head.wake_at > draft.now
    moves = _changed(draft) or draft.shifted_by  # due times are moved in pages
    idle = 0 if moves or later else draft.base.idle_commits + 1
    if idle >= MAX_IDLE_COMMITS and head.attention is None:
        return replace(
            head, idle_commits=idle, attention="no_progress", attention_at=head.recorded_at, wake_at=None
        )
    return replace(head, idle_commits=idle)


def _wake_at(draft: Draft, now: int) -> int | None:
    """Now, the earliest instant, or none."""
    if draft.outcome is not None:
        return now if draft.closing else None
    if draft.base.paused is not None or draft.attention is not None:
        return None
    ready = any(t.status is TokenStatus.READY for t in draft.frontier.values())
    signals = any(_counts(text, draft.now) for text in draft.inbox)
    if ready or signals or draft.closing or draft.shifted_by:
        return now
    return next_instant(draft)
