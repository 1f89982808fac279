"""The canonical workflow document (architecture.md 6.1): what is digested and what the engine reads."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from casegraph.limits import (
    EXPRESSION_MAX_LENGTH,
    GRAPH_MAX_NODES,
    MAX_RETRY_ATTEMPTS,
    MAX_VISITS,
    MAX_VISITS_DEFAULT,
    RUN_DEADLINE_MAX_SECONDS,
    WAIT_MAX_SECONDS,
)

NodeId = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,99}$")]
PortName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,99}$")]
# Names of things beside the graph (queues, components, connectors, forms, templates): also in URLs and keys.
Name = Annotated[str, StringConstraints(pattern=r"^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,99}$")]
EventType = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$", max_length=100)]
ErrorCode = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
Expression = Annotated[str, StringConstraints(min_length=1, max_length=EXPRESSION_MAX_LENGTH)]
Seconds = Annotated[float, Field(gt=0, le=WAIT_MAX_SECONDS, allow_inf_nan=False)]
JsonObject = dict[str, Any]


class Model(BaseModel):
    """Base of everything in the document: frozen, and unknown fields are problems."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Retry(Model):
    """Attempts of a read-only call or send: exponential backoff with full jitter. No `retry_on`: every code that may
    be retried."""

    max_attempts: Annotated[int, Field(ge=1, le=MAX_RETRY_ATTEMPTS)] = 3
    initial_backoff_seconds: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] = 1.0
    max_backoff_seconds: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)] = 60.0
    multiplier: Annotated[float, Field(ge=1, le=10, allow_inf_nan=False)] = 2.0
    retry_on: tuple[ErrorCode, ...] = ()


class Node(Model):
    """One node. `config` is checked by its kind; `input_mapping` gives named CEL expressions."""

    id: NodeId
    kind: str
    config: JsonObject = Field(default_factory=dict)
    input_mapping: dict[str, Expression] = Field(default_factory=dict)
    retry: Retry | None = None
    timeout_seconds: Seconds | None = None
    due_seconds: Seconds | None = None
    max_visits: Annotated[int, Field(ge=1, le=MAX_VISITS)] = MAX_VISITS_DEFAULT


class PortRef(Model):
    """Where an edge starts."""

    node: NodeId
    port: PortName


class NodeRef(Model):
    """Where an edge ends."""

    node: NodeId


class Edge(Model):
    """One edge; a port has at most one."""

    from_: Annotated[PortRef, Field(alias="from")]
    to: NodeRef


class Document(Model):
    """The canonical document. Nodes stand in source order, start first, end last."""

    schema_version: Literal[1]
    key: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]{0,63}$")]
    name: Annotated[str, StringConstraints(max_length=200)] = ""
    description: Annotated[str, StringConstraints(max_length=10_000)] = ""
    owner: Annotated[str, StringConstraints(max_length=200)] = ""
    labels: dict[str, str] = Field(default_factory=dict)
    purpose: Literal["report", "appeal", "quality", "operations", "approval"]
    authority: Literal["off", "shadow", "assist", "bounded_auto"]
    deadline_seconds: (
        Annotated[float, Field(gt=0, le=RUN_DEADLINE_MAX_SECONDS, allow_inf_nan=False)] | None
    ) = None
    on_unhandled: Literal["attention", "fail"] = "attention"
    input_schema: JsonObject = Field(default_factory=dict)
    event_schemas: dict[EventType, JsonObject] = Field(default_factory=dict)
    nodes: Annotated[tuple[Node, ...], Field(min_length=1, max_length=GRAPH_MAX_NODES)]
    edges: tuple[Edge, ...] = ()

    def to_dict(self) -> JsonObject:
        """The canonical JSON form: every field that is not its default, by its name in the document."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
