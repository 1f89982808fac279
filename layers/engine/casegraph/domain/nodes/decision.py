"""decision: records an outcome with its policies, severity and reason, by a named actor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from casegraph.domain.graph.document import Model
from casegraph.domain.head import row_key
from casegraph.domain.ids import public_id
from casegraph.domain.nodes.actions import Action, Done, Failed
from casegraph.domain.nodes.kind import TEXT, Bundle, Input, NodeKind, Schema, record
from casegraph.domain.rules import NEW_ITEM
from casegraph.domain.writes import Item, Put

if TYPE_CHECKING:
    from casegraph.domain.burst.visit import Visit


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


def enter(visit: Visit) -> Action:
    """Record the decision: a row of the commit itself."""
    values = visit.input()
    if not isinstance(values.get("outcome"), str) or not values["outcome"]:
        return Failed("decision_outcome_missing")
    decision_id = public_id(visit.run_id, visit.step_id)
    policies = values.get("policies", [])
    output = {"decision_id": decision_id, "outcome": values["outcome"], "policies": policies}
    address = row_key(visit.run_id, f"DECISION#{visit.step_id}")
    item: Item = {
        "pk": address.pk,
        "sk": address.sk,
        "run_id": visit.run_id,
        "installation_id": visit.run.installation_id,
        "decision_id": decision_id,
        "recorded_at": visit.now,
        "workflow_key": visit.run.workflow_key,
        **visit.kept("decision", values),
    }
    return Done("recorded", output, writes=(Put(address, item, (NEW_ITEM,)),))


KIND = NodeKind(
    name="decision", config=Config, ports=ports, output=output, inputs=inputs, pure=True, enter=enter
)
