"""wait_for_event: waits for any of its event types, by key or sent to the run itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from casegraph.domain.burst.knowledge import CallResult
from casegraph.domain.graph.document import EventType, Expression, Model
from casegraph.domain.instants import rfc3339
from casegraph.domain.nodes.actions import Action, Done, Failed, Subscription, Wait
from casegraph.domain.nodes.kind import (
    INSTANT,
    TEXT,
    Bundle,
    ConfigProblem,
    ExpressionUse,
    NodeKind,
    Schema,
    record,
)
from casegraph.domain.signal import EventReceived, Resumption, TimedOut, match_of
from casegraph.limits import CORRELATION_KEY_MAX_CHARACTERS, WAIT_MAX_EVENT_TYPES

if TYPE_CHECKING:
    from casegraph.domain.burst.visit import Visit


class Config(Model):
    """event_types: any of these ends the wait; correlation_key: CEL that gives the key by which an event sent to
    no particular run finds this one; port_by_type: leave by a port per type instead of `received`."""

    event_types: Annotated[tuple[EventType, ...], Field(min_length=1, max_length=WAIT_MAX_EVENT_TYPES)]
    correlation_key: Expression | None = None
    port_by_type: bool = False


def port_of(config: Config, event_type: str) -> str:
    """The port that an event of this type takes: `received`, or the type with `.` written `_`."""
    return event_type.replace(".", "_") if config.port_by_type else "received"


def ports(config: Config, bundle: Bundle) -> tuple[str, ...]:
    """`received` or one per event type, then `timeout`."""
    return (*dict.fromkeys(port_of(config, t) for t in config.event_types), "timeout")


def output(config: Config, bundle: Bundle) -> Schema:
    """`type`, `key`, `payload` (by the event's schema when only one type is awaited), `source`, `received_at`."""
    schemas: dict[str, Any] = bundle.get("graph", {}).get("event_schemas", {})
    payload = schemas.get(config.event_types[0], {}) if len(config.event_types) == 1 else {}
    return record(
        {
            "type": {"type": "string", "enum": list(config.event_types)},
            "key": TEXT,
            "payload": payload,
            "source": TEXT,
            "received_at": INSTANT,
        }
    )


def expressions(config: Config) -> list[ExpressionUse]:
    """The correlation key."""
    if config.correlation_key is None:
        return []
    return [ExpressionUse("/config/correlation_key", config.correlation_key, "string")]


def problems(config: Config, bundle: Bundle) -> list[ConfigProblem]:
    """Types are distinct, and so are their ports."""
    found = []
    for i, name in enumerate(config.event_types):
        earlier = config.event_types[:i]
        if name in earlier:
            found.append(
                ConfigProblem(f"/config/event_types/{i}", "event_type_duplicate", f"{name!r} is there twice")
            )
        elif config.port_by_type and port_of(config, name) in (
            "timeout",
            "error",
            *(port_of(config, e) for e in earlier),
        ):
            text = f"event type {name!r} would give a second port {port_of(config, name)!r}"
            found.append(ConfigProblem(f"/config/event_types/{i}", "port_duplicate", text, "rename the type"))
    return found


def enter(visit: Visit) -> Action:
    """Open the wait; one with a correlation key is also found by events that name no run."""
    config = visit.node.config
    if config.correlation_key is None:
        return Wait("event", visit.timeout_at)
    key = visit.evaluate(config.correlation_key, {"node_input": visit.input()})
    if not isinstance(key, str) or not 0 < len(key) <= CORRELATION_KEY_MAX_CHARACTERS:
        return Failed("correlation_key_invalid")  # no event could be sent with it
    match = match_of(key)
    return Wait(
        "event",
        visit.timeout_at,
        match=match,
        subscription=Subscription(config.event_types, match),
        detail={"event_types": list(config.event_types), "key": key},
    )


def resume(visit: Visit, signal: Resumption | CallResult) -> Action:
    """The event that came, or the deadline."""
    if isinstance(signal, TimedOut):
        return Done("timeout", {"timed_out": True}, "timed_out")
    assert isinstance(signal, EventReceived)
    event = signal.row
    output = {
        "type": event["event_type"],
        "key": event["key"],
        "payload": visit.stored(event, "payload"),
        "source": event["source"],
        "received_at": rfc3339(event["received_at"]),
    }
    return Done(port_of(visit.node.config, event["event_type"]), output)


KIND = NodeKind(
    name="wait_for_event",
    config=Config,
    ports=ports,
    output=output,
    expressions=expressions,
    problems=problems,
    waits=True,
    needs_timeout=True,
    opens_rows=True,
    enter=enter,
    resume=resume,
)
