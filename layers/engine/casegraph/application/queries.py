"""Lists: runs, reports, effects; every filter is answered from an index whose items are read again (data-model.md)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from casegraph.application.context import Ports
from casegraph.application.index_pages import Entry, ShardedIndex, newest
from casegraph.application.intake_report import report_key
from casegraph.application.persistence import patiently
from casegraph.application.run_views import attention_codes, run_summary
from casegraph.domain.head import Head, from_item, head_key, run_pk
from casegraph.domain.instants import rfc3339
from casegraph.domain.writes import Item, Table
from casegraph.errors import NotFound
from casegraph.limits import INDEX_SHARDS, REPORT_SHARDS

# Index pages read for one answer: a rare filter gives a short page and a cursor, not a request without end.
_MAX_SCANS = 10

Sees = Callable[[str | None], bool]
Position = tuple[int, str, str]


@dataclass(frozen=True, slots=True)
class RunFilters:
    """What a list of runs is narrowed by; None: not at all. state: as `Head.state` says; code: an attention code."""

    state: str | None = None
    workflow: str | None = None
    report_id: str | None = None
    code: str | None = None

    def fits(self, head: Head, now: int) -> bool:
        """Whether a head passes every filter but `report_id`."""
        return (
            (self.state is None or head.state(now) == self.state)
            and (self.workflow is None or head.workflow_key == self.workflow)
            and (self.code is None or self.code in attention_codes(head) or head.error_code == self.code)
        )


def list_runs(
    ports: Ports, filters: RunFilters, sees: Sees, before: Position | None, limit: int
) -> tuple[list[dict[str, Any]], Position | None]:
    """Runs, the newest first (those in attention by the instant it began), that the caller may see."""
    if filters.report_id is not None:
        return _run_of_report(ports, filters, sees), None
    index = _run_index(filters)
    now = ports.clock.now()
    found: list[dict[str, Any]] = []
    for _ in range(_MAX_SCANS):
        entries = newest(ports, index, before, limit)
        heads = _heads(ports, entries)
        for entry in entries:
            before = entry.position
            head = heads.get(entry)
            if head is not None and filters.fits(head, now) and sees(head.queue_id):
                found.append(run_summary(head, now))
                if len(found) == limit:
                    return found, before
        if len(entries) < limit:
            return found, None
    return found, before


def _run_index(filters: RunFilters) -> ShardedIndex:
    if filters.state == "attention":
        pks = [f"a#{shard}" for shard in range(INDEX_SHARDS)]
        return ShardedIndex(Table.RUNS, "attention", pks, "attention_at")
    return ShardedIndex(Table.RUNS, "started", [f"s#{shard}" for shard in range(INDEX_SHARDS)], "started_at")


def _heads(ports: Ports, entries: list[Entry]) -> dict[Entry, Head]:
    if not entries:
        return {}
    rows = patiently(ports, lambda: ports.store.batch_get([entry.key for entry in entries]))
    return {entry: from_item(rows[entry.key]) for entry in entries if entry.key in rows}


def _run_of_report(ports: Ports, filters: RunFilters, sees: Sees) -> list[dict[str, Any]]:
    """The run that a report started or was merged into."""
    assert filters.report_id is not None
    report = patiently(ports, lambda: ports.store.get(report_key(filters.report_id or "")))
    if report is None or "run_id" not in report:
        return []
    row = patiently(ports, lambda: ports.store.get(head_key(report["run_id"])))
    now = ports.clock.now()
    head = None if row is None else from_item(row)
    if head is None or not filters.fits(head, now) or not sees(head.queue_id):
        return []
    return [run_summary(head, now)]


def report_not_found(report_id: str) -> NotFound:
    """Said of a report that is not there, and of one that the caller may not see, alike."""
    return NotFound(f"there is no report {report_id}", "report_not_found", report_id=report_id)


def read_report(ports: Ports, report_id: str) -> Item:
    """A report's row. Raises `NotFound("report_not_found")`."""
    row = patiently(ports, lambda: ports.store.get(report_key(report_id)))
    if row is None:
        raise report_not_found(report_id)
    return row


def report_view(row: Item, *, content: bool) -> dict[str, Any]:
    """A report as a reader sees it; lists leave the content out."""
    names = ("report_id", "queue_id", "subject_key", "merged", "received_from")
    view: dict[str, Any] = {name: row[name] for name in names}
    view["run_id"] = row.get("run_id")
    view["received_at"] = rfc3339(row["received_at"])
    if content:
        view["content"] = json.loads(row["content"])
    return view


def list_reports(
    ports: Ports, queue_id: str, before: Position | None, limit: int
) -> tuple[list[dict[str, Any]], Position | None]:
    """Reports of a queue, the newest first."""
    pks = [f"{queue_id}#{shard}" for shard in range(REPORT_SHARDS)]
    index = ShardedIndex(Table.REPORTS, "queue_reports", pks, "received_at")
    entries = newest(ports, index, before, limit)
    rows = patiently(ports, lambda: ports.store.batch_get([e.key for e in entries])) if entries else {}
    views = [report_view(rows[e.key], content=False) for e in entries if e.key in rows]
    return views, entries[-1].position if len(entries) == limit else None


_EFFECT_PLAIN = (
    "effect_id", "run_id", "step_id", "number", "connector_id", "operation", "recovery", "state", "attempts",
    "code", "payload_digest",
)  # fmt: skip
_EFFECT_INSTANTS = ("created_at", "available_at", "attempted_at", "settled_at")


def list_effects(
    ports: Ports, run_id: str, after: str | None, limit: int
) -> tuple[list[dict[str, Any]], str | None]:
    """The effects of a run by step; no payloads."""
    page = patiently(
        ports,
        lambda: ports.store.query(Table.RUNS, run_pk(run_id), prefix="EFFECT#", after=after, limit=limit),
    )
    return [_effect_view(row) for row in page.items], page.next_after


def _effect_view(row: Item) -> dict[str, Any]:
    view: dict[str, Any] = {name: row[name] for name in _EFFECT_PLAIN if name in row}
    view["unknown_attempts"] = row["unknown"]
    view.update({name: rfc3339(row[name]) for name in _EFFECT_INSTANTS if name in row})
    return view
