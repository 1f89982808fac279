"""enrichment: asks a read-only component; its answer is the node's output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from casegraph.domain.burst.knowledge import CallResult
from casegraph.domain.graph.document import Model, Name, PortName
from casegraph.domain.nodes.actions import Action, CallComponent, Done, Failed
from casegraph.domain.nodes.kind import Bundle, ConfigProblem, NodeKind, Schema
from casegraph.domain.signal import Resumption
from casegraph.limits import COMPONENT_CALL_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from casegraph.domain.burst.visit import Visit


class Config(Model):
    """component_id: the component to ask; cost: a costly answer is committed before the walk goes on;
    ports: result ports that the component declares besides `success`."""

    component_id: Name
    cost: Literal["cheap", "costly"] = "cheap"
    ports: tuple[PortName, ...] = ()


def ports(config: Config, bundle: Bundle) -> tuple[str, ...]:
    """`success`, the component's declared ports, `error`."""
    return ("success", *config.ports, "error")


def output(config: Config, bundle: Bundle) -> Schema:
    """The component's result: its output schema as publication copied it into the bundle; else anything."""
    schema: Schema = bundle.get("components", {}).get(config.component_id, {}).get("output_schema", {})
    return schema


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
    return Done(signal.port, signal.value)


KIND = NodeKind(
    name="enrichment",
    config=Config,
    ports=ports,
    optional_ports=frozenset({"error"}),
    output=output,
    problems=problems,
    retries=True,
    enter=enter,
    resume=resume,
)
