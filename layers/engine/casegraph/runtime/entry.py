"""What the four handlers call: one function each, from an event and a context to an answer."""

from __future__ import annotations

from typing import Any

from casegraph.application.advance_run import advance_run
from casegraph.application.deliver_effect import Delivered, deliver_effect
from casegraph.application.ports import Deadline
from casegraph.application.reconcile import reconcile
from casegraph.limits import EFFECT_CALL_TIMEOUT_SECONDS
from casegraph.runtime.batch import NotStarted, serve_batch
from casegraph.runtime.container import container
from casegraph.runtime.deadline import InvocationDeadline, LambdaContext
from casegraph.runtime.jobs import parse_advance_run, parse_deliver_effect


def execute(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """A batch of the execute queue: advance the run of each record."""
    made = container()

    def serve(body: str, deadline: Deadline) -> None:
        job = parse_advance_run(body)
        result = advance_run(made.ports, job.run_id, deadline)
        made.journal.event("advanced", run_id=job.run_id, job_id=job.job_id, result=result.value)

    return serve_batch(event, context, made.journal, serve, needed_milliseconds=0)


def dispatch(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """A batch of the dispatch queue: deliver the effect of each record."""
    made = container()

    def serve(body: str, deadline: Deadline) -> None:
        job = parse_deliver_effect(body)
        result = deliver_effect(made.ports, job.run_id, job.effect_id, deadline)
        made.journal.event("delivered", run_id=job.run_id, job_id=job.job_id, result=result.value)
        if result is Delivered.NO_TIME:
            raise NotStarted("no time is left in this invocation")

    return serve_batch(
        event, context, made.journal, serve, needed_milliseconds=EFFECT_CALL_TIMEOUT_SECONDS * 1000
    )


def sweep(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """The schedule's tick: sweep what is due. The event says nothing that matters."""
    made = container()
    made.journal.begin(context.aws_request_id)
    try:
        swept = reconcile(made.ports, InvocationDeadline(context))
    finally:
        made.journal.flush()
    return {"runs": swept.runs, "effects": swept.effects, "failed": swept.failed, "shed": swept.shed}
