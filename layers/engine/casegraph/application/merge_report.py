"""Merging a report into an open run: a row of its own, and at most one `reports` pointer in the inbox (protocol.md 2).

Each epoch's rows are frozen once a burst has taken the epoch's pointer in: the transaction either appends the
pointer of the next epoch, or checks that this pointer still is in the inbox.
"""

from __future__ import annotations

from typing import Any

from casegraph.application.context import Ports
from casegraph.application.reads import merged_prefix
from casegraph.application.signals import append_update
from casegraph.domain import rules
from casegraph.domain.canonical import canonical_bytes
from casegraph.domain.head import Head, head_key, row_key
from casegraph.domain.signal import REPORTS, Pointer
from casegraph.domain.writes import Check, Contains, Item, Not, Put, Rule, Write


def merge_pointer(head: Head) -> Pointer:
    """The pointer that stands in the inbox for all reports merged since a burst last took them in."""
    return Pointer(REPORTS, str(head.merge_epoch + 1))


def merge_writes(ports: Ports, head: Head, report_id: str, view: dict[str, Any], now: int) -> list[Write]:
    """The writes on the run's side: on the head first (append or check), then the merged row."""
    pointer = merge_pointer(head)
    return [_on_head(ports, head, pointer), _merged_row(head, report_id, view, now)]


def _on_head(ports: Ports, head: Head, pointer: Pointer) -> Write:
    if pointer.encode() in head.inbox:
        held = (rules.NOT_TERMINAL, rules.inbox_has(pointer.encode()))
        return Check(head_key(head.run_id), held)
    guards = (rules.NOT_TERMINAL, rules.same_merge_epoch(head), _not_yet_in_inbox(pointer.encode()))
    return append_update(ports, head, pointer, guards)


def _not_yet_in_inbox(pointer: str) -> Rule:
    return Rule(
        "pointer_not_in_inbox",
        Not(Contains(("inbox",), pointer)),
        "at most one reports pointer, however many reports come: the inbox does not grow with them (S43)",
    )


def _merged_row(head: Head, report_id: str, view: dict[str, Any], now: int) -> Put:
    epoch = head.merge_epoch + 1
    key = row_key(head.run_id, merged_prefix(epoch) + report_id)
    item: Item = {
        "pk": key.pk,
        "sk": key.sk,
        "run_id": head.run_id,
        "epoch": epoch,
        "report_id": report_id,
        "report": canonical_bytes(view).decode(),
        "received_at": now,
    }
    return Put(key, item, (rules.NEW_ITEM,))
