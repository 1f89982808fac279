"""A run as readers see it: its state, where it stands, its steps and its log (architecture.md 10)."""

from __future__ import annotations

from typing import Any

from casegraph.application import payloads
from casegraph.application.context import Ports
from casegraph.application.persistence import patiently
from casegraph.domain.graph.compiled import CompiledGraph
from casegraph.domain.head import Head, row_key, run_pk
from casegraph.domain.instants import rfc3339
from casegraph.domain.place import node_of, parse_key, step_id
from casegraph.domain.segment import SEGMENT_PREFIX, StepRecord, chain_faults, segment_sk
from casegraph.domain.token import TokenStatus
from casegraph.domain.writes import Item, Table
from casegraph.errors import NeedsOperator

_STATUS_WORDS = {
    TokenStatus.READY: "ready",
    TokenStatus.WAITING: "waiting",
    TokenStatus.BACKOFF: "backoff",
    TokenStatus.ARRIVED: "arrived",
    TokenStatus.ATTENTION: "attention",
}


def run_summary(head: Head, now: int) -> dict[str, Any]:
    """A run in a list, from its head alone."""
    view: dict[str, Any] = {
        "run_id": head.run_id,
        "workflow_key": head.workflow_key,
        "version": head.version,
        "authority": head.authority,
        "state": head.state(now),
        "outcome": head.outcome,
        "error_code": head.error_code,
        "attention": attention_codes(head),
        "revision": head.revision,
        "started_at": rfc3339(head.started_at),
        "ended_at": None if head.ended_at is None else rfc3339(head.ended_at),
        "queue_id": head.queue_id,
        "report_id": head.report_id,
    }
    return view


def attention_codes(head: Head) -> list[str]:
    """Why the run needs an operator: its own code and those of its tokens; empty when it does not."""
    codes = {t.code for t in head.frontier.values() if t.status is TokenStatus.ATTENTION}
    return sorted(codes | ({head.attention} if head.attention else set()))


def run_view(ports: Ports, head: Head) -> dict[str, Any]:
    """One run: the summary, where it stands, and what it started with."""
    now = ports.clock.now()
    facts = _facts(ports, head)
    merged = _merged_reports(ports, head)
    return {
        **run_summary(head, now),
        "digest": head.digest,
        "paused": _paused(head),
        "wake_at": None if head.wake_at is None else rfc3339(head.wake_at),
        "recorded_at": rfc3339(head.recorded_at),
        "step_count": head.steps,
        "report_count": merged + (1 if head.report_id is not None else 0),
        "inbox": len(head.inbox),
        "buffered": len(head.buffered),
        "started_by": facts.get("started_by"),
        "origin": facts.get("origin", {}),
        "input": payloads.field(ports, facts, "input"),
        "open": open_places(ports, head),
    }


def _paused(head: Head) -> dict[str, Any] | None:
    if head.paused is None:
        return None
    until = head.paused.until
    return {"since": rfc3339(head.paused.since), "until": None if until is None else rfc3339(until)}


def _facts(ports: Ports, head: Head) -> Item:
    key = row_key(head.run_id, segment_sk(0))
    row = patiently(ports, lambda: ports.store.get(key))
    return dict(row["facts"]) if row is not None else {}


def _merged_reports(ports: Ports, head: Head) -> int:
    if not head.merged_reports and not any(text.startswith("reports|") for text in head.inbox):
        return 0
    return patiently(ports, lambda: ports.store.count(Table.RUNS, run_pk(head.run_id), prefix="REPORT#"))


def open_places(ports: Ports, head: Head) -> list[dict[str, Any]]:
    """The frontier in readable words."""
    graph = graph_of(ports, head)
    places = []
    for key, token in head.frontier.items():
        step = key if graph is None else step_id(parse_key(key), graph)
        place: dict[str, Any] = {"step": step, "status": _STATUS_WORDS[token.status]}
        if graph is not None:
            place["node"] = node_of(step)
            place["kind"] = graph.nodes[parse_key(key).node].kind.name
        if token.deadline_at is not None:
            place["deadline_at"] = rfc3339(token.deadline_at)
        if token.code:
            place["code"] = token.code
        places.append(place)
    return places


