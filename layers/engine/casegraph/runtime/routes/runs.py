"""Starting runs, looking at them, steering them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from casegraph.application import control_run, cursors, explain, queries, run_views
from casegraph.application.control_run import Control, Controlled
from casegraph.application.heads import read_head
from casegraph.application.publish import read_version
from casegraph.application.schemas import require_valid
from casegraph.application.start_run import NewRun, Started, start_run, started_before
from casegraph.domain.head import Head
from casegraph.domain.ids import run_id_from_key
from casegraph.domain.instants import parse_instant
from casegraph.errors import InvalidInput, NotFound
from casegraph.runtime.endpoint import Call, Reply, get, post
from casegraph.runtime.models import Body, Instant, Listing, Reason, ReportId, Revision, WorkflowKey


class StartBody(Body):
    """POST of a run. version: the latest when none is given."""

    workflow_key: WorkflowKey
    input: dict[str, Any] = Field(default_factory=dict)
    version: Annotated[int, Field(ge=1)] | None = None


class ControlBody(Body):
    """Why, and at which revision the run was seen."""

    reason: Reason
    expected_revision: Revision | None = None


class PauseBody(ControlBody):
    """until_at: resume by itself then."""

    until_at: Instant | None = None


class ResumeBody(ControlBody):
    """deadlines: `shift` by the pause's length, or `keep`."""

    deadlines: Literal["shift", "keep"] = "shift"


State = Literal[
    "pending", "running", "waiting", "leased", "paused", "attention",
    "succeeded", "failed", "timed_out", "terminated", "superseded",
]  # fmt: skip


class RunQuery(Listing):
    """Filters of the list of runs."""

    state: State | None = None
    workflow: WorkflowKey | None = None
    report_id: ReportId | None = None
    code: Annotated[str, Field(max_length=64)] | None = None


def visible_run(call: Call) -> Head:
    """The run of the path. Raises `NotFound` for one in a queue that the caller may not see."""
    run_id = call.params["run_id"]
    head = read_head(call.ports, run_id)
    if not call.principal.sees(head.queue_id):
        raise NotFound(f"there is no run {run_id}", "run_not_found", run_id=run_id)
    return head


def start(call: Call) -> Reply:
    """Start a run by hand or by another system, without a report."""
    body = call.body(StartBody)
    row = read_version(call.ports, body.workflow_key, body.version)
    subject = call.principal.subject
    new = NewRun(
        run_id=run_id_from_key(call.ports.installation_id, subject, "start_run", call.idempotency_key),
        workflow_key=row["workflow_key"],
        version=row["version"],
        digest=row["digest"],
        authority=row["authority"],
        input=body.input,
        started_by=subject,
        requested_version=body.version,
        origin={"kind": "request"},
    )
    started = _started(call, new)
    return Reply({"run_id": started.run_id, "replayed": started.replayed}, 200 if started.replayed else 201)


def _started(call: Call, new: NewRun) -> Started:
    schema = call.ports.versions.graph(new.digest).document.input_schema
    try:
        require_valid(call.schemas, schema, new.input, what="the input", code="input_invalid", at="/input")
    except InvalidInput:
        if earlier := started_before(call.ports, new):
            return earlier
        raise
    return start_run(call.ports, new)


def show(call: Call) -> Reply:
    """One run."""
    return Reply(run_views.run_view(call.ports, visible_run(call)))


def index(call: Call) -> Reply:
    """Runs, the newest first."""
    query = call.filters(RunQuery)
    filters = queries.RunFilters(query.state, query.workflow, query.report_id, query.code)
    bound = query.model_dump(exclude={"limit", "cursor"})
    position = cursors.decode("runs", bound, query.cursor, int, str, str)
    items, more = queries.list_runs(call.ports, filters, call.principal.sees, position, query.limit)
    return Reply(
        {"items": items, "next_cursor": cursors.encode("runs", bound, None if more is None else [*more])}
    )


def steps(call: Call) -> Reply:
    """The steps that finished."""
    head, query = visible_run(call), call.filters(Listing)
    bound = {"run_id": head.run_id}
    position = cursors.decode("steps", bound, query.cursor, int, int)
    items, more = run_views.steps_page(call.ports, head.run_id, position or (0, 0), query.limit)
    return Reply({"items": items, "next_cursor": cursors.encode("steps", bound, more)})


def log(call: Call) -> Reply:
    """What each commit wrote, with the check of its hash chain."""
    head, query = visible_run(call), call.filters(Listing)
    bound = {"run_id": head.run_id}
    position = cursors.decode("log", bound, query.cursor, int)
    items, faults, more = run_views.log_page(
        call.ports, head.run_id, position[0] if position else None, query.limit
    )
    return Reply(
        {
            "items": items,
            "chain": {"verified": not faults, "faults": faults},
            "next_cursor": cursors.encode("log", bound, None if more is None else [more]),
        }
    )


def why(call: Call) -> Reply:
    """What the run waits for."""
    return Reply(explain.why(call.ports, visible_run(call)))


def pause(call: Call) -> Reply:
    """Let nothing advance."""
    head, body = visible_run(call), call.body(PauseBody)
    until = parse_instant(body.until_at)
    return _controlled(control_run.pause(call.ports, head.run_id, _control(call, body), until=until))


def resume(call: Call) -> Reply:
    """Go on."""
    head, body = visible_run(call), call.body(ResumeBody)
    return _controlled(
        control_run.resume(call.ports, head.run_id, _control(call, body), deadlines=body.deadlines)
    )


def terminate(call: Call) -> Reply:
    """End the run now."""
    head, body = visible_run(call), call.body(ControlBody)
    return _controlled(control_run.terminate(call.ports, head.run_id, _control(call, body)))


def _control(call: Call, body: ControlBody) -> Control:
    return Control(call.principal.subject, body.reason, call.idempotency_key, body.expected_revision)


def _controlled(done: Controlled) -> Reply:
    return Reply(
        {"run_id": done.run_id, "revision": done.revision, "state": done.state, "replayed": done.replayed}
    )


ROUTES = (
    post("/v1/runs", start, creates=True),
    get("/v1/runs", index),
    get("/v1/runs/{run_id}", show),
    get("/v1/runs/{run_id}/steps", steps),
    get("/v1/runs/{run_id}/log", log),
    get("/v1/runs/{run_id}/why", why),
    post("/v1/runs/{run_id}/pause", pause, creates=True),
    post("/v1/runs/{run_id}/resume", resume, creates=True),
    post("/v1/runs/{run_id}/terminate", terminate, creates=True),
)
