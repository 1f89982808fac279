"""Taking reports in and reading them."""

from __future__ import annotations

from typing import Any

from casegraph.application import cursors, queries
from casegraph.application.intake_report import (
    NewReport,
    TakenIn,
    intake_report,
    is_report,
    queue_of,
    taken_before,
)
from casegraph.application.queues import Queue
from casegraph.application.schemas import require_valid
from casegraph.errors import InvalidInput
from casegraph.runtime.endpoint import Call, Reply, get, post
from casegraph.runtime.models import Body, Listing, ObjectId, ReportId, SubjectKey


class ReportBody(Body):
    """POST of a report. content: what was reported; it becomes the run's `input`. queue_id: else the default queue."""

    subject_key: SubjectKey
    content: dict[str, Any]
    queue_id: ObjectId | None = None
    report_id: ReportId | None = None


class ReportQuery(Listing):
    """A list of reports is a queue's."""

    queue_id: ObjectId


def create(call: Call) -> Reply:
    """Take a report in: `{report_id, run_id, merged}`."""
    body = call.body(ReportBody)
    call.queue_exists(body.queue_id)
    new = NewReport(body.subject_key, body.content, body.queue_id, body.report_id)
    taken = _taken_in(call, new)
    answer = {"report_id": taken.report_id, "run_id": taken.run_id, "merged": taken.merged}
    return Reply({**answer, "replayed": taken.replayed}, 200 if taken.replayed else 201)


def _taken_in(call: Call, new: NewReport) -> TakenIn:
    caller, key = call.principal.subject, call.idempotency_key
    try:
        queue = _queue_that_takes(call, new)
    except InvalidInput:
        if earlier := taken_before(call.ports, new, caller=caller, idempotency_key=key):
            return earlier
        raise
    return intake_report(call.ports, new, queue, caller=caller, idempotency_key=key)


def _queue_that_takes(call: Call, new: NewReport) -> Queue:
    queue = queue_of(call.ports, new)
    if not call.principal.sees(queue.queue_id):
        # The queue that was named has been looked at before: this is the default one, not to be named to the caller.
        raise InvalidInput(
            "the report names no queue_id, and the default queue is not one of yours",
            "queue_missing",
            pointer="/queue_id",
            hint="send queue_id; GET /v1/me lists your queues",
        )
    if queue.primary is not None:
        schema = call.ports.versions.graph(queue.primary.digest).document.input_schema
        require_valid(
            call.schemas, schema, new.content, what="the report", code="input_invalid", at="/content"
        )
    return queue


def show(call: Call) -> Reply:
    """One report with its content."""
    report_id = call.params["report_id"]
    row = queries.read_report(call.ports, report_id)
    if not is_report(row) or not call.principal.sees(row["queue_id"]):
        raise queries.report_not_found(report_id)
    return Reply(queries.report_view(row, content=True))


def index(call: Call) -> Reply:
    """Reports of a queue, the newest first."""
    query = call.filters(ReportQuery)
    call.queue_exists(query.queue_id)
    bound = {"queue_id": query.queue_id}
    position = cursors.decode("reports", bound, query.cursor, int, str, str)
    items, more = queries.list_reports(call.ports, query.queue_id, position, query.limit)
    return Reply(
        {"items": items, "next_cursor": cursors.encode("reports", bound, None if more is None else [*more])}
    )


ROUTES = (
    post("/v1/reports", create, creates=True),
    get("/v1/reports", index),
    get("/v1/reports/{report_id}", show),
)
