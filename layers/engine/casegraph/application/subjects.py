"""Subject pointers: which open run reports on a subject merge into (protocol.md 1)."""

from __future__ import annotations

import hashlib
from typing import Any

from casegraph.domain import rules
from casegraph.domain.writes import Compare, Item, Key, Put, Rule, Table
from casegraph.limits import SUBJECT_KEY_INLINE_MAX_BYTES

_SK = "POINTER"


def subject_pk(queue_id: str, purpose: str, subject_key: str) -> str:
    """Partition of a subject within one queue and purpose: an open appeal must not swallow new reports."""
    body = subject_key.encode()
    name = subject_key
    if len(body) > SUBJECT_KEY_INLINE_MAX_BYTES:
        name = "sha256:" + hashlib.sha256(body).hexdigest()
    return f"SUBJECT#{queue_id}#{purpose}#{name}"


def pointer_key(queue_id: str, purpose: str, subject_key: str) -> Key:
    """Key of the pointer row."""
    return Key(Table.SUBJECTS, subject_pk(queue_id, purpose, subject_key), _SK)


def point_to(key: Key, run_id: str, old: Item | None, now: int) -> Put:
    """Let a subject point to the run that is being started: if it points nowhere, or still to the ended run that was
    read. It alone makes two simultaneous reports one run (S39)."""
    item: dict[str, Any] = {"pk": key.pk, "sk": key.sk, "run_id": run_id, "pointed_at": now}
    return Put(key, item, (rules.NEW_ITEM if old is None else _still_points_to(old["run_id"]),))


def _still_points_to(run_id: str) -> Rule:
    return Rule(
        "pointer_as_read",
        Compare(("run_id",), "=", run_id),
        "two reports on one subject at the same instant: one starts the run, the other merges into it",
    )
