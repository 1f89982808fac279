"""Effects: the outbox's rows, their states, and what an attempt's outcome means (protocol.md 5).

    pending -> applying -> applied | rejected | ambiguous | cancelled,   applying -> pending

An attempt is counted before its call. Nothing unknown is ever called rejected, retried blindly or lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from casegraph.domain.canonical import digest
from casegraph.domain.head import shard_of
from casegraph.domain.ids import public_id
from casegraph.domain.nodes.actions import Row
from casegraph.domain.rules import row_state_in
from casegraph.domain.writes import AllOf, Compare, Item, Key, Rule, Update
from casegraph.limits import (
    CLOCK_SKEW_MILLISECONDS,
    EFFECT_BACKOFF_MILLISECONDS,
    EFFECT_CALL_TIMEOUT_SECONDS,
    MAX_EFFECT_ATTEMPTS,
    MAX_EFFECT_LOOKUPS,
)

# Allowed sources of each state.
EFFECT_SOURCES: dict[str, tuple[str, ...]] = {
    "applying": ("pending",),
    "pending": ("applying",),
    "applied": ("applying", "ambiguous"),
    "rejected": ("applying", "ambiguous"),
    "ambiguous": ("applying", "pending"),
    "cancelled": ("pending", "applying"),
}
SETTLED = ("applied", "rejected", "ambiguous", "cancelled")
_INDEX = (("due_pk",), ("due_at",))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of an effect: state, code, when it is looked at again, the counts that change, the kept answer."""

    state: str
    code: str = ""
    available_at: int | None = None
    unknown: int = 0
    refused: int = 0
    result: Mapping[str, Any] = field(default_factory=dict)


def effect_sk(step: str, number: int) -> str:
    """Sort key of a step's n-th effect."""
    return f"EFFECT#{step}#{number}"


def is_pending(item: Mapping[str, Any] | None) -> bool:
    """Whether no attempt is under way and none has settled it."""
    return item is not None and item["state"] == "pending"


def new_effect(
    *,
    run_id: str,
    step: str,
    token_key: str,
    connector_id: str,
    operation: str,
    recovery: str,
    payload: Mapping[str, Any],
    now: int,
    max_attempts: int = MAX_EFFECT_ATTEMPTS,
) -> Row:
    """The outbox row of a step's first effect, due at once. payload: the attributes that keep it (`Visit.kept`)."""
    item: Item = {
        "run_id": run_id,
        "step_id": step,
        "number": 1,
        "effect_id": public_id(run_id, step, 1),
        "token_key": token_key,
        "connector_id": connector_id,
        "operation": operation,
        "recovery": recovery,
        "state": "pending",
        "attempts": 0,
        "max_attempts": max_attempts,
        "unknown": 0,
        "refused": 0,
        **payload,
        "created_at": now,
        "available_at": now,
        "due_pk": f"e#{shard_of(run_id)}",
        "due_at": now,
    }
    return Row(effect_sk(step, 1), item)


def operation_key(item: Mapping[str, Any], root_run_id: str) -> str:
    """What the receiver may deduplicate by: root run, step path and occurrence, payload digest; with a number only
    after a definite refusal, else a cached refusal would be replayed (protocol.md 5)."""
    parts = [root_run_id, item["step_id"], item["number"], item["payload_digest"]]
    if item["refused"]:
        parts.append(item["refused"])
    return digest(parts).removeprefix("sha256:")[:40]


def start_attempt(key: Key, attempt_token: str, now: int, until: int, *also: Rule) -> Update:
    """Count an attempt before its call: `pending` and due -> `applying`, recoverable only after `until`.

    also: further rules, such as `attempts_as_read`.
    """
    due = Rule(
        "effect_due",
        Compare(("available_at",), "<=", now + CLOCK_SKEW_MILLISECONDS),
        "back-off is kept: an attempt starts only when the effect is due",
    )
    return Update(
        key,
        (row_state_in(*EFFECT_SOURCES["applying"]), due, *also),
        set={
            ("state",): "applying",
            ("attempt_token",): attempt_token,
            ("attempted_at",): now,
            ("attempt_until",): until,
            ("available_at",): until,
            ("due_at",): until,
        },
        add={("attempts",): 1},
    )


def attempt_fence(item: Mapping[str, Any]) -> Rule:
    """This very attempt."""
    return Rule(
        "same_attempt",
        AllOf(
            (
                Compare(("attempts",), "=", item["attempts"]),
                Compare(("attempt_token",), "=", item["attempt_token"]),
            )
        ),
        "settling is fenced by (effect, attempt, attempt token): a late answer settles its own attempt only",
    )


