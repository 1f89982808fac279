"""Events: to one run, or to whichever run waits for their type and key."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from casegraph.application.accept_event import Accepted, Event, accept_for_run
from casegraph.application.parked_events import accept_by_key
from casegraph.application.schemas import require_valid
from casegraph.domain.head import Head
from casegraph.errors import InvalidInput
from casegraph.runtime.endpoint import Call, Reply, post
from casegraph.runtime.identity import ALL_QUEUES
from casegraph.runtime.models import Body, CorrelationKey, EventType, SenderKey
from casegraph.runtime.routes.runs import visible_run


class EventBody(Body):
    """event_id: the sender's own id of the event; the same one again changes nothing."""

    type: EventType
    event_id: SenderKey
    payload: dict[str, Any] = Field(default_factory=dict)


class RunEventBody(EventBody):
    """An event to a run; key: only a wait for this correlation key takes it."""

    key: CorrelationKey | None = None


class KeyedEventBody(EventBody):
    """An event that names no run."""

    key: CorrelationKey


def to_run(call: Call) -> Reply:
    """Store an event for one run. Refuses a type that the run's graph never waits for."""
    head, body = visible_run(call), call.body(RunEventBody)
    _check_type(call, head, body)
    event = Event(body.type, body.event_id, body.key or "", body.payload, call.principal.subject)
    return _accepted(accept_for_run(call.ports, head.run_id, event))


def _check_type(call: Call, head: Head, body: EventBody) -> None:
    document = call.ports.versions.graph(head.digest)
    types = {t for node in document.nodes for t in getattr(node.config, "event_types", ())}
    if body.type not in types:
        raise InvalidInput(
            f"no node of {head.workflow_key} version {head.version} waits for events of type {body.type}",
            "event_type_unknown",
            pointer="/type",
            allowed=sorted(types),
        )
    schema = document.document.event_schemas.get(body.type)
    if schema is not None:
        require_valid(
            call.schemas, schema, body.payload, what="the payload", code="event_invalid", at="/payload"
        )


def by_key(call: Call) -> Reply:
    """Store an event for the run that waits, or will wait, for its type and key."""
    body = call.body(KeyedEventBody)
    everywhere = ALL_QUEUES in call.principal.queues
    queues = None if everywhere else tuple(sorted(call.principal.queues))
    event = Event(body.type, body.event_id, body.key, body.payload, call.principal.subject, queues)
    return _accepted(accept_by_key(call.ports, event))


def _accepted(accepted: Accepted) -> Reply:
    return Reply(
        {"run_id": accepted.run_id, "replayed": accepted.replayed, "late": accepted.late},
        200 if accepted.replayed else 202,
    )


ROUTES = (
    post("/v1/runs/{run_id}/events", to_run),
    post("/v1/events", by_key),
)
