"""The graphs of the simulation: small, and together every node kind with its waits, loops, forks and recoveries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from casegraph.testing.bundles import JsonObject, bundle, form, node

INPUT = {
    "type": "object",
    "properties": {"key": {"type": "string"}},
    "required": ["key"],
    "additionalProperties": False,
}
ANSWER = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}
SIGNAL = {
    "type": "object",
    "properties": {"n": {"type": "integer"}, "done": {"type": "boolean"}},
    "required": ["n", "done"],
    "additionalProperties": False,
}
FORMS = {"review": form("accept", "reject")}
MESSAGES = {"note": {"subject": "About {{key}}", "body": "Your case {{key}} moved on.", "language": "en"}}
COMPONENTS = {"cheap": {"output_schema": ANSWER}, "costly": {"output_schema": ANSWER}}
RETRY = {
    "max_attempts": 4,
    "initial_backoff_seconds": 2.0,
    "max_backoff_seconds": 30.0,
    "multiplier": 2.0,
}
MINUTES = 60.0


def decision(node_id: str, outcome: str) -> JsonObject:
    """A decision with a fixed outcome."""
    return node(node_id, "decision", input_mapping={"outcome": f'"{outcome}"'})


def message(node_id: str, recovery: str, **fields: Any) -> JsonObject:
    """A message to the connector of this recovery class."""
    config = {"connector_id": f"{recovery}-mail", "template": "note", "recovery": recovery}
    return node(
        node_id, "send_message", config, input_mapping={"to": '"someone"', "key": "input.key"}, **fields
    )


def review(node_id: str, minutes: float = 40) -> JsonObject:
    """A person's review."""
    config = {"queue_id": "reviews", "form": "review"}
    return node(
        node_id, "human_task", config, due_seconds=minutes * 30, timeout_seconds=minutes * MINUTES,
        input_mapping={"key": "input.key"},
    )  # fmt: skip


def wait(node_id: str, *types: str, minutes: float = 25, **config: Any) -> JsonObject:
    """A wait for any of some event types."""
    return node(
        node_id, "wait_for_event", {"event_types": list(types), **config}, timeout_seconds=minutes * MINUTES
    )


def sim_bundle(key: str, nodes: list[JsonObject], wires: list[str], **more: Any) -> JsonObject:
    """A bundle with the simulation's input, forms, messages, components and event schemas."""
    schemas = dict.fromkeys(("step.done", "case.closed", "case.opened"), SIGNAL)
    return bundle(
        key, nodes, wires, forms=FORMS, messages=MESSAGES, components=COMPONENTS, input_schema=INPUT,
        event_schemas=schemas, **more,
    )  # fmt: skip


CHAIN = sim_bundle(
    "chain",
    [
        node("start", "start"),
        node("look", "enrichment", {"component_id": "cheap"}, input_mapping={"key": "input.key"}, retry=RETRY),
        node("think", "enrichment", {"component_id": "costly", "cost": "costly"}, retry=RETRY,
             input_mapping={"score": "nodes.look.score"}),
        node("branch", "condition", {"cases": [{"port": "high", "when": "nodes.think.score > 5"}]}),
        decision("high", "high"), decision("low", "low"), decision("failed", "failed"),
        node("rest", "delay", {"for_seconds": 90.0}),
        node("end", "end"),
    ],
    ["start.success > look", "look.success > think", "look.error > failed", "think.success > branch",
     "think.error > failed", "branch.high > high", "branch.default > low", "high.recorded > rest",
     "low.recorded > rest", "rest.completed > end", "failed.recorded > end"],
)  # fmt: skip

