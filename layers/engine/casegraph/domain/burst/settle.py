"""Carrying out what a node decided: tokens move, steps are recorded, rows and calls are asked for."""

from __future__ import annotations

from typing import Any

from casegraph.domain import subscription
from casegraph.domain.burst.knowledge import PendingCall, PendingSubscription
from casegraph.domain.burst.visit import Visit
from casegraph.domain.canonical import canonical_bytes
from casegraph.domain.head import row_key
from casegraph.domain.nodes.actions import (
    Action,
    Arrive,
    AskAgain,
    CallComponent,
    Done,
    EndBranch,
    Failed,
    Fork,
    NeedsAttention,
    StayWaiting,
    Wait,
)
from casegraph.domain.place import Branch, Level
from casegraph.domain.rules import NEW_ITEM
from casegraph.domain.token import Token, TokenStatus
from casegraph.domain.writes import Put
from casegraph.limits import BODY_MAX_BYTES, MAX_BRANCH_DEPTH, STEP_ID_MAX_BYTES


def apply_action(visit: Visit, action: Action) -> None:
    """Carry out one action of the node that `visit` is at."""
    match action:
        case Done():
            _finish(visit, action)
        case Failed():
            _fail(visit, action)
        case Wait():
            _wait(visit, action)
        case CallComponent():
            _call(visit, action)
        case AskAgain():
            waiting = Token(TokenStatus.BACKOFF, action.at, visit.token.attempt)
            visit.draft.change(visit.place.key, waiting)
        case Fork():
            _fork(visit, action)
        case Arrive():
            _arrive(visit)
        case EndBranch():
            _end_branch(visit, action)
        case NeedsAttention():
            _attention(visit, action.code)
        case StayWaiting():
            pass


def _finish(visit: Visit, action: Done) -> None:
    draft, place = visit.draft, visit.place
    if action.output is not None and len(canonical_bytes(action.output)) > BODY_MAX_BYTES:
        _fail(visit, Failed("payload_too_large"))
        return
    del draft.frontier[place.key]
    draft.writes.extend(action.writes)
    if action.child is not None:
        draft.children.append(action.child)
        draft.cascades = draft.cascades or action.cascades
    if action.closes:
        draft.closing[place.key] = f"{action.status}|"
    draft.writes.extend(subscription.removals(visit))
    attempts = max(visit.token.attempt, 1)
    draft.record(place, action.status, action.port, action.output, attempts=attempts, code=action.code)
    move(visit, place.branch, action.port)


def move(visit: Visit, branch: Branch, port: str) -> None:
    """Put a ready token where the edge of this port leads."""
    target = visit.draft.graph.successor(visit.place.node, port)
    if target is None:
        visit.draft.frontier[visit.place.key] = Token(TokenStatus.ATTENTION, code="node_failed")
        return
    visit.draft.arrive(branch, target)


def _fail(visit: Visit, action: Failed) -> None:
    """The node's retry policy first, then its error port, then what the graph says of unhandled errors."""
    draft, place, attempts = visit.draft, visit.place, max(visit.token.attempt, 1)
    policy = visit.node.node.retry
    allowed = policy is not None and (not policy.retry_on or action.code in policy.retry_on)
    if action.retryable and allowed and policy is not None and attempts < policy.max_attempts:
        ceiling = min(
            policy.max_backoff_seconds, policy.initial_backoff_seconds * policy.multiplier ** (attempts - 1)
        )
        wait = round(ceiling * 1000 * action.jitter)
        draft.change(place.key, Token(TokenStatus.BACKOFF, draft.now + wait, attempts))
        return
    if draft.graph.successor(place.node, "error") is not None:
        output = {"error": {"code": action.code, "attempts": attempts}}
        _finish(visit, Done("error", output, "failed", action.code))
    elif draft.graph.document.on_unhandled == "fail":
        draft.record(place, "failed", None, None, attempts=attempts, code=action.code)
        del draft.frontier[place.key]
        draft.end("failed", action.code)
    else:
        draft.record(place, "failed", None, None, attempts=attempts, code=action.code)
        _attention(visit, "node_failed")


def _attention(visit: Visit, code: str) -> None:
    token = Token(TokenStatus.ATTENTION, attempt=visit.token.attempt, match=visit.token.match, code=code)
    if visit.token.status is TokenStatus.ATTENTION:
        visit.draft.frontier[visit.place.key] = token
    else:
        visit.draft.change(visit.place.key, token)


def _wait(visit: Visit, action: Wait) -> None:
    draft, key = visit.draft, visit.place.key
    if action.subscription is not None and key not in visit.knowledge.subscribed:
        draft.subscriptions.append(PendingSubscription(key, visit.step_id, action.subscription))
        return
    draft.change(key, Token(TokenStatus.WAITING, action.deadline_at, visit.token.attempt, action.match))
    draft.writes.extend(action.writes)
    if action.child is not None:
        draft.children.append(action.child)
    for new in action.rows:
        address = row_key(visit.run_id, new.sk)
        draft.writes.append(Put(address, {"pk": address.pk, "sk": address.sk, **new.item}, (NEW_ITEM,)))
        if new.sk.startswith("EFFECT#"):
            draft.effects_due.append((new.sk.removeprefix("EFFECT#"), draft.now))
    opened = {"step": visit.step_id, "wait": action.what, **action.detail}
    if action.deadline_at is not None:
        opened["deadline_at"] = action.deadline_at
    draft.opened.append(opened)


def _call(visit: Visit, action: CallComponent) -> None:
    visit.draft.calls.append(
        PendingCall(
            token_key=visit.place.key,
            attempt=visit.token.attempt + 1,
            step_id=visit.step_id,
            component_id=action.component_id,
            input=action.input,
            timeout_seconds=action.timeout_seconds,
            costly=action.costly,
        )
    )


def _fork(visit: Visit, action: Fork) -> None:
    draft, place = visit.draft, visit.place
    if len(place.branch) >= MAX_BRANCH_DEPTH or len(visit.step_id) * 2 > STEP_ID_MAX_BYTES:
        _fail(visit, Failed("branch_path_too_deep"))
        return
    del draft.frontier[place.key]
    draft.record(place, "succeeded", None, None)
    for index, port in enumerate(action.ports):
        move(visit, (*place.branch, Level(place.node, place.occurrence, index)), port)


def _arrive(visit: Visit) -> None:
    if not visit.place.branch:
        _fail(visit, Failed("join_outside_fork"))
        return
    visit.draft.change(visit.place.key, Token(TokenStatus.ARRIVED))


def _end_branch(visit: Visit, action: EndBranch) -> None:
    draft, place = visit.draft, visit.place
    output: dict[str, Any] = {"terminal_code": action.terminal_code}
    if action.output is not None:
        output["output"] = dict(action.output)
        if len(canonical_bytes(output)) > BODY_MAX_BYTES:
            _fail(visit, Failed("payload_too_large"))
            return
    del draft.frontier[place.key]
    draft.record(place, "succeeded", "terminal", output)
    draft.output = output.get("output")
    if action.terminate:
        draft.end("succeeded")
