"""enrichment: asks a read-only component; its answer is the node's output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from casegraph.domain.burst.knowledge import CallResult
from casegraph.domain.graph.document import Expression, Model, Name, PortName, Seconds
from casegraph.domain.nodes.actions import Action, AskAgain, CallComponent, Done, Failed
from casegraph.domain.nodes.kind import Bundle, ConfigProblem, ExpressionUse, NodeKind, Schema
from casegraph.domain.signal import Resumption
from casegraph.limits import COMPONENT_CALL_TIMEOUT_SECONDS, MAX_POLL_ATTEMPTS

if TYPE_CHECKING:
    from casegraph.domain.burst.visit import Visit


class Poll(Model):
    """until: CEL over `result`, true when the answer is the one that was waited for; attempts: calls at most, failed
    ones included; when they are used up the node fails with `poll_exhausted`."""

    until: Expression
    interval_seconds: Seconds
    attempts: Annotated[int, Field(ge=1, le=MAX_POLL_ATTEMPTS)]


class Config(Model):
    """component_id: the component to ask; cost: a costly answer is committed before the walk goes on;
    ports: result ports that the component declares besides `success`; poll: ask again until it holds."""

    component_id: Name
    cost: Literal["cheap", "costly"] = "cheap"
    ports: tuple[PortName, ...] = ()
    poll: Poll | None = None


def ports(config: Config, bundle: Bundle) -> tuple[str, ...]:
    """`success`, the component's declared ports, `error`."""
    return ("success", *config.ports, "error")


def output(config: Config, bundle: Bundle) -> Schema:
    """The component's result: its output schema as publication copied it into the bundle; else anything."""
    schema: Schema = bundle.get("components", {}).get(config.component_id, {}).get("output_schema", {})
    return schema


def expressions(config: Config) -> list[ExpressionUse]:
    """The condition of a poll."""
    if config.poll is None:
        return []
    return [ExpressionUse("/config/poll/until", config.poll.until, "bool", ("result",))]


def problems(config: Config, bundle: Bundle) -> list[ConfigProblem]:
    """Declared ports may not repeat or shadow the kind's own."""
    return [
        ConfigProblem(f"/config/ports/{index}", "port_duplicate", f"port {port!r} is there already")
        for index, port in enumerate(config.ports)
        if port in ("success", "error", *config.ports[:index])
    ]


def enter(visit: Visit) -> Action:
    """Ask the component."""
    config = visit.node.config
    return CallComponent(
        config.component_id,
        visit.input(),
        visit.node.node.timeout_seconds or COMPONENT_CALL_TIMEOUT_SECONDS,
        costly=config.cost == "costly",
    )


def resume(visit: Visit, signal: Resumption | CallResult) -> Action:
    """Its answer is the output."""
    assert isinstance(signal, CallResult)
    if signal.port not in visit.node.ports:
        return Failed("component_port_invalid")
    poll = visit.node.config.poll
    if poll is None or visit.evaluate_bool(poll.until, {"result": signal.value}):
        return Done(signal.port, signal.value)
    if visit.token.attempt >= poll.attempts:
        return Failed("poll_exhausted")
    return AskAgain(visit.now + round(poll.interval_seconds * 1000))


KIND = NodeKind(
    name="enrichment",
    config=Config,
    ports=ports,
    optional_ports=frozenset({"error"}),
    output=output,
    expressions=expressions,
    problems=problems,
    retries=True,
    enter=enter,
    resume=resume,
)
