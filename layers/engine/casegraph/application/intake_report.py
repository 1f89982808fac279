"""Taking a report in: stored, and in the same transaction the run that it starts, or the run that it joins.

Never refused for what a run holds, paused or not (protocol.md 2; S39, S43).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from casegraph.application import hints
from casegraph.application.context import Ports
from casegraph.application.idempotency import check_same
from casegraph.application.merge_report import merge_pointer, merge_writes
from casegraph.application.persistence import patiently, transact, write
from casegraph.application.queues import Pin, Queue, default_queue, read_queue
from casegraph.application.signals import wake
from casegraph.application.start_run import NewRun, start_writes
from casegraph.application.subjects import point_to, pointer_key, subject_pk
from casegraph.domain import rules
from casegraph.domain.canonical import canonical_bytes, digest
from casegraph.domain.head import Head, from_item, head_key
from casegraph.domain.ids import derived_id, run_id_from_route
from casegraph.domain.instants import rfc3339
from casegraph.domain.writes import Item, Key, Put, Table, Write
from casegraph.errors import ConditionsFailed, Conflict, InvalidInput, TooLarge
from casegraph.limits import (
    MAX_SIGNAL_TRIES,
    REPORT_CONTENT_MAX_BYTES,
    REPORT_SHARDS,
    RETRY_JITTER_MILLISECONDS,
)

_REPORT_SK = "REPORT"
_NO_QUEUE = Queue("", "", "none")


@dataclass(frozen=True, slots=True)
class NewReport:
    """A report as its sender means it. report_id: the sender's own, else derived from the idempotency key.

    The derived id's row is the key's record: the report itself, or, for a report with an id of its sender's, a row
    that only binds the key. So the key binds either form, and a report without an id costs no row more.

    queue_id None: the default queue. content: what was reported, any JSON object; it becomes the run's `input`.
    """

    subject_key: str
    content: dict[str, Any]
    queue_id: str | None = None
    report_id: str | None = None

    def fingerprint(self) -> str:
        """What must be the same when the same report comes again."""
        return digest([self.subject_key, self.content, self.queue_id, self.report_id])


@dataclass(frozen=True, slots=True)
class TakenIn:
    """run_id: the run it started or joined, None when nothing is pinned to its queue. merged: it joined one."""

    report_id: str
    run_id: str | None
    merged: bool
    replayed: bool = False


def report_key(report_id: str) -> Key:
    """Row of a report."""
    return Key(Table.REPORTS, f"REPORT#{report_id}", _REPORT_SK)


def is_report(row: Item) -> bool:
    """Whether a row under a report's key is a report, and not what binds an idempotency key to one."""
    return "queue_id" in row


def report_shard_pk(queue_id: str, report_id: str) -> str:
    """Index partition of a queue's reports that holds this one."""
    shard = int(digest(report_id)[-4:], 16) % REPORT_SHARDS
    return f"{queue_id}#{shard}"


def queue_of(ports: Ports, new: NewReport) -> Queue:
    """The queue that a report comes to. Raises `NotFound("queue_not_found")`, `InvalidInput("queue_missing")`."""
    queue_id = new.queue_id or default_queue(ports)
    if queue_id is None:
        raise InvalidInput(
            "the report names no queue_id, and no queue is the default one",
            "queue_missing",
            pointer="/queue_id",
            hint="send queue_id, or make a queue the default: PUT /v1/queues/{id} with default true",
        )
    return read_queue(ports, queue_id)


def intake_report(
    ports: Ports, new: NewReport, queue: Queue, *, caller: str, idempotency_key: str
) -> TakenIn:
    """Take a report in. The same again is a replay of the first answer.

    Raises `TooLarge("report_too_large")`, `Conflict("idempotency_key_reused")`, `Conflict("report_id_reused")`.
    """
    size = len(canonical_bytes(new.content))
    if size > REPORT_CONTENT_MAX_BYTES:
        raise TooLarge(
            f"the report's content has {size} bytes; at most {REPORT_CONTENT_MAX_BYTES}",
            "report_too_large",
            pointer="/content",
        )
    return Intake(ports, new, queue, caller, idempotency_key).run()


def taken_before(ports: Ports, new: NewReport, *, caller: str, idempotency_key: str) -> TakenIn | None:
    """The first answer to a report that would not be taken in today: its queue's pin or the default has changed.

    Raises `Conflict` as `intake_report` does.
    """
    return Intake(ports, new, _NO_QUEUE, caller, idempotency_key).earlier()