LOOP = sim_bundle(
    "loop",
    [
        node("start", "start"),
        node("look", "enrichment", {"component_id": "cheap"}, input_mapping={"key": "input.key"}, retry=RETRY,
             max_visits=4),
        wait("listen", "step.done"),
        node("enough", "condition", {"cases": [{"port": "done", "when": "nodes.listen.payload.done"}]}),
        decision("runaway", "runaway"), decision("finished", "finished"), decision("silent", "silent"),
        node("end", "end"),
    ],
    ["start.success > look", "look.success > listen", "look.error > runaway", "listen.received > enough",
     "listen.timeout > silent", "enough.done > finished", "enough.default > look", "runaway.recorded > end",
     "finished.recorded > end", "silent.recorded > end"],
)  # fmt: skip

ALL = sim_bundle(
    "all",
    [
        node("start", "start"),
        node("fork", "parallel", {"branches": ["person", "mail", "clock", "model"]}),
        review("review"), message("send", "idempotent"), node("pause", "delay", {"for_seconds": 300.0}),
        node("think", "enrichment", {"component_id": "costly", "cost": "costly"}, retry=RETRY,
             input_mapping={"key": "input.key"}),
        node("join", "join", {"mode": "all"}),
        decision("done", "done"),
        node("end", "end"),
    ],
    ["start.success > fork", "fork.person > review", "fork.mail > send", "fork.clock > pause",
     "fork.model > think", "review.accept > join", "review.reject > join", "review.timeout > join",
     "send.sent > join", "send.error > join", "pause.completed > join", "think.success > join",
     "think.error > join", "join.success > done", "done.recorded > end"],
)  # fmt: skip

ANY = sim_bundle(
    "any",
    [
        node("start", "start"),
        node("fork", "parallel", {"branches": ["one", "two", "three", "event"]}),
        review("r1"), review("r2"), review("r3"), wait("early", "case.closed", correlation_key="input.key"),
        node("join", "join", {"mode": "any"}),
        message("tell", "idempotent"),
        node("end", "end"),
    ],
    ["start.success > fork", "fork.one > r1", "fork.two > r2", "fork.three > r3", "fork.event > early",
     *(f"r{i}.{port} > join" for i in (1, 2, 3) for port in ("accept", "reject", "timeout")),
     "early.received > join", "early.timeout > join", "join.success > tell", "tell.sent > end",
     "tell.error > end"],
)  # fmt: skip

TWO_OF_THREE = sim_bundle(
    "two_of_three",
    [
        node("start", "start"),
        node("fork", "parallel", {"branches": ["person", "event", "mail"]}),
        review("review", 30), wait("listen", "step.done", "case.closed", minutes=20, port_by_type=True),
        message("send", "lookup"),
        node("lost", "end", {"terminal_code": "lost"}),
        node("join", "join", {"mode": "n", "n": 2, "unsatisfied_port": True}),
        decision("enough", "enough"), decision("short", "short"),
        node("end", "end"),
    ],
    ["start.success > fork", "fork.person > review", "fork.event > listen", "fork.mail > send",
     "review.accept > join", "review.reject > lost", "review.timeout > lost", "listen.step_done > join",
     "listen.case_closed > lost", "listen.timeout > lost", "send.sent > join", "send.error > lost",
     "join.success > enough", "join.unsatisfied > short", "enough.recorded > end", "short.recorded > end"],
)  # fmt: skip

EVENTS = sim_bundle(
    "events",
    [
        node("start", "start"),
        wait("opened", "case.opened", "step.done", correlation_key="input.key", minutes=30),
        node("pause", "delay", {"for_seconds": 60.0}),
        wait("closed", "case.closed", correlation_key="input.key", minutes=30),
        decision("done", "done"), decision("silent", "silent"),
        node("end", "end"),
    ],
    ["start.success > opened", "opened.received > pause", "opened.timeout > silent", "pause.completed > closed",
     "closed.received > done", "closed.timeout > silent", "done.recorded > end", "silent.recorded > end"],
)  # fmt: skip

MESSAGES_ONLY = sim_bundle(
    "messages",
    [
        node("start", "start"),
        message("first", "idempotent"), message("second", "lookup"), message("third", "manual"),
        decision("failed", "failed"),
        node("end", "end"),
    ],
    ["start.success > first", "first.sent > second", "first.error > failed", "second.sent > third",
     "second.error > failed", "third.sent > end", "third.error > failed", "failed.recorded > end"],
)  # fmt: skip

