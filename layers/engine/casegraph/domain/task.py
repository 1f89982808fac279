"""Tasks: a person's work, its states and its conditional writes (architecture.md 7, protocol.md 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from casegraph.domain.head import shard_of
from casegraph.domain.rules import row_revision, row_state_in
from casegraph.domain.writes import AllOf, AnyOf, Compare, Item, Key, Path, Rule, Update
from casegraph.limits import CLOCK_SKEW_MILLISECONDS, QUEUE_SHARDS, TASK_CLAIM_MILLISECONDS

# Allowed sources of each state.
TASK_SOURCES: dict[str, tuple[str, ...]] = {
    "claimed": ("open", "claimed"),
    "open": ("claimed",),
    "completed": ("claimed",),
    "expired": ("open", "claimed"),
    "cancelled": ("open", "claimed"),
}
OPEN_STATES = ("open", "claimed")
_INDEX = (("task_queue_pk",), ("task_rank",), ("task_person_pk",), ("task_person_at",))


def task_sk(step: str) -> str:
    """Sort key of a step's task."""
    return f"TASK#{step}"


def is_open(item: Mapping[str, Any] | None) -> bool:
    """Whether somebody may still work on it."""
    return item is not None and item["state"] in OPEN_STATES


def queue_pk(queue_id: str, shard: int) -> str:
    """Index partition of a queue's tasks."""
    return f"{queue_id}#{shard}"


def open_rank(item: Mapping[str, Any]) -> str:
    """Sort key among a queue's open tasks: priority first, then the earliest due or timeout."""
    instant = item.get("due_at") or item.get("timeout_at") or item["created_at"]
    return f"0#{100 - item['priority']:03d}#{instant:013d}#{item['run_id']}"


def claimed_rank(until: int) -> str:
    """Sort key among a queue's claimed tasks: the first to expire first."""
    return f"1#{until:013d}"


def opened(item: Item) -> Item:
    """A new task row's state and index attributes added to its content."""
    row: Item = {**item, "state": "open", "revision": 0, "generation": 0}
    row["task_queue_pk"] = queue_pk(item["queue_id"], shard_of(item["run_id"]) % QUEUE_SHARDS)
    row["task_rank"] = open_rank(row)
    return row


def claim(key: Key, item: Item, person: str, now: int) -> Update:
    """Give a task to a person until the claim expires: from open, an expired claim, or the person's own."""
    until = now + _claim_period(item)
    free = Rule(
        "claim_free",
        AnyOf(
            (
                Compare(("state",), "=", "open"),
                Compare(("claim_until",), "<", now - CLOCK_SKEW_MILLISECONDS),
                Compare(("claimed_by",), "=", person),
            )
        ),
        "one person at a time works on a task; a claim that was not renewed is free",
    )
    return Update(
        key,
        (row_state_in(*TASK_SOURCES["claimed"]), free, row_revision(item["revision"])),
        set={
            ("state",): "claimed",
            ("claimed_by",): person,
            ("claim_until",): until,
            ("claimed_at",): now,
            ("task_rank",): claimed_rank(until),
            ("task_person_pk",): f"person#{person}",
            ("task_person_at",): until,
        },
        add={("revision",): 1, ("generation",): 1},
    )


def _claim_period(item: Mapping[str, Any]) -> int:
    """How long a claim lasts without a heartbeat, in milliseconds."""
    period: int = item.get("claim_milliseconds", TASK_CLAIM_MILLISECONDS)
    return period


def renew(key: Key, item: Item, person: str, generation: int, now: int) -> Update:
    """A heartbeat: the claim lasts for another period."""
    until = now + _claim_period(item)
    return Update(
        key,
        (held(person, generation),),
        set={
            ("claim_until",): until,
            ("task_rank",): claimed_rank(until),
            ("task_person_at",): until,
        },
        add={("revision",): 1},
    )


def release(key: Key, item: Item, person: str, generation: int) -> Update:
    """Give a claimed task back to its queue."""
    return Update(
        key,
        (held(person, generation), row_revision(item["revision"])),
        set={("state",): "open", ("task_rank",): open_rank(item)},
        remove=(
            ("claimed_by",), ("claim_until",), ("claimed_at",), ("task_person_pk",), ("task_person_at",),
        ),
        add={("revision",): 1},
    )  # fmt: skip


def held(person: str, generation: int) -> Rule:
    """This person's claim, and not an earlier one of theirs."""
    return Rule(
        "claim_held",
        AllOf(
            (
                Compare(("state",), "=", "claimed"),
                Compare(("claimed_by",), "=", person),
                Compare(("generation",), "=", generation),
            )
        ),
        "completion, heartbeat and release need the claim's generation: a lost claim decides nothing",
    )


def complete(
    key: Key, person: str, generation: int, outcome: str, response: Any, response_digest: str, now: int
) -> Update:
    """Record the decision of the person who holds the claim; a late but unexpired completion still wins."""
    return Update(
        key,
        (row_state_in(*TASK_SOURCES["completed"]), held(person, generation)),
        set={
            ("state",): "completed",
            ("outcome",): outcome,
            ("response",): response,
            ("response_digest",): response_digest,
            ("completed_by",): person,
            ("completed_at",): now,
        },
        remove=(("claim_until",), *_INDEX),
        add={("revision",): 1},
    )


def expire(key: Key, now: int) -> Update:
    """The wait's deadline passed: recorded in the commit that takes the timeout port."""
    return Update(
        key,
        (row_state_in(*TASK_SOURCES["expired"]),),
        set={("state",): "expired", ("closed_at",): now},
        remove=(("claim_until",), *_INDEX),
        add={("revision",): 1},
    )


def reschedule(key: Key, item: Item, timeout_at: int) -> Update:
    """The run stood still and its token times out later: due and timeout move together, and with them the rank."""
    moved = {**item, "timeout_at": timeout_at}
    if "due_at" in item:
        moved["due_at"] = item["due_at"] + timeout_at - item["timeout_at"]
    values: dict[Path, Any] = {(name,): moved[name] for name in ("timeout_at", "due_at") if name in moved}
    if item["state"] == "open":
        values[("task_rank",)] = open_rank(moved)
    return Update(
        key, (row_state_in(*OPEN_STATES), row_revision(item["revision"])), set=values, add={("revision",): 1}
    )


def cancel(key: Key, cause: str, now: int) -> Update:
    """The branch lost, or the run ended; `cause` is the step that won or the outcome."""
    return Update(
        key,
        (row_state_in(*TASK_SOURCES["cancelled"]),),
        set={("state",): "cancelled", ("closed_at",): now, ("cancelled_by",): cause},
        remove=(("claim_until",), *_INDEX),
        add={("revision",): 1},
    )