def settle(key: Key, item: Mapping[str, Any], verdict: Verdict, now: int) -> Update:
    """Write a verdict for the attempt that `item` shows."""
    values: dict[tuple[str, ...], Any] = {("state",): verdict.state, ("settled_at",): now}
    remove: list[tuple[str, ...]] = []
    if verdict.code:
        values[("code",)] = verdict.code
    values.update({(name,): value for name, value in verdict.result.items()})
    if verdict.available_at is None:
        remove.extend(_INDEX)
    else:
        values[("available_at",)] = verdict.available_at
        values[("due_at",)] = verdict.available_at
    rules = (row_state_in(*EFFECT_SOURCES[verdict.state]), attempt_fence(item))
    if verdict.state == "applying":
        raise AssertionError("an attempt is started, not settled, into applying")
    return Update(
        key,
        rules,
        set=values,
        remove=tuple(remove),
        add={("unknown",): verdict.unknown, ("refused",): verdict.refused},
    )


def look_again(key: Key, item: Mapping[str, Any], at: int) -> Update:
    """Leave an effect `applying` and come back: a lookup that could not be answered yet."""
    rules = (row_state_in("applying"), attempt_fence(item))
    return Update(key, rules, set={("available_at",): at, ("due_at",): at}, add={("lookups",): 1})


def postpone(key: Key, item: Mapping[str, Any], at: int) -> Update:
    """Leave a pending effect for later without an attempt: its run, or its connector, is paused."""
    rules = (row_state_in("pending"), attempts_as_read(item))
    return Update(key, rules, set={("available_at",): at, ("due_at",): at})


def attempts_as_read(item: Mapping[str, Any]) -> Rule:
    """No attempt started since `item` was read."""
    return Rule(
        "attempts_as_read",
        Compare(("attempts",), "=", item["attempts"]),
        "what was read of the attempts decides the operation key, the fence and what an answer means",
    )


def cancel(key: Key, item: Mapping[str, Any], now: int) -> Update:
    """No attempt will start any more: `cancelled`, or `ambiguous` when an attempt's outcome is unknown."""
    state = "ambiguous" if item["unknown"] else "cancelled"
    return Update(
        key,
        (row_state_in("pending"), attempts_as_read(item)),
        set={("state",): state, ("settled_at",): now},
        remove=_INDEX,
    )


def backoff_ceiling(attempts: int) -> int:
    """Milliseconds before the next attempt, before jitter: 5 s doubling to 15 min."""
    first, last = EFFECT_BACKOFF_MILLISECONDS
    ceiling: int = min(last, first * 2 ** (attempts - 1))
    return ceiling


def after_applied(result: Mapping[str, Any]) -> Verdict:
    """The receiver did it. result: the attributes that keep its answer."""
    return Verdict("applied", result=result)


def after_rejected(item: Mapping[str, Any], code: str) -> Verdict:
    """The receiver will never do it: `rejected`, at whatever attempt, only if no attempt is unknown."""
    return Verdict("ambiguous" if item["unknown"] else "rejected", code)


def after_refused(item: Mapping[str, Any], code: str, now: int, jitter: int) -> Verdict:
    """Definitely not done this time: again with back-off, until the attempts are used up.

    The operation key gets its next number only when no attempt is unknown: what an unknown one may have done is
    under the present key, and under another the receiver would do it again.
    """
    if item["attempts"] < item["max_attempts"]:
        return Verdict("pending", code, now + jitter, refused=0 if item["unknown"] else 1)
    return after_rejected(item, code)


def after_unknown(item: Mapping[str, Any], code: str, now: int, jitter: int) -> Verdict | None:
    """Nobody knows: by recovery class. None: stay `applying` until the lookup may be believed."""
    if item["recovery"] == "idempotent" and item["attempts"] < item["max_attempts"]:
        return Verdict("pending", code, now + jitter, unknown=1)
    if item["recovery"] == "lookup" and item.get("lookups", 0) < MAX_EFFECT_LOOKUPS:
        return None
    return Verdict("ambiguous", code, unknown=1)


def after_absent(item: Mapping[str, Any], now: int, jitter: int) -> Verdict:
    """A believed lookup says that it never arrived. The receiver refused nothing, so the operation key stays."""
    return replace(after_refused(item, "not_found_there", now, jitter), refused=0)


def after_terminal(item: Mapping[str, Any], verdict: Verdict) -> Verdict:
    """The run has ended: nothing goes back to `pending`; `ambiguous` if any attempt is unknown (protocol.md 5)."""
    if verdict.state != "pending":
        return verdict
    unknown = item["unknown"] or verdict.unknown
    return Verdict("ambiguous" if unknown else "cancelled", verdict.code, unknown=verdict.unknown)


def lookup_believed_at(item: Mapping[str, Any], visibility_seconds: int) -> int:
    """From when a lookup's "absent" counts: attempt's invocation deadline + call timeout + visibility (S33)."""
    until: int = item["attempt_until"]
    return until + (EFFECT_CALL_TIMEOUT_SECONDS + visibility_seconds) * 1000
