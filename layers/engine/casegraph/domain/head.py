"""The head: one row that says everything about what a run does next (protocol.md 1).

`Head` is immutable; a burst works on a `Draft` and ends with a new head. What a reader sees (`state`) is derived;
only terminal outcomes are stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from casegraph.domain.token import Token, TokenStatus, decode, encode
from casegraph.domain.writes import Item, Key, Table
from casegraph.limits import (
    FAR_FUTURE_AT,
    INDEX_SHARDS,
    LATEST_INLINE_MAX_BYTES,
    TERMINAL_RETENTION_MILLISECONDS,
)

HEAD_SK = "HEAD"
LATEST_SK = "LATEST"

TERMINAL_OUTCOMES = ("succeeded", "failed", "timed_out", "terminated", "superseded")
RUN_ATTENTION_CODES = ("dispatch_exhausted", "definition_changed", "no_progress", "payload_missing")


@dataclass(frozen=True, slots=True)
class Paused:
    """Since when a run stands still and, when time-boxed, until when (epoch ms)."""

    since: int
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """A run's head. Instants are epoch milliseconds; `wake_at` None means that nothing is due by itself.

    cascades: runs that it started without awaiting them end with it; depth: runs in the chain from root to here."""

    run_id: str
    installation_id: str
    workflow_key: str
    version: int
    digest: str
    authority: str
    started_at: int
    revision: int = 0
    queue_id: str | None = None
    report_id: str | None = None
    outcome: str | None = None
    error_code: str | None = None
    ended_at: int | None = None
    deadline_at: int | None = None
    paused: Paused | None = None
    attention: str | None = None
    attention_at: int | None = None
    frontier: Mapping[str, Token] = field(default_factory=dict)
    closing: Mapping[str, str] = field(default_factory=dict)
    latest: Mapping[str, int] = field(default_factory=dict)
    latest_elsewhere: bool = False
    visits: Mapping[str, int] = field(default_factory=dict)
    inbox: tuple[str, ...] = ()
    buffered: tuple[str, ...] = ()
    merge_epoch: int = 0
    merged_reports: bool = False
    shifted_by: int = 0
    cascades: bool = False
    parent_run_id: str | None = None
    parent_step: str | None = None
    root_run_id: str | None = None
    depth: int = 1
    steps: int = 0
    idle_commits: int = 0
    chain: str = ""
    recorded_at: int = 0
    commit_id: str = ""
    wake_at: int | None = None
    generation: int = 0
    claim_id: str | None = None
    lease_until: int | None = None
    attempts: int = 0
    penalty: int = 0

    @property
    def terminal(self) -> bool:
        """Whether the run has its outcome."""
        return self.outcome is not None

    @property
    def stopped(self) -> bool:
        """Terminal, paused or in run attention: signals are stored, nothing advances."""
        return self.terminal or self.paused is not None or self.attention is not None

    @property
    def in_attention(self) -> bool:
        """Whether the run, or one of its tokens, needs an operator."""
        return self.attention is not None or any(
            t.status is TokenStatus.ATTENTION for t in self.frontier.values()
        )

    def state(self, now: int) -> str:
        """What a reader sees: the outcome, or paused, attention, leased, pending, running or waiting."""
        if self.outcome is not None:
            return self.outcome
        if self.paused is not None:
            return "paused"
        if self.in_attention:
            return "attention"
        if self.lease_until is not None and self.lease_until > now:
            return "leased"
        if self.revision == 0:
            return "pending"
        runnable = any(t.status is TokenStatus.READY for t in self.frontier.values())
        due = self.wake_at is not None and self.wake_at <= now
        return "running" if runnable or due or self.inbox else "waiting"

    def shifted(self, milliseconds: int) -> dict[str, Token]:
        """The frontier with every deadline moved by a pause's length (protocol.md 6)."""
        return {
            key: token
            if token.deadline_at is None
            else replace(token, deadline_at=token.deadline_at + milliseconds)
            for key, token in self.frontier.items()
        }


def run_pk(run_id: str) -> str:
    """Partition key of everything that belongs to a run."""
    return f"RUN#{run_id}"


def head_key(run_id: str) -> Key:
    """Key of a run's head."""
    return Key(Table.RUNS, run_pk(run_id), HEAD_SK)


def row_key(run_id: str, sk: str) -> Key:
    """Key of another row of a run."""
    return Key(Table.RUNS, run_pk(run_id), sk)


def shard_of(run_id: str) -> int:
    """The index shard of a run, 0 to 63, from the last two hex digits of its id (a hash already)."""
    return int(run_id[-2:], 16) % INDEX_SHARDS


