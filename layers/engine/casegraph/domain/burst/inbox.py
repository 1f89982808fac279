"""Taking in the inbox: in order, before any deadline is looked at (protocol.md 3)."""

from __future__ import annotations

from casegraph.domain.burst.draft import Draft
from casegraph.domain.burst.knowledge import Knowledge
from casegraph.domain.burst.settle import apply_action
from casegraph.domain.burst.visit import Visit, row
from casegraph.domain.nodes.actions import Failed
from casegraph.domain.place import parse_key, parse_step_id
from casegraph.domain.signal import (
    CHILD,
    EFFECT,
    EVENT,
    REPORTS,
    TASK,
    ChildEnded,
    EffectSettled,
    EventReceived,
    Pointer,
    Resumption,
    TaskDecided,
)
from casegraph.domain.token import Token, TokenStatus
from casegraph.errors import NodeFailed


def take_in(draft: Draft, knowledge: Knowledge) -> None:
    """Take in every pointer whose time has come, oldest first; those of later effect stay where they are."""
    kept: list[str] = []
    waiting = list(draft.inbox)
    for index, text in enumerate(waiting):
        pointer = Pointer.parse(text)
        if pointer.effective_at is not None and pointer.effective_at > draft.now:
            kept.append(text)
            continue
        if not draft.has_room:
            kept.extend(waiting[index:])
            break
        _take(draft, knowledge, pointer)
        draft.taken.append(text)
    draft.inbox = kept


def _take(draft: Draft, knowledge: Knowledge, pointer: Pointer) -> None:
    if pointer.kind == EVENT:
        _take_event(draft, knowledge, pointer)
    elif pointer.kind == REPORTS:
        draft.merge_epoch = int(pointer.ref)
        draft.merged_reports = True
    elif pointer.kind == TASK:
        resume_step(draft, knowledge, pointer.ref, TaskDecided(row(knowledge, f"TASK#{pointer.ref}") or {}))
    elif pointer.kind == CHILD:
        resume_step(draft, knowledge, pointer.ref, ChildEnded(row(knowledge, f"CHILD#{pointer.ref}") or {}))
    elif pointer.kind == EFFECT:
        step = pointer.ref.rpartition("#")[0]
        resume_step(draft, knowledge, step, EffectSettled(row(knowledge, f"EFFECT#{pointer.ref}") or {}))


def _take_event(draft: Draft, knowledge: Knowledge, pointer: Pointer) -> None:
    key = _listener(draft, pointer)
    if key is None:
        draft.buffered.append(pointer.encode())
        return
    place = parse_key(key)
    visit = Visit(draft, knowledge, place, draft.frontier[key])
    resume(visit, EventReceived(row(knowledge, f"EVENT#{pointer.ref}") or {}))


def _listener(draft: Draft, pointer: Pointer) -> str | None:
    """The wait that takes this event: the first, in a stable order, whose types and correlation key fit."""
    for key, place, token in draft.tokens(TokenStatus.WAITING):
        if listens(draft, place.node, token.match, pointer):
            return key
    return None


def listens(draft: Draft, node: int, match: str, pointer: Pointer) -> bool:
    """Whether an open wait at this node, under this correlation hash, takes this event.

    An event that was sent to the run itself and names no key fits any wait of its type."""
    compiled = draft.graph.nodes[node]
    types: tuple[str, ...] = getattr(compiled.config, "event_types", ())
    return pointer.event_type in types and (not match or pointer.match in ("", match))


def resume_step(draft: Draft, knowledge: Knowledge, step: str, signal: Resumption) -> None:
    """Resume the token of a step, if it still waits; else the signal is only recorded as taken."""
    place = parse_step_id(step, draft.graph)
    token = draft.frontier.get(place.key) if place else None
    if place is None or token is None or not _resumable(token):
        return
    resume(Visit(draft, knowledge, place, token), signal)


def _resumable(token: Token) -> bool:
    waiting = token.status is TokenStatus.WAITING
    unknown = token.status is TokenStatus.ATTENTION and token.code == "effect_ambiguous"
    return waiting or unknown


def resume(visit: Visit, signal: Resumption) -> None:
    """Let the node decide what the signal means, and carry that out."""
    try:
        action = visit.node.kind.resume(visit, signal)
    except NodeFailed as failure:
        action = Failed(failure.code)
    apply_action(visit, action)