@dataclass
class Intake:
    """One report on its way in."""

    ports: Ports
    new: NewReport
    queue: Queue
    caller: str
    idempotency_key: str

    def __post_init__(self) -> None:
        derived = derived_id("rep", self.ports.installation_id, self.caller, "report", self.idempotency_key)
        self.report_id = self.new.report_id or derived
        self.row_key = report_key(self.report_id)
        self.key_row = report_key(derived)
        self.now = self.ports.clock.now()

    def run(self) -> TakenIn:
        """Try until one of the forms (start, merge, store only) holds; each try reads anew."""
        self._check_key()
        for _ in range(MAX_SIGNAL_TRIES):
            known = self.earlier()
            if known is not None:
                return known
            taken = self._try()
            if taken is not None:
                return taken
            self.ports.clock.sleep(self.ports.ids.jitter(0, RETRY_JITTER_MILLISECONDS[0]))
        raise Conflict("reports on this subject come too fast; send it again", "subject_busy")

    def earlier(self) -> TakenIn | None:
        """The first answer to this report, if it came before; needs no queue."""
        known = patiently(self.ports, lambda: self.ports.store.get(self.row_key))
        return None if known is None else self._replayed(known)

    def _try(self) -> TakenIn | None:
        """One attempt; None when what was read is no longer so."""
        pin = self.queue.primary
        if pin is None:
            return self._write([], TakenIn(self.report_id, None, merged=False))
        if self.queue.merge == "none":
            return self._start(pin, [])
        key = pointer_key(self.queue.queue_id, pin.purpose, self.new.subject_key)
        pointer = patiently(self.ports, lambda: self.ports.store.get(key))
        head = self._open_head(pointer)
        if head is not None:
            return self._merge(head)
        run_id = self._run_id(pin)
        return self._start(pin, [point_to(key, run_id, pointer, self.now)])

    def _open_head(self, pointer: Item | None) -> Head | None:
        """The head of the run that a pointer leads to, if that run is still open."""
        if pointer is None:
            return None
        key = head_key(pointer["run_id"])
        item = patiently(self.ports, lambda: self.ports.store.get(key))
        head = from_item(item) if item is not None else None
        return None if head is None or head.terminal else head

    def _run_id(self, pin: Pin) -> str:
        return run_id_from_route(self.report_id, 1, pin.workflow_key)

    def _start(self, pin: Pin, more: list[Write]) -> TakenIn | None:
        new_run = NewRun(
            run_id=self._run_id(pin),
            workflow_key=pin.workflow_key,
            version=pin.version,
            digest=pin.digest,
            authority=pin.authority,
            input=self.new.content,
            started_by=self.caller,
            report=self._view(),
            report_id=self.report_id,
            queue_id=self.queue.queue_id,
            origin={"kind": "report", "report_id": self.report_id},
        )
        answer = TakenIn(self.report_id, new_run.run_id, merged=False)
        taken = self._write([*more, *start_writes(self.ports, new_run)], answer)
        if taken is not None:
            hints.run_due(self.ports, new_run.run_id, self.now)
        return taken

    def _merge(self, head: Head) -> TakenIn | None:
        answer = TakenIn(self.report_id, head.run_id, merged=True)
        writes = merge_writes(self.ports, head, self.report_id, self._view(), self.now)
        taken = self._write(writes, answer)
        pointer = merge_pointer(head)
        if taken is not None and pointer.encode() not in head.inbox:
            wake(self.ports, head, pointer)
        return taken

    def _write(self, writes: list[Write], answer: TakenIn) -> TakenIn | None:
        report = Put(self.row_key, self._row(answer), (rules.NEW_ITEM,))
        records: list[Write] = [] if self.key_row == self.row_key else [self._key_put()]
        try:
            transact(self.ports, [report, *writes, *records])
        except ConditionsFailed as failed:
            first = failed.of(0)
            if first is not None and first.old_item is not None:
                return self._replayed(first.old_item)
            self._check_key()
            return None
        return answer

    def _check_key(self) -> bool:
        """Whether the key of a report with its sender's id is bound to it. Raises when it is bound to another."""
        if self.new.report_id is None:
            return True
        bound = patiently(self.ports, lambda: self.ports.store.get(self.key_row))
        if bound is not None:
            check_same(bound["fingerprint"], self.new.fingerprint())
        return bound is not None

    def _key_put(self) -> Put:
        key, fingerprint = self.key_row, self.new.fingerprint()
        item: Item = {
            "pk": key.pk,
            "sk": key.sk,
            "fingerprint": fingerprint,
            "binds_report_id": self.report_id,
        }
        return Put(key, item, (rules.NEW_ITEM,))

    def _replayed(self, row: Item) -> TakenIn:
        if self.new.report_id is None:
            check_same(row["fingerprint"], self.new.fingerprint())
            return replace(_answer_of(row), replayed=True)
        bound = self._check_key()
        if row["fingerprint"] != self.new.fingerprint():
            raise Conflict(
                f"report_id {self.report_id} was used before for a report with another content",
                "report_id_reused",
                pointer="/report_id",
                report_id=self.report_id,
                hint="give each report an id of its own; leave report_id out and one is made",
            )
        if not bound:
            try:
                write(self.ports, self._key_put())
            except ConditionsFailed:
                self._check_key()
        return replace(_answer_of(row), replayed=True)

    def _view(self) -> dict[str, Any]:
        """What expressions see as `report`."""
        return {
            "report_id": self.report_id,
            "queue_id": self.queue.queue_id,
            "subject_key": self.new.subject_key,
            "received_at": rfc3339(self.now),
            "content": self.new.content,
        }

    def _row(self, answer: TakenIn) -> Item:
        purpose = self.queue.primary.purpose if self.queue.primary is not None else "report"
        row: Item = {
            "pk": self.row_key.pk,
            "sk": self.row_key.sk,
            "installation_id": self.ports.installation_id,
            "report_id": self.report_id,
            "queue_id": self.queue.queue_id,
            "subject_key": self.new.subject_key,
            "content": canonical_bytes(self.new.content).decode(),
            "fingerprint": self.new.fingerprint(),
            "received_at": self.now,
            "received_from": self.caller,
            "merged": answer.merged,
            "report_queue_pk": report_shard_pk(self.queue.queue_id, self.report_id),
            "report_subject_pk": subject_pk(self.queue.queue_id, purpose, self.new.subject_key),
        }
        if answer.run_id is not None:
            row["run_id"] = answer.run_id
        return row


def _answer_of(row: Item) -> TakenIn:
    return TakenIn(row["report_id"], row.get("run_id"), row["merged"])