def to_item(head: Head) -> Item:
    """The stored row of a head, with its index attributes; `latest` over its bound goes to a row of its own."""
    item: Item = {
        "pk": run_pk(head.run_id),
        "sk": HEAD_SK,
        "run_id": head.run_id,
        "installation_id": head.installation_id,
        "workflow_key": head.workflow_key,
        "authority": head.authority,
        "started_at": head.started_at,
        "started_pk": f"s#{shard_of(head.run_id)}",
        "revision": head.revision,
        "inbox": list(head.inbox),
        "chain": head.chain,
        "recorded_at": head.recorded_at,
        "commit_id": head.commit_id,
        "generation": head.generation,
        "attempts": head.attempts,
        "penalty": head.penalty,
    }
    item.update(facts(head))
    optional: dict[str, Any] = {
        "queue_id": head.queue_id,
        "report_id": head.report_id,
        "parent_run_id": head.parent_run_id,
        "parent_step": head.parent_step,
        "root_run_id": head.root_run_id,
        "depth": None if head.depth == 1 else head.depth,
        "wake_at": head.wake_at,
        "claim_id": head.claim_id,
        "lease_until": head.lease_until,
    }
    item.update({name: value for name, value in optional.items() if value is not None})
    if latest_bytes(head) > LATEST_INLINE_MAX_BYTES:
        item["latest"] = {}
        item["latest_elsewhere"] = True
    if head.terminal and head.closing:
        item["cleanup"] = True
    item["due_pk"], item["due_at"] = due_class(head)
    if head.in_attention and not head.terminal:
        item["attention_pk"] = f"a#{shard_of(head.run_id)}"
        item["attention_at"] = head.attention_at or head.recorded_at
    return item


def due_class(head: Head) -> tuple[str, int]:
    """The one index class of a head and its instant: g purge, p paused, w wake (protocol.md 4, invariant 6)."""
    shard = shard_of(head.run_id)
    if head.terminal and not head.closing:
        return f"g#{shard}", (head.ended_at or head.recorded_at) + TERMINAL_RETENTION_MILLISECONDS
    if head.paused is not None and not head.terminal:
        return f"p#{shard}", head.paused.until or FAR_FUTURE_AT
    return f"w#{shard}", FAR_FUTURE_AT if head.wake_at is None else head.wake_at


def facts(head: Head) -> dict[str, Any]:
    """What replaying the segments must give, in stored form (invariant 16)."""
    stored: dict[str, Any] = {
        "version": head.version,
        "digest": head.digest,
        "frontier": {key: encode(token, head.started_at) for key, token in head.frontier.items()},
        "closing": dict(head.closing),
        "latest": dict(head.latest),
        "visits": dict(head.visits),
        "buffered": list(head.buffered),
        "merge_epoch": head.merge_epoch,
        "steps": head.steps,
        "idle_commits": head.idle_commits,
    }
    if head.paused is not None:
        stored["paused"] = {"since": head.paused.since}
        if head.paused.until is not None:
            stored["paused"]["until"] = head.paused.until
    optional: dict[str, Any] = {
        "outcome": head.outcome,
        "error_code": head.error_code,
        "ended_at": head.ended_at,
        "deadline_at": head.deadline_at,
        "attention": head.attention,
        "attention_since": head.attention_at,
        "merged_reports": head.merged_reports or None,
        "shifted_by": head.shifted_by or None,
        "cascades": head.cascades or None,
    }
    stored.update({name: value for name, value in optional.items() if value is not None})
    return stored


def from_item(item: Item) -> Head:
    """A head from its stored row; `latest` is empty when `latest_elsewhere` (the caller reads that row)."""
    base = int(item["started_at"])
    paused = item.get("paused")
    return Head(
        run_id=item["run_id"],
        installation_id=item["installation_id"],
        workflow_key=item["workflow_key"],
        version=item["version"],
        digest=item["digest"],
        authority=item["authority"],
        started_at=base,
        revision=item["revision"],
        queue_id=item.get("queue_id"),
        report_id=item.get("report_id"),
        outcome=item.get("outcome"),
        error_code=item.get("error_code"),
        ended_at=item.get("ended_at"),
        deadline_at=item.get("deadline_at"),
        paused=Paused(paused["since"], paused.get("until")) if paused else None,
        attention=item.get("attention"),
        attention_at=item.get("attention_since"),
        frontier={key: decode(text, base) for key, text in item["frontier"].items()},
        closing=item["closing"],
        latest=item["latest"],
        latest_elsewhere=item.get("latest_elsewhere", False),
        visits=item["visits"],
        inbox=tuple(item["inbox"]),
        buffered=tuple(item["buffered"]),
        merge_epoch=item["merge_epoch"],
        merged_reports=item.get("merged_reports", False),
        shifted_by=item.get("shifted_by", 0),
        cascades=item.get("cascades", False),
        parent_run_id=item.get("parent_run_id"),
        parent_step=item.get("parent_step"),
        root_run_id=item.get("root_run_id"),
        depth=item.get("depth", 1),
        steps=item["steps"],
        idle_commits=item["idle_commits"],
        chain=item["chain"],
        recorded_at=item["recorded_at"],
        commit_id=item["commit_id"],
        wake_at=item.get("wake_at"),
        generation=item["generation"],
        claim_id=item.get("claim_id"),
        lease_until=item.get("lease_until"),
        attempts=item["attempts"],
        penalty=item["penalty"],
    )


def latest_bytes(head: Head) -> int:
    """About how many bytes the map of latest outputs takes in the row."""
    return sum(len(key) + 8 for key in head.latest)
