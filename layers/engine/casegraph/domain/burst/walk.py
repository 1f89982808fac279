"""The walk: as far as the graph goes without leaving the invocation; pure nodes are fused (protocol.md 3)."""

from __future__ import annotations

from dataclasses import replace

from casegraph.domain.burst.draft import Draft
from casegraph.domain.burst.inbox import listens
from casegraph.domain.burst.joins import settle_joins
from casegraph.domain.burst.knowledge import CallResult, Knowledge
from casegraph.domain.burst.settle import apply_action
from casegraph.domain.burst.visit import Visit, row
from casegraph.domain.nodes.actions import Action, Failed, Wait
from casegraph.domain.place import parse_key
from casegraph.domain.signal import EventReceived, Pointer
from casegraph.domain.token import TokenStatus
from casegraph.errors import NodeFailed


def walk(draft: Draft, knowledge: Knowledge) -> None:
    """Enter ready tokens until each waits, stands at a join, needs a call, or the commit is full."""
    blocked: set[str] = set()
    while draft.outcome is None:
        key = _next_ready(draft, blocked)
        if key is None:
            if not settle_joins(draft, knowledge):
                return
            continue
        if not draft.has_room:
            return
        place, token = parse_key(key), draft.frontier[key]
        _step(Visit(draft, knowledge, place, token))
        if draft.frontier.get(key) is token:
            blocked.add(key)  # a call or a subscription has to come first
        settle_joins(draft, knowledge)


def record_results(draft: Draft, knowledge: Knowledge) -> None:
    """For a run that was stopped meanwhile: keep the answers of calls already made, start nothing new."""
    for key, place, token in draft.tokens(TokenStatus.READY):
        result = knowledge.results.get((key, token.attempt + 1))
        if result is not None:
            _answer(Visit(draft, knowledge, place, token), result)


def _next_ready(draft: Draft, blocked: set[str]) -> str | None:
    return min(
        (k for k, t in draft.frontier.items() if t.status is TokenStatus.READY and k not in blocked),
        default=None,
    )


def _step(visit: Visit) -> None:
    result = visit.knowledge.results.get((visit.place.key, visit.token.attempt + 1))
    if result is not None:
        _answer(visit, result)
    elif visit.place.occurrence > visit.node.node.max_visits:
        apply_action(visit, Failed("max_visits_exceeded"))
    else:
        _open_or_take(visit, _enter(visit))


def _enter(visit: Visit) -> Action:
    try:
        return visit.node.kind.enter(visit)
    except NodeFailed as failure:
        return Failed(failure.code, failure.retryable)


def _answer(visit: Visit, result: CallResult) -> None:
    token = replace(visit.token, attempt=visit.token.attempt + 1)
    visit.draft.frontier[visit.place.key] = token
    answered = replace(visit, token=token)
    if result.code:
        apply_action(answered, Failed(result.code, result.retryable, result.jitter))
    else:
        apply_action(answered, _resumed(answered, result))


def _resumed(visit: Visit, result: CallResult) -> Action:
    try:
        return visit.node.kind.resume(visit, result)
    except NodeFailed as failure:
        return Failed(failure.code, failure.retryable, result.jitter)


def _open_or_take(visit: Visit, action: Action) -> None:
    """A wait that opens looks at the buffered events first, in the same commit (protocol.md 3).

    One that takes an event at once never opens: a subscription written for it before must not outlive it, or events
    by key would still be led to this run.
    """
    taken = _buffered_for(visit, action) if isinstance(action, Wait) and action.what == "event" else None
    if taken is None or not isinstance(action, Wait):
        apply_action(visit, action)
        return
    visit.draft.buffered.remove(taken)
    event = row(visit.knowledge, f"EVENT#{Pointer.parse(taken).ref}") or {}
    heard = replace(visit, token=replace(visit.token, match=action.match))
    apply_action(heard, visit.node.kind.resume(heard, EventReceived(event)))


def _buffered_for(visit: Visit, action: Wait) -> str | None:
    draft = visit.draft
    for text in draft.buffered:
        if listens(draft, visit.place.node, action.match, Pointer.parse(text)):
            row(visit.knowledge, f"EVENT#{Pointer.parse(text).ref}")
            return text
    return None
