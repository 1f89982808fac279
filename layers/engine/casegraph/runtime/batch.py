"""SQS batches: each record on its own, time checked before each, partial failures reported (S20)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response
from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord

from casegraph.application.ports import Deadline
from casegraph.errors import CasegraphError
from casegraph.limits import COMMIT_RESERVE_MILLISECONDS
from casegraph.runtime.deadline import InvocationDeadline, LambdaContext
from casegraph.runtime.observability import LambdaJournal

# Serves one record's body.
Serve = Callable[[str, Deadline], None]


class NotStarted(CasegraphError):
    """No time was left for this record; it stays in the queue."""

    default_code = "job_not_started"


def serve_batch(
    event: dict[str, Any],
    context: LambdaContext,
    journal: LambdaJournal,
    serve: Serve,
    needed_milliseconds: int,
) -> dict[str, Any]:
    """Serve a batch; the answer names the records that failed or were not started, and only those come back.

    needed_milliseconds: what one record may take; a record is not started when less is left.
    """
    deadline = InvocationDeadline(context)
    journal.begin(context.aws_request_id)

    def one(record: SQSRecord) -> None:
        if deadline.remaining_milliseconds() < needed_milliseconds + COMMIT_RESERVE_MILLISECONDS:
            journal.event("job_not_started", message_id=record.message_id)
            raise NotStarted("no time is left in this invocation")
        try:
            serve(record.body, deadline)
        except CasegraphError as failure:
            known = "job_malformed" if failure.code == "job_malformed" else "invocation_failed"
            journal.event(known, message_id=record.message_id, code=failure.code)
            raise
        except Exception as failure:
            journal.event("invocation_failed", message_id=record.message_id, code=type(failure).__name__)
            raise

    processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
    try:
        answer = process_partial_response(
            event=event,
            record_handler=one,
            processor=processor,
            context=context,  # type: ignore[arg-type]
        )
        return dict(answer)
    finally:
        journal.flush()