def graph_of(ports: Ports, head: Head) -> CompiledGraph | None:
    """The run's graph; None when its bundle is gone or changed (the run stands in attention, its page still opens)."""
    try:
        return ports.versions.graph(head.digest)
    except NeedsOperator:
        return None


def steps_page(
    ports: Ports, run_id: str, start: tuple[int, int], limit: int
) -> tuple[list[dict[str, Any]], list[str | int] | None]:
    """Finished steps in order from a position (revision, index in its segment), and the position to go on from.

    Large outputs are named by digest, not copied into the list.
    """
    revision, index = start
    page = _segments(ports, run_id, None if revision == 0 else segment_sk(revision - 1), limit)
    views: list[dict[str, Any]] = []
    for segment in page.items:
        skipped = index if segment["revision"] == revision else 0
        for number, step in enumerate(segment.get("steps", ())):
            if number < skipped:
                continue
            if len(views) == limit:
                return views, [segment["revision"], number]
            views.append(_step(segment, step))
    more = page.next_after is not None and bool(page.items)
    return views, [page.items[-1]["revision"] + 1, 0] if more else None


def _segments(ports: Ports, run_id: str, after: str | None, limit: int) -> Any:
    return patiently(
        ports,
        lambda: ports.store.query(
            Table.RUNS, run_pk(run_id), prefix=SEGMENT_PREFIX, after=after, limit=limit
        ),
    )


def _step(segment: Item, item: Item) -> dict[str, Any]:
    step = StepRecord.from_item(item)
    view: dict[str, Any] = {
        "step": step.step,
        "node": node_of(step.step),
        "status": step.status,
        "port": step.port,
        "attempts": step.attempts,
        "revision": segment["revision"],
        "recorded_at": rfc3339(segment["recorded_at"]),
    }
    if step.code:
        view["code"] = step.code
    if step.output_digest:
        view["output_digest"] = step.output_digest
        view["output"] = step.output
        view["output_elsewhere"] = step.elsewhere
    return view


def log_page(
    ports: Ports, run_id: str, after: int | None, limit: int
) -> tuple[list[dict[str, Any]], list[str], int | None]:
    """Segments in order, the faults of their hash chain (none: it verifies), and the revision to go on from."""
    page = _segments(ports, run_id, None if after is None else segment_sk(after), limit)
    previous = ""
    if after is not None:
        key = row_key(run_id, segment_sk(after))
        row = patiently(ports, lambda: ports.store.get(key))
        previous = "" if row is None else row["hash"]
    faults = chain_faults(page.items, previous, 0 if after is None else after + 1)
    more = page.next_after is not None and bool(page.items)
    return [_entry(item) for item in page.items], faults, page.items[-1]["revision"] if more else None


def _brief(step: StepRecord) -> dict[str, Any]:
    brief = {"step": step.step, "status": step.status, "port": step.port, "code": step.code}
    return {name: value for name, value in brief.items() if value}


def _entry(segment: Item) -> dict[str, Any]:
    steps = [_brief(StepRecord.from_item(item)) for item in segment.get("steps", ())]
    view: dict[str, Any] = {
        "revision": segment["revision"],
        "kind": segment["kind"],
        "recorded_at": rfc3339(segment["recorded_at"]),
        "steps": steps,
        "opened": [_opened(wait) for wait in segment.get("opened", ())],
        "taken": segment.get("taken", []),
        "commit_id": segment["commit_id"],
        "hash": segment["hash"],
        "previous": segment["prev"],
    }
    view.update({name: segment[name] for name in ("actor", "reason") if name in segment})
    return view


def _opened(wait: dict[str, Any]) -> dict[str, Any]:
    return {name: rfc3339(value) if name.endswith("_at") else value for name, value in wait.items()}
