"""Signals: pointers in the inbox, and what a waiting node is resumed with (protocol.md 2)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from casegraph.domain.canonical import digest

EVENT, TASK, EFFECT, REPORTS, CHILD = "event", "task", "effect", "reports", "child"


@dataclass(frozen=True, slots=True)
class Pointer:
    """An entry of the inbox: what came, where its row is, and from when it counts (epoch ms; None: at once).

    ref: an event's hash, a step id, `<step id>#<n>` of an effect, or a merge epoch.
    """

    kind: str
    ref: str
    event_type: str = ""
    match: str = ""
    effective_at: int | None = None

    def encode(self) -> str:
        """The stored form, fields parted by `|` (no field may hold one)."""
        effective = "" if self.effective_at is None else str(self.effective_at)
        fields = [self.kind, self.ref, self.event_type, self.match, effective]
        while not fields[-1]:
            fields.pop()
        return "|".join(fields)

    @staticmethod
    def parse(text: str) -> Pointer:
        """The inverse of `encode`."""
        kind, ref, event_type, match, effective = [*text.split("|"), "", "", "", ""][:5]
        return Pointer(kind, ref, event_type, match, int(effective) if effective else None)

    @property
    def row_sk(self) -> str | None:
        """Sort key of the row that the pointer leads to, in the run's partition."""
        if self.kind == EVENT:
            return f"EVENT#{self.ref}"
        if self.kind == TASK:
            return f"TASK#{self.ref}"
        if self.kind == EFFECT:
            return f"EFFECT#{self.ref}"
        if self.kind == CHILD:
            return f"CHILD#{self.ref}"
        return None


def pending_events(inbox: tuple[str, ...], buffered: tuple[str, ...]) -> int:
    """Events that no wait has taken: bounded by `MAX_PENDING_EVENTS`."""
    return len(buffered) + sum(1 for text in inbox if text.startswith(EVENT + "|"))


def event_hash(event_type: str, sender_id: str) -> str:
    """The identity of an event: its type and the sender's event id, not its correlation key (protocol.md 1)."""
    return digest([event_type, sender_id]).removeprefix("sha256:")[:32]


def match_of(correlation_key: str) -> str:
    """The hash under which waits and events of one correlation key find each other (64 bits; empty: any)."""
    return hashlib.sha256(correlation_key.encode()).hexdigest()[:16] if correlation_key else ""


@dataclass(frozen=True, slots=True)
class EventReceived:
    """An event that this wait takes: its row."""

    row: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TaskDecided:
    """The task was completed: its row."""

    row: dict[str, Any]


@dataclass(frozen=True, slots=True)
class EffectSettled:
    """The effect's row, `applied`, `rejected`, `ambiguous` or `cancelled`."""

    row: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ChildEnded:
    """The child run has its outcome: its row."""

    row: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The wait's deadline passed with nothing in the inbox for it."""


Resumption = EventReceived | TaskDecided | EffectSettled | ChildEnded | TimedOut
