"""Deadlines: looked at only after the inbox was taken in (protocol.md 3, 6)."""

from __future__ import annotations

from dataclasses import replace

from casegraph.domain import task
from casegraph.domain.burst.draft import Draft
from casegraph.domain.burst.inbox import resume
from casegraph.domain.burst.knowledge import Knowledge
from casegraph.domain.burst.visit import Visit, row
from casegraph.domain.head import row_key
from casegraph.domain.place import step_id
from casegraph.domain.signal import TASK, Pointer, TimedOut
from casegraph.domain.token import TokenStatus


def fire_deadlines(draft: Draft, knowledge: Knowledge) -> None:
    """End every backoff and every wait whose instant has come, earliest first."""
    due = [
        (token.deadline_at, key, place)
        for key, place, token in draft.tokens(TokenStatus.WAITING, TokenStatus.BACKOFF)
        if token.deadline_at is not None and token.deadline_at <= draft.now
    ]
    decided_later = _decided_later(draft)
    for _, key, place in sorted(due, key=lambda entry: (entry[0], entry[1])):
        token = draft.frontier.get(key)
        if token is None or not draft.has_room:
            continue
        if token.status is TokenStatus.BACKOFF:
            draft.change(key, replace(token, status=TokenStatus.READY, deadline_at=None))
        elif token.status is TokenStatus.WAITING and step_id(place, draft.graph) not in decided_later:
            resume(Visit(draft, knowledge, place, token), TimedOut())


def move_due_times(draft: Draft, knowledge: Knowledge) -> None:
    """After a pause that shifted the deadlines: the open tasks' own due times follow (protocol.md 6).

    A row that was moved already has its token's deadline, so that more tasks than fit in one commit are moved in pages.
    """
    if not draft.shifted_by:
        return
    for _, place, token in draft.tokens(TokenStatus.WAITING):
        deadline_at = token.deadline_at
        if deadline_at is None or deadline_at <= draft.now:
            continue
        if draft.graph.nodes[place.node].kind.name != "human_task":
            continue
        if not draft.has_room:
            return
        sk = task.task_sk(step_id(place, draft.graph))
        item = row(knowledge, sk)
        if task.is_open(item) and item["timeout_at"] != deadline_at:
            draft.writes.append(task.reschedule(row_key(draft.base.run_id, sk), item, deadline_at))
    draft.shifted_by = 0


def _decided_later(draft: Draft) -> frozenset[str]:
    """Steps whose completion stands in the inbox with a later `effective_at` (undo): they do not time out."""
    pointers = [Pointer.parse(text) for text in draft.inbox]
    return frozenset(p.ref for p in pointers if p.kind == TASK and p.effective_at is not None)


def next_instant(draft: Draft) -> int | None:
    """The earliest instant at which something fires by itself, or None."""
    later = _decided_later(draft)
    instants = [
        token.deadline_at
        for _, place, token in draft.tokens(TokenStatus.WAITING, TokenStatus.BACKOFF)
        if token.deadline_at is not None and step_id(place, draft.graph) not in later
    ]
    instants += [p.effective_at for p in map(Pointer.parse, draft.inbox) if p.effective_at is not None]
    if draft.base.deadline_at is not None:
        instants.append(draft.base.deadline_at)
    return min(instants, default=None)
