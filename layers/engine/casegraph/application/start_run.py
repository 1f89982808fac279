"""Starting a run: segment 0 with the immutable facts, and the first head, in one transaction (protocol.md 1)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from casegraph.application import hints, payloads
from casegraph.application.commit import seal
from casegraph.application.context import Ports
from casegraph.application.persistence import patiently, transact
from casegraph.domain import rules
from casegraph.domain.canonical import digest
from casegraph.domain.head import Head, head_key, row_key, to_item
from casegraph.domain.place import Place
from casegraph.domain.segment import Segment, first_delta, segment_sk
from casegraph.domain.token import Token, TokenStatus
from casegraph.domain.writes import Item, Put, Write
from casegraph.errors import ConditionsFailed, Conflict, InvalidInput


@dataclass(frozen=True, slots=True)
class Parent:
    """The run and step that start a run; depth: of the new run in its chain, the root being 1."""

    run_id: str
    step: str
    root_run_id: str
    depth: int


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run to start. run_id is derived (domain/ids.py), so that retries converge.

    origin: what it came from (`{"kind": "request" | "report", ...}` with ids only); started_by: who.
    requested_version: the version that the request named; None when it asked for the latest, whichever that is.
    """

    run_id: str
    workflow_key: str
    version: int
    digest: str
    authority: str
    input: Any
    started_by: str
    report: Any = None
    report_id: str | None = None
    queue_id: str | None = None
    requested_version: int | None = None
    origin: dict[str, Any] = field(default_factory=dict)
    parent: Parent | None = None

    def fingerprint(self) -> str:
        """What must be the same when the same run is started again: what was asked for, not what it led to.

        A request that names no version stays the same request after a new publication.
        """
        asked = [self.workflow_key, self.input, self.report, self.report_id, self.queue_id]
        return digest(asked if self.requested_version is None else [*asked, self.requested_version])


@dataclass(frozen=True, slots=True)
class Started:
    """replayed: the same request had started it before."""

    run_id: str
    replayed: bool


def start_run(ports: Ports, new: NewRun) -> Started:
    """Start a run. The same again is a replay. Raises `Conflict("idempotency_key_reused")` for the same id with
    another content, `InvalidInput("authority_not_supported")`, `TooLarge`."""
    writes = start_writes(ports, new)
    try:
        transact(ports, writes)
    except ConditionsFailed as failed:
        on_segment = failed.of(0)
        check_same_start(new, on_segment.old_item if on_segment else None)
        hints.run_due(ports, new.run_id, ports.clock.now())
        return Started(new.run_id, replayed=True)
    hints.run_due(ports, new.run_id, ports.clock.now())
    return Started(new.run_id, replayed=False)


def started_before(ports: Ports, new: NewRun) -> Started | None:
    """The first answer to a request that would not be taken today: the latest version takes another input.

    Raises `Conflict("idempotency_key_reused")`.
    """
    first = patiently(ports, lambda: ports.store.get(row_key(new.run_id, segment_sk(0))))
    if first is None:
        return None
    check_same_start(new, first)
    return Started(new.run_id, replayed=True)


def check_same_start(new: NewRun, segment_zero: Item | None) -> None:
    """Compare the fingerprint of segment 0 with a start that found it there."""
    if segment_zero is None or segment_zero["facts"]["fingerprint"] == new.fingerprint():
        return
    raise Conflict(
        f"run {new.run_id} was already started with another content",
        "idempotency_key_reused",
        run_id=new.run_id,
        hint="send the new request under an Idempotency-Key of its own",
    )


def start_writes(ports: Ports, new: NewRun) -> list[Write]:
    """The writes of a new run, segment 0 first: they fit into a larger transaction (a report that starts runs)."""
    if new.authority != "assist":
        raise InvalidInput(
            f"authority {new.authority!r} cannot run yet; publish the version with authority assist",
            "authority_not_supported",
            allowed=["assist"],
        )
    now = ports.clock.now()
    graph = ports.versions.graph(new.digest)
    place = Place((), graph.start, 1)
    seconds = graph.document.deadline_seconds
    head = Head(
        run_id=new.run_id,
        installation_id=ports.installation_id,
        workflow_key=new.workflow_key,
        version=new.version,
        digest=new.digest,
        authority=new.authority,
        started_at=now,
        recorded_at=now,
        wake_at=now,
        deadline_at=None if seconds is None else now + round(seconds * 1000),
        queue_id=new.queue_id,
        report_id=new.report_id,
        frontier={place.key: Token(TokenStatus.READY)},
    )
    if new.parent is not None:
        head = replace(
            head,
            parent_run_id=new.parent.run_id,
            parent_step=new.parent.step,
            root_run_id=new.parent.root_run_id,
            depth=new.parent.depth,
        )
    entry = Segment(
        run_id=new.run_id,
        revision=0,
        kind="start",
        recorded_at=now,
        commit_id="",
        previous="",
        delta=first_delta(head),
        actor=new.started_by,
        facts=_facts(ports, new),
    )
    head, row = seal(head, replace(head), entry, ports.ids.new()[:16])
    return [
        Put(row_key(new.run_id, segment_sk(0)), row, (rules.NEW_ITEM,)),
        Put(head_key(new.run_id), to_item(head), (rules.NEW_ITEM,)),
    ]


def _facts(ports: Ports, new: NewRun) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "run_id": new.run_id,
        "started_by": new.started_by,
        "fingerprint": new.fingerprint(),
        "installation_id": ports.installation_id,
        "workflow_key": new.workflow_key,
        "version": new.version,
        "origin": new.origin,
        **payloads.stored(ports, new.run_id, "input", new.input),
    }
    if new.report is not None:
        facts.update(payloads.stored(ports, new.run_id, "report", new.report))
    if new.parent is not None:
        facts["parent"] = {"run_id": new.parent.run_id, "step": new.parent.step}
        facts["root_run_id"] = new.parent.root_run_id
    if new.report_id is not None:
        facts["report_id"] = new.report_id
    return facts
