"""decision: records an outcome with its policies, severity and reason, by a named actor."""

from __future__ import annotations

from casegraph.domain.graph.document import Model
from casegraph.domain.nodes.kind import TEXT, Bundle, Input, NodeKind, Schema, record


class Config(Model):
    """Nothing to configure: outcome, policies, severity, reason and actor come from `input_mapping`."""


def ports(config: Config, bundle: Bundle) -> tuple[str, ...]:
    """`recorded`."""
    return ("recorded",)


def output(config: Config, bundle: Bundle) -> Schema:
    """`decision_id`, `outcome`, `policies`."""
    return record({"decision_id": TEXT, "outcome": TEXT, "policies": {"type": "array", "items": {}}})


def inputs(config: Config, bundle: Bundle) -> tuple[Input, ...]:
    """What a decision is made of (architecture.md 6.1)."""
    return (
        Input("outcome", "string", required=True),
        Input("policies", "list"),
        Input("severity"),
        Input("reason", "string"),
        Input("actor", "string"),
    )


KIND = NodeKind(name="decision", config=Config, ports=ports, output=output, inputs=inputs, pure=True)
