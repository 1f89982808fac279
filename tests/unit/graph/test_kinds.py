"""The static part of the node kinds: ports, outputs, and rules of their own."""

from __future__ import annotations

from typing import Any

import pytest

from casegraph.domain.graph.parser import config_of
from casegraph.domain.nodes import send_message, wait_for_event
from casegraph.domain.nodes.registry import KINDS
from casegraph.testing.bundles import form

Json = dict[str, Any]
BUNDLE: Json = {
    "graph": {"event_schemas": {"a.b": {"type": "object", "properties": {"x": {"type": "string"}}}}},
    "forms": {"review": form("remove", "keep"), "bare": {"type": "object"}},
    "messages": {"hello": {"body": "Dear {{name}}, {{ text }}; {{name}}"}},
    "components": {
        "history": {"output_schema": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    },
}


def ports(kind: str, config: Json) -> tuple[str, ...]:
    return KINDS[kind].ports(config_of(KINDS[kind], config), BUNDLE)


def required(kind: str, config: Json) -> tuple[str, ...]:
    return KINDS[kind].required_ports(config_of(KINDS[kind], config), BUNDLE)


def found(kind: str, config: Json) -> list[str]:
    return [p.code for p in KINDS[kind].problems(config_of(KINDS[kind], config), BUNDLE)]


def output(kind: str, config: Json, port: str | None = None) -> Json | None:
    parsed = config_of(KINDS[kind], config)
    if port is None:
        return KINDS[kind].output_schema(parsed, BUNDLE)
    return KINDS[kind].port_output(parsed, BUNDLE, port)


MAIL = {"connector_id": "mail", "template": "hello", "recovery": "manual"}
TASK = {"queue_id": "q", "form": "review"}
LINKED = {"workflow_key": "other"}


@pytest.mark.parametrize(
    ("kind", "config", "expected"),
    [
        ("start", {}, ("success",)),
        ("enrichment", {"component_id": "history"}, ("success", "error")),
        ("enrichment", {"component_id": "history", "ports": ["none"]}, ("success", "none", "error")),
        (
            "condition",
            {"cases": [{"port": "b", "when": "true"}, {"port": "a", "when": "true"}]},
            ("b", "a", "default"),
        ),
        ("condition", {"cases": [{"port": "b", "when": "true"}], "default": "rest"}, ("b", "rest")),
        ("parallel", {"branches": ["left", "right"]}, ("left", "right")),
        ("join", {}, ("success",)),
        ("join", {"unsatisfied_port": True}, ("success", "unsatisfied")),
        ("human_task", TASK, ("remove", "keep", "timeout")),
        ("wait_for_event", {"event_types": ["a.b", "c"]}, ("received", "timeout")),
        ("wait_for_event", {"event_types": ["a.b", "c"], "port_by_type": True}, ("a_b", "c", "timeout")),
        ("delay", {"for_seconds": 1}, ("completed",)),
        ("decision", {}, ("recorded",)),
        ("send_message", MAIL, ("sent", "error")),
        ("start_linked_workflow", LINKED, ("started",)),
        ("start_linked_workflow", {**LINKED, "await": True}, ("completed", "failed", "timeout")),
        ("end", {}, ()),
    ],
)
def test_the_ports_of_a_kind(kind: str, config: Json, expected: tuple[str, ...]) -> None:
    assert ports(kind, config) == expected


def test_only_the_error_port_may_stay_unwired() -> None:
    assert required("enrichment", {"component_id": "history"}) == ("success",)
    assert required("send_message", MAIL) == ("sent",)
    assert required("human_task", TASK) == ("remove", "keep", "timeout")


@pytest.mark.parametrize(
    ("kind", "config", "fields"),
    [
        ("condition", {"cases": [{"port": "b", "when": "true"}]}, {"port"}),
        ("join", {}, {"arrived"}),
        ("human_task", TASK, {"outcome", "response", "completed_by", "completed_at", "submissions"}),
        ("wait_for_event", {"event_types": ["a.b"]}, {"type", "key", "payload", "source", "received_at"}),
        ("delay", {"for_seconds": 1}, {"until_at"}),
        ("decision", {}, {"decision_id", "outcome", "policies"}),
        ("send_message", MAIL, {"effect_id"}),
        ("start_linked_workflow", LINKED, {"run_id"}),
        ("start_linked_workflow", {**LINKED, "await": True}, {"run_id", "outcome", "output"}),
        ("enrichment", {"component_id": "history"}, {"n"}),
    ],
)
def test_the_typed_output_of_a_kind(kind: str, config: Json, fields: set[str]) -> None:
    schema = output(kind, config)
    assert schema is not None
    assert set(schema["properties"]) == fields


@pytest.mark.parametrize(
    ("kind", "config"), [("start", {}), ("parallel", {"branches": ["a", "b"]}), ("end", {})]
)
def test_some_kinds_have_no_output(kind: str, config: Json) -> None:
    assert output(kind, config) is None


def test_timeout_and_error_ports_have_outputs_of_their_own() -> None:
    assert (output("human_task", TASK, "timeout") or {})["required"] == ["timed_out"]
    assert (output("send_message", MAIL, "error") or {})["required"] == ["error"]
    assert output("human_task", TASK, "keep") == output("human_task", TASK)


def test_the_payload_of_a_single_event_type_has_its_schema() -> None:
    assert (output("wait_for_event", {"event_types": ["a.b"]}) or {})["properties"]["payload"]["properties"]
    assert (output("wait_for_event", {"event_types": ["a.b", "c"]}) or {})["properties"]["payload"] == {}


@pytest.mark.parametrize(
    ("kind", "config", "codes"),
    [
        ("human_task", {"queue_id": "q", "form": "none"}, ["form_missing"]),
        ("human_task", {"queue_id": "q", "form": "bare"}, ["form_without_outcome"]),
        ("delay", {}, ["delay_without_time"]),
        ("delay", {"for_seconds": 1, "until": "now"}, ["delay_without_time"]),
        ("send_message", {**MAIL, "template": "x"}, ["template_missing"]),
        ("parallel", {"branches": ["a", "a"]}, ["port_duplicate"]),
        ("enrichment", {"component_id": "history", "ports": ["success"]}, ["port_duplicate"]),
        ("wait_for_event", {"event_types": ["a", "a"]}, ["event_type_duplicate"]),
        ("wait_for_event", {"event_types": ["a.b", "a_b"], "port_by_type": True}, ["port_duplicate"]),
        ("wait_for_event", {"event_types": ["timeout"], "port_by_type": True}, ["port_duplicate"]),
        (
            "condition",
            {"cases": [{"port": "default", "when": "true"}], "exclusive": True},
            ["port_duplicate"],
        ),
    ],
)
def test_rules_of_a_kind(kind: str, config: Json, codes: list[str]) -> None:
    assert found(kind, config) == codes


@pytest.mark.parametrize(
    ("outcomes", "required_fields", "codes"),
    [
        (["timeout"], ["outcome"], ["outcome_reserved"]),
        (["error"], ["outcome"], ["outcome_reserved"]),
        (["Not a name"], ["outcome"], ["outcome_not_a_name"]),
        (["yes"], [], ["outcome_not_required"]),
        ([f"o{i}" for i in range(65)], ["outcome"], ["too_many_outcomes"]),
    ],
)
def test_rules_of_a_form(outcomes: list[str], required_fields: list[str], codes: list[str]) -> None:
    bundle = {"forms": {"f": {"properties": {"outcome": {"enum": outcomes}}, "required": required_fields}}}
    kind = KINDS["human_task"]
    config = config_of(kind, {"queue_id": "q", "form": "f"})
    assert [p.code for p in kind.problems(config, bundle)] == codes


def test_an_instant_is_not_taken_for_an_expression() -> None:
    kind = KINDS["delay"]
    fixed = config_of(kind, {"until": "2026-01-01T00:00:00Z"})
    computed = config_of(kind, {"until": "now + duration('1h')"})
    assert kind.expressions(fixed) == []
    assert [u.expected for u in kind.expressions(computed)] == ["timestamp"]


def test_an_event_type_gives_its_port_with_underscores() -> None:
    config = wait_for_event.Config(event_types=("a.b.c",), port_by_type=True)
    assert wait_for_event.port_of(config, "a.b.c") == "a_b_c"


def test_placeholders_are_found_once_and_in_order() -> None:
    assert send_message.placeholders(BUNDLE["messages"]["hello"]) == ("name", "text")


def test_every_wait_that_may_last_needs_a_timeout() -> None:
    assert {k.name for k in KINDS.values() if k.needs_timeout} == {"human_task", "wait_for_event"}
    assert all("timeout" in k.ports(config_of(k, c), BUNDLE) for k, c in (
        (KINDS["human_task"], TASK), (KINDS["wait_for_event"], {"event_types": ["a"]})
    ))  # fmt: skip
