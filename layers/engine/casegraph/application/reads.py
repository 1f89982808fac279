"""What a burst reads besides the head: the rows, payloads and merged reports that its nodes reference."""

from __future__ import annotations

import json
from collections.abc import Iterable

from casegraph.application import payloads
from casegraph.application.close_children import close_children
from casegraph.application.context import Ports
from casegraph.application.persistence import patiently
from casegraph.application.publish import read_version
from casegraph.domain.burst.knowledge import Knowledge, Missing
from casegraph.domain.burst.visit import FACTS_SK
from casegraph.domain.graph.compiled import CompiledGraph
from casegraph.domain.head import Head, row_key, run_pk
from casegraph.domain.place import parse_key, parse_step_id
from casegraph.domain.segment import segment_sk
from casegraph.domain.signal import Pointer
from casegraph.domain.token import TokenStatus
from casegraph.domain.writes import Item, Table
from casegraph.errors import NotFound
from casegraph.limits import REPORTS_IN_CONTEXT_MAX

_IMMUTABLE = ("SEG#", "EVENT#")


def fulfil(ports: Ports, head: Head, knowledge: Knowledge, missing: Missing) -> None:
    """Read what a decision asked for. Raises `NeedsOperator("payload_missing")` for a payload that is gone or is not
    what its digest says."""
    if missing.rows:
        _read_rows(ports, head, knowledge, missing.rows)
    for digest in missing.payloads:
        knowledge.payloads[digest] = payloads.read(ports, head.run_id, digest)
    for workflow_key, version in missing.versions:
        knowledge.versions[(workflow_key, version)] = _version(ports, workflow_key, version)
    for key, step in missing.children:
        close_children(ports, head, step)
        knowledge.closed_children.add(key)
    if missing.epoch is not None:
        _read_reports(ports, head, knowledge, missing.epoch)


def _read_rows(ports: Ports, head: Head, knowledge: Knowledge, sks: Iterable[str]) -> None:
    keys = {sk: row_key(head.run_id, sk) for sk in sks}
    found = patiently(ports, lambda: ports.store.batch_get(list(keys.values())))
    for sk, key in keys.items():
        knowledge.rows[sk] = found.get(key)


def _version(ports: Ports, workflow_key: str, version: int | None) -> Item | None:
    try:
        return read_version(ports, workflow_key, version)
    except NotFound:
        return None


def merged_prefix(epoch: int) -> str:
    """Sort key prefix of the reports merged in one epoch."""
    return f"REPORT#{epoch:08d}#"


def _read_reports(ports: Ports, head: Head, knowledge: Knowledge, epoch: int) -> None:
    """The merged reports of every epoch that was taken in: those rows are frozen, so a replay sees the same."""
    page = patiently(
        ports,
        lambda: ports.store.query(
            Table.RUNS, run_pk(head.run_id), prefix="REPORT#", limit=REPORTS_IN_CONTEXT_MAX
        ),
    )
    knowledge.reports = [json.loads(item["report"]) for item in page.items if item["epoch"] <= epoch]
    knowledge.reports_epoch = epoch


def forget_changing_rows(knowledge: Knowledge) -> None:
    """Before a rebuild: rows that others may have changed are read again; segments and events never change."""
    for sk in [sk for sk in knowledge.rows if not sk.startswith(_IMMUTABLE)]:
        del knowledge.rows[sk]


def prefetch(ports: Ports, head: Head, graph: CompiledGraph, knowledge: Knowledge, now: int) -> None:
    """Read in one request what this burst will certainly ask for: the rows that its signals point to, and the
    outputs and facts that the nodes next on the way reference."""
    wanted = {sk for p in map(Pointer.parse, head.inbox) if (sk := p.row_sk) is not None}
    near = graph.near(_moving(head, graph, now))
    for ordinal in near:
        uses = graph.uses(ordinal)
        if uses & {"input", "report", "reports", "run"}:
            wanted.add(FACTS_SK)
        for reference in graph.references(ordinal):
            wanted.update(segment_sk(r) for key, r in head.latest.items() if _node_of(key) == reference)
    wanted -= set(knowledge.rows)
    if wanted:
        _read_rows(ports, head, knowledge, sorted(wanted))


def _node_of(latest_key: str) -> int:
    return int(latest_key.rpartition("/")[2])


def _moving(head: Head, graph: CompiledGraph, now: int) -> list[int]:
    """Nodes whose tokens will move in this burst: ready ones, those a signal resumes, those whose time has come."""
    resumed = set()
    for pointer in map(Pointer.parse, head.inbox):
        step = pointer.ref.rpartition("#")[0] if pointer.kind == "effect" else pointer.ref
        place = parse_step_id(step, graph) if pointer.kind in ("task", "effect", "child") else None
        if place is not None:
            resumed.add(place.key)
    events = any(Pointer.parse(text).kind == "event" for text in head.inbox)
    nodes = []
    for key, token in head.frontier.items():
        node = parse_key(key).node
        timely = token.deadline_at is not None and token.deadline_at <= now
        listens = events and hasattr(graph.nodes[node].config, "event_types")
        if token.status is TokenStatus.READY or key in resumed or timely or listens:
            nodes.append(node)
    return nodes
