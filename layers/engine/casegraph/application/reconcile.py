"""The scheduled sweep: what is due and has no job on its way gets one; each item is served on its own (protocol.md 4).

Everything that the sweep acts on is read again, strongly, before it acts: the index may lag.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from casegraph.application import hints
from casegraph.application.context import Ports
from casegraph.application.control_run import Control, resume
from casegraph.application.persistence import patiently, write
from casegraph.application.ports import Deadline, Page
from casegraph.domain.head import from_item
from casegraph.domain.writes import Delete, Item, Key, Put, Table
from casegraph.errors import CasegraphError
from casegraph.limits import (
    COMMIT_RESERVE_MILLISECONDS,
    INDEX_SHARDS,
    JOB_HOLD_MILLISECONDS,
    SWEEP_MAX_QUEUE_DEPTH,
    SWEEP_OVERDUE_MILLISECONDS,
    SWEEP_SHARD_ITEMS,
)


@dataclass
class Swept:
    """Counts of one sweep; `failed` are items left for the next tick, `shed` shards not reached in time.

    due_lag_seconds: how late the oldest due run is; waits_overdue: due runs that are late by more than a minute.
    """

    runs: int = 0
    effects: int = 0
    resumed: int = 0
    failed: int = 0
    shed: int = 0
    held_back: int = 0
    due_lag_seconds: int = 0
    waits_overdue: int = 0


def reconcile(ports: Ports, deadline: Deadline) -> Swept:
    """Sweep every shard once, starting at another one each minute, until the time is up."""
    swept = Swept()
    first = (ports.clock.now() // 60_000) % INDEX_SHARDS
    for offset in range(INDEX_SHARDS):
        if deadline.remaining_milliseconds() < COMMIT_RESERVE_MILLISECONDS:
            swept.shed = INDEX_SHARDS - offset
            break
        shard = (first + offset) % INDEX_SHARDS
        _guarded(ports, swept, lambda shard=shard: _sweep_runs(ports, shard, swept))
        _guarded(ports, swept, lambda shard=shard: _sweep_effects(ports, shard, swept))
        _guarded(ports, swept, lambda shard=shard: _resume_due(ports, shard, swept))
    ports.journal.count("due_lag_seconds", swept.due_lag_seconds)
    ports.journal.count("waits_overdue", swept.waits_overdue)
    ports.journal.event(
        "reconciled", runs=swept.runs, effects=swept.effects, failed=swept.failed, shed=swept.shed
    )
    return swept


def _guarded(ports: Ports, swept: Swept, work: object) -> None:
    """One failure stops nothing: it is counted, and its item is served on the next tick (S3)."""
    assert callable(work)
    try:
        work()
    except Exception as failure:  # noqa: BLE001 - one item that shows a bug must not hide the others
        swept.failed += 1
        code = failure.code if isinstance(failure, CasegraphError) else type(failure).__name__
        ports.journal.event("reconcile_item_failed", code=code)


def _due_keys(ports: Ports, pk: str, high: int) -> list[Key]:
    """Index entries up to `high`: half of the budget oldest first, half from where the sweep before it stopped.

    Oldest first alone would be filled by runs that nobody can claim.
    """
    half = SWEEP_SHARD_ITEMS // 2
    oldest = _due_page(ports, pk, high, None, half)
    items = list(oldest.items)
    if len(items) == half:
        items += _rotating(ports, pk, high, oldest.next_after, half)
    return list(dict.fromkeys(Key(Table.RUNS, item["pk"], item["sk"]) for item in items))


def _due_page(ports: Ports, pk: str, high: int, after: Any | None, limit: int) -> Page:
    return patiently(
        ports, lambda: ports.store.query_index(Table.RUNS, "due", pk, high=high, after=after, limit=limit)
    )


def _rotating(ports: Ports, pk: str, high: int, start: Any | None, limit: int) -> list[Item]:
    """The entries after the cursor, which is kept in a row and starts again behind the oldest ones."""
    key = Key(Table.RUNS, f"SWEEP#{pk}", "CURSOR")
    cursor = patiently(ports, lambda: ports.store.get(key))
    after = start if cursor is None else cursor["after"]
    if after is None:
        return []
    page = _due_page(ports, pk, high, after, limit)
    if page.next_after is None:
        write(ports, Delete(key, ()))
    else:
        write(ports, Put(key, {"pk": key.pk, "sk": key.sk, "after": page.next_after}, ()))
    return page.items


def _sweep_runs(ports: Ports, shard: int, swept: Swept) -> None:
    now = ports.clock.now()
    keys = _due_keys(ports, f"w#{shard}", now + JOB_HOLD_MILLISECONDS)
    if not keys:
        return
    if patiently(ports, lambda: ports.jobs.depth("advance_run")) > SWEEP_MAX_QUEUE_DEPTH:
        swept.held_back += len(keys)
        return
    heads = patiently(ports, lambda: ports.store.batch_get(keys))
    for item in heads.values():
        _guarded(ports, swept, lambda item=item: _hint_run(ports, item, now, swept))


def _hint_run(ports: Ports, item: Item, now: int, swept: Swept) -> None:
    head = from_item(item)
    cleanup = head.terminal and bool(head.closing)
    if head.wake_at is None or (head.stopped and not cleanup):
        return
    if head.wake_at > now + JOB_HOLD_MILLISECONDS:
        return  # the index lagged: it has moved on
    if head.lease_until is not None and head.lease_until > now:
        return
    if now - SWEEP_OVERDUE_MILLISECONDS < head.wake_at <= now and head.attempts == 0:
        return  # its job is on its way
    _measure_lag(swept, now - head.wake_at)
    hints.run_due(ports, head.run_id, head.wake_at)
    swept.runs += 1


def _measure_lag(swept: Swept, late_milliseconds: int) -> None:
    swept.due_lag_seconds = max(swept.due_lag_seconds, late_milliseconds // 1000)
    if late_milliseconds > SWEEP_OVERDUE_MILLISECONDS:
        swept.waits_overdue += 1


def _sweep_effects(ports: Ports, shard: int, swept: Swept) -> None:
    now = ports.clock.now()
    keys = _due_keys(ports, f"e#{shard}", now + JOB_HOLD_MILLISECONDS)
    if not keys:
        return
    if patiently(ports, lambda: ports.jobs.depth("deliver_effect")) > SWEEP_MAX_QUEUE_DEPTH:
        swept.held_back += len(keys)
        return
    rows = patiently(ports, lambda: ports.store.batch_get(keys))
    for item in rows.values():
        _guarded(ports, swept, lambda item=item: _hint_effect(ports, item, now, swept))


def _hint_effect(ports: Ports, item: Item, now: int, swept: Swept) -> None:
    if item["state"] not in ("pending", "applying") or item["available_at"] > now + JOB_HOLD_MILLISECONDS:
        return
    if now - SWEEP_OVERDUE_MILLISECONDS < item["available_at"] <= now and item["attempts"] == 0:
        return
    hints.effect_due(ports, item["run_id"], f"{item['step_id']}#{item['number']}", item["available_at"])
    swept.effects += 1


def _resume_due(ports: Ports, shard: int, swept: Swept) -> None:
    """Time-boxed pauses end by themselves."""
    now = ports.clock.now()
    for key in _due_keys(ports, f"p#{shard}", now):
        _guarded(ports, swept, lambda key=key: _resume_one(ports, key, now, swept))


def _resume_one(ports: Ports, key: Key, now: int, swept: Swept) -> None:
    item = patiently(ports, lambda: ports.store.get(key))
    head = from_item(item) if item else None
    if head is None or head.paused is None or head.paused.until is None or head.paused.until > now:
        return
    request = Control(
        "system:reconcile", "the pause was time-boxed", f"resume-{head.revision}", head.revision
    )
    resume(ports, head.run_id, request)
    swept.resumed += 1
