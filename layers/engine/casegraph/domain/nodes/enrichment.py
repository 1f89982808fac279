"""enrichment: asks a read-only component; its answer is the node's output."""

from __future__ import annotations

from typing import Literal

from casegraph.domain.graph.document import Model, Name, PortName
from casegraph.domain.nodes.kind import Bundle, ConfigProblem, NodeKind, Schema


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


KIND = NodeKind(
    name="enrichment",
    config=Config,
    ports=ports,
    optional_ports=frozenset({"error"}),
    output=output,
    problems=problems,
    retries=True,
)
