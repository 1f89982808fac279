"""Small graphs, each for one part of the protocol."""

from __future__ import annotations

from typing import Any

from casegraph.testing.bundles import JsonObject, bundle, form, node

__all__ = ["node"]

ANY_OBJECT: JsonObject = {"type": "object"}
FORMS = {"review": form("accept", "reject")}
MESSAGES = {"note": {"subject": "About {{key}}", "body": "Your case {{key}} moved on.", "language": "en"}}
ANSWER = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}
SIGNAL = {
    "type": "object",
    "properties": {"again": {"type": "boolean"}},
    "required": ["again"],
    "additionalProperties": False,
}
COMPONENTS = {name: {"output_schema": ANSWER} for name in ("cheap", "other", "costly")}
EVENTS = ("step.done", "case.closed")
INPUT = {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]}


def review(node_id: str, seconds: float = 3600, **fields: Any) -> JsonObject:
    """A person's review."""
    config = {"queue_id": "reviews", "form": "review"}
    return node(node_id, "human_task", config, timeout_seconds=seconds, **fields)


def wait(node_id: str, *types: str, seconds: float = 3600, **config: Any) -> JsonObject:
    """A wait for any of some event types."""
    return node(
        node_id,
        "wait_for_event",
        {"event_types": list(types or EVENTS[:1]), **config},
        timeout_seconds=seconds,
    )


def call(node_id: str, component: str = "cheap", **fields: Any) -> JsonObject:
    """A read-only call; the component `costly` costs."""
    config = {"component_id": component, "cost": "costly" if component == "costly" else "cheap"}
    return node(node_id, "enrichment", config, **fields)


def mail(node_id: str, recovery: str = "idempotent", **fields: Any) -> JsonObject:
    """A message through the connector `mail`."""
    config = {"connector_id": "mail", "template": "note", "recovery": recovery}
    return node(node_id, "send_message", config, input_mapping={"to": '"someone"', "key": '"k"'}, **fields)


def rest(node_id: str, seconds: float) -> JsonObject:
    """A delay."""
    return node(node_id, "delay", {"for_seconds": seconds})


def decide(node_id: str, outcome: str) -> JsonObject:
    """A decision with a fixed outcome, or a CEL expression."""
    return node(node_id, "decision", input_mapping={"outcome": outcome})


def graph(key: str, nodes: list[JsonObject], wires: list[str], **more: Any) -> JsonObject:
    """A bundle of these nodes, with start and end added."""
    return bundle(
        key, [node("start", "start"), *nodes, node("end", "end")], wires, forms=FORMS, messages=MESSAGES,
        components=COMPONENTS, input_schema=INPUT, event_schemas=dict.fromkeys(EVENTS, SIGNAL), **more,
    )  # fmt: skip


def person(seconds: float = 3600, **more: Any) -> JsonObject:
    """start > review > end."""
    return graph(
        "person",
        [review("review", seconds)],
        ["start.success > review", "review.accept > end", "review.reject > end", "review.timeout > end"],
        **more,
    )


def listener(*types: str, seconds: float = 3600, **config: Any) -> JsonObject:
    """start > listen > end."""
    return graph(
        "listener",
        [wait("listen", *types, seconds=seconds, **config)],
        ["start.success > listen", "listen.received > end", "listen.timeout > end"],
    )


def sender(recovery: str = "idempotent", **more: Any) -> JsonObject:
    """start > send > end; an unhandled failure stops the branch."""
    return graph("sender", [mail("send", recovery)], ["start.success > send", "send.sent > end"], **more)


def caller(component: str = "cheap", **fields: Any) -> JsonObject:
    """start > look > done > end: the decision reads what the call answered."""
    return graph(
        "caller",
        [call("look", component, **fields), decide("done", "string(nodes.look.score)")],
        ["start.success > look", "look.success > done", "done.recorded > end"],
    )


def sleeper(seconds: float) -> JsonObject:
    """start > rest > end."""
    return graph("sleeper", [rest("rest", seconds)], ["start.success > rest", "rest.completed > end"])


def fork(
    mode: str, branches: dict[str, JsonObject], then: list[JsonObject] | None = None, **more: Any
) -> JsonObject:
    """A fork with one node per branch, joined by `mode`, then optional nodes in a row."""
    nodes = [node("fork", "parallel", {"branches": list(branches)}), *branches.values()]
    nodes += [node("join", "join", {"mode": mode}), *(then or [])]
    wires = ["start.success > fork"]
    for branch, inner in branches.items():
        wires.append(f"fork.{branch} > {inner['id']}")
        wires += [f"{inner['id']}.{port} > join" for port in PORTS[inner["kind"]]]
    row = ["join.success", *(f"{n['id']}.{PORTS[n['kind']][0]}" for n in then or [])]
    targets = [*(n["id"] for n in then or []), "end"]
    wires += [f"{source} > {target}" for source, target in zip(row, targets, strict=True)]
    for inner in then or []:
        wires += [f"{inner['id']}.{port} > end" for port in PORTS[inner["kind"]][1:]]
    return graph(f"fork_{mode}", nodes, wires, **more)


PORTS = {
    "human_task": ("accept", "reject", "timeout"),
    "wait_for_event": ("received", "timeout"),
    "send_message": ("sent",),
    "delay": ("completed",),
    "enrichment": ("success",),
    "decision": ("recorded",),
}
