"""start_linked_workflow: starts a run of another workflow in its own commit; awaited, it waits for that run's end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, StringConstraints

from casegraph.domain import child
from casegraph.domain.burst.knowledge import CallResult, version_of
from casegraph.domain.graph.document import Model
from casegraph.domain.head import TERMINAL_OUTCOMES
from casegraph.domain.nodes.actions import Action, Done, Failed, Wait
from casegraph.domain.nodes.kind import TEXT, Bundle, NodeKind, Schema, record
from casegraph.domain.signal import ChildEnded, Resumption, TimedOut
from casegraph.limits import MAX_LINKED_RUNS

if TYPE_CHECKING:
    from casegraph.domain.burst.visit import Visit


class Config(Model):
    """workflow_key, version (None: the newest at the start); await: stand until the child has ended;
    cascade: whether a child is ended with the wait for it (timeout, lost branch) or with the run that started it."""

    workflow_key: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
    version: Annotated[int, Field(ge=1)] | None = None
    awaited: Annotated[bool, Field(alias="await")] = False
    cascade: Literal["cancel", "detach"] = "cancel"


def ports(config: Config, bundle: Bundle) -> tuple[str, ...]:
    """`started`; awaited: `completed`, `failed`, `timeout`."""
    return ("completed", "failed", "timeout") if config.awaited else ("started",)


def output(config: Config, bundle: Bundle) -> Schema:
    """`run_id`; awaited also `outcome` and `output` (what the child's end was given; null if nothing)."""
    if not config.awaited:
        return record({"run_id": TEXT})
    outcome = {"type": "string", "enum": list(TERMINAL_OUTCOMES)}
    return record({"run_id": TEXT, "outcome": outcome, "output": {}})


def waits_for_child(config: Config) -> bool:
    """An awaited child may stand in attention: its wait needs a timeout."""
    return config.awaited


def enter(visit: Visit) -> Action:
    """Start the child: its run, its row and this step are one commit."""
    config, run = visit.node.config, visit.run
    if run.depth >= MAX_LINKED_RUNS:
        return Failed("linked_workflow_depth_exceeded")
    version = version_of(visit.knowledge, config.workflow_key, config.version)
    if version is None:
        return Failed("linked_workflow_not_found")
    if version["purpose"] == "report":
        return Failed("linked_primary_workflow_prohibited")
    authority = child.lower_authority(run.authority, version["authority"])
    if authority != "assist":
        return Failed("authority_not_supported")
    facts = visit.facts()
    new = child.NewChild(
        run_id=child.child_run_id(visit.run_id, visit.step_id),
        step=visit.step_id,
        workflow_key=version["workflow_key"],
        version=version["version"],
        digest=version["digest"],
        authority=authority,
        input=visit.input(),
        report=visit.stored(facts, "report"),
        started_by=facts.get("started_by", ""),
    )
    row = child.opened(run, new, config.cascade, awaited=config.awaited, now=visit.now)
    visit.check_size(new.input)
    if not config.awaited:
        cascades = config.cascade == child.CANCEL
        return Done("started", {"run_id": new.run_id}, writes=(row,), child=new, cascades=cascades)
    detail = {"child_run_id": new.run_id}
    return Wait("child", visit.timeout_at, writes=(row,), child=new, detail=detail)


def resume(visit: Visit, signal: Resumption | CallResult) -> Action:
    """The child's end, or the deadline; on the deadline a child that cascades is ended in pages."""
    if isinstance(signal, TimedOut):
        closes = visit.node.config.cascade == child.CANCEL
        return Done("timeout", {"timed_out": True}, "timed_out", closes=closes)
    assert isinstance(signal, ChildEnded)
    row = signal.row
    output = {
        "run_id": row["child_run_id"],
        "outcome": row["outcome"],
        "output": visit.stored(row, "output"),
    }
    if row["outcome"] == "succeeded":
        return Done("completed", output)
    return Done("failed", output, "failed", row.get("error_code") or row["outcome"])


KIND = NodeKind(
    name="start_linked_workflow",
    config=Config,
    ports=ports,
    output=output,
    waits=True,
    timeout_if=waits_for_child,
    opens_rows=True,
    enter=enter,
    resume=resume,
)