NOTICE = sim_bundle(
    "notice",
    [
        node("start", "start"),
        node("load", "enrichment", {"component_id": "cheap"}, input_mapping={"key": "input.key"}, retry=RETRY,
             max_visits=3),
        node("complete", "condition", {"cases": [
            {"port": "missing", "when": "!nodes.?await.?payload.?done.orValue(nodes.load.score > 4)"}]},
            max_visits=3),
        message("ask", "idempotent", max_visits=3),
        wait("await", "case.opened", correlation_key="input.key", minutes=30),
        review("review", 60),
        node("record", "decision", input_mapping={"outcome": "nodes.review.outcome"}),
        message("tell", "idempotent"),
        decision("escalated", "escalated"),
        node("end", "end"),
    ],
    ["start.success > load", "load.success > complete", "load.error > escalated", "complete.missing > ask",
     "complete.default > review", "ask.sent > await", "ask.error > escalated", "await.received > load",
     "await.timeout > escalated", "review.accept > record", "review.reject > record",
     "review.timeout > escalated", "record.recorded > tell", "tell.sent > end", "tell.error > escalated",
     "escalated.recorded > end"],
)  # fmt: skip

NESTED = sim_bundle(
    "nested",
    [
        node("start", "start"),
        node("again", "condition", {"cases": [{"port": "stop", "when": "nodes.?join.?arrived.hasValue()"}]},
             max_visits=3),
        node("fork", "parallel", {"branches": ["a", "b"]}),
        wait("listen", "step.done", minutes=10),
        node("inner", "parallel", {"branches": ["x", "y"]}),
        node("nap", "delay", {"for_seconds": 20.0}), review("review", 15),
        node("inner_join", "join", {"mode": "any"}),
        node("join", "join", {"mode": "all"}),
        node("end", "end"),
    ],
    ["start.success > again", "again.default > fork", "again.stop > end", "fork.a > listen", "fork.b > inner",
     "inner.x > nap", "inner.y > review", "nap.completed > inner_join", "review.accept > inner_join",
     "review.reject > inner_join", "review.timeout > inner_join", "inner_join.success > join",
     "listen.received > join", "listen.timeout > join", "join.success > again"],
)  # fmt: skip


MERGED = sim_bundle(
    "merged",
    [
        node("start", "start"),
        wait("listen", "step.done", minutes=3),
        node("count", "enrichment", {"component_id": "cheap"}, retry=RETRY,
             input_mapping={"key": "input.key", "reports": "size(reports)"}),
        review("review", 20),
        node("recount", "condition", {"cases": [{"port": "many", "when": "size(reports) > 2"}]}),
        decision("many", "many"), decision("few", "few"),
        node("end", "end"),
    ],
    ["start.success > listen", "listen.received > count", "listen.timeout > count", "count.success > review",
     "count.error > review", "review.accept > recount", "review.reject > recount", "review.timeout > recount",
     "recount.many > many", "recount.default > few", "many.recorded > end", "few.recorded > end"],
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Workload:
    """A graph and the event types that its runs listen to."""

    name: str
    bundle: JsonObject
    events: tuple[str, ...] = ()


WORKLOADS = (
    Workload("chain", CHAIN),
    Workload("loop", LOOP, ("step.done",)),
    Workload("all", ALL),
    Workload("any", ANY, ("case.closed",)),
    Workload("two_of_three", TWO_OF_THREE, ("step.done", "case.closed")),
    Workload("events", EVENTS, ("case.opened", "case.closed", "step.done")),
    Workload("messages", MESSAGES_ONLY),
    Workload("notice", NOTICE, ("case.opened",)),
    Workload("nested", NESTED, ("step.done",)),
    Workload("merged", MERGED, ("step.done",)),
)
