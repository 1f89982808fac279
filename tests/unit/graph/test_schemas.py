"""The JSON Schemas of a bundle are checked when it is published, so that no run meets one that cannot be applied."""

from __future__ import annotations

import time
from typing import Any

import pytest

from casegraph.domain import patterns
from casegraph.domain.graph.validation.validate import validate
from casegraph.runtime.json_schemas import JsonSchemas
from tests.unit.http.harness import review_bundle

Json = dict[str, Any]
BAD: list[tuple[Json, str, str]] = [
    ({"type": "nonsense"}, "schema_invalid", "/type"),
    ({"required": -1}, "schema_invalid", "/required"),
    ({"required": 1.5}, "schema_invalid", "/required"),
    ({"required": ["a", 1]}, "schema_invalid", "/required"),
    ({"properties": {"a": 3}}, "schema_invalid", "/properties/a"),
    ({"properties": []}, "schema_invalid", "/properties"),
    ({"items": {"maxLength": -1}}, "schema_invalid", "/items/maxLength"),
    ({"multipleOf": 0}, "schema_invalid", "/multipleOf"),
    ({"unevaluatedProperties": False}, "schema_invalid", "/unevaluatedProperties"),
    ({"$id": "urn:x"}, "schema_invalid", "/$id"),
    ({"properties": {"a": {"pattern": "(a)\\1"}}}, "schema_pattern_unsafe", "/properties/a/pattern"),
    ({"pattern": "(?=a)"}, "schema_pattern_unsafe", "/pattern"),
    ({"pattern": "a" * 1_001}, "schema_pattern_unsafe", "/pattern"),
    ({"pattern": "((a{100}){100}){100}"}, "schema_pattern_unsafe", "/pattern"),
    ({"patternProperties": {"(": {}}}, "schema_pattern_unsafe", "/patternProperties/("),
    ({"$ref": "#"}, "schema_recursive", ""),
    ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
     "schema_recursive", ""),
    ({"$ref": "#/$defs/none"}, "unresolved_ref", "/$ref"),
    ({"$ref": "#/properties/a", "properties": {"a": {}}}, "unresolved_ref", "/$ref"),
    ({"$defs": {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(20)} | {"d20": {}}},
     "schema_too_large", ""),
    ({"$defs": {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(900)} | {"d900": {}}},
     "schema_too_large", ""),
]  # fmt: skip


def bundle_with(schema: Json, section: str) -> tuple[Json, str]:
    bundle = review_bundle()
    if section == "input_schema":
        bundle["graph"]["input_schema"] = schema
        return bundle, "/graph/input_schema"
    if section == "event_schemas":
        bundle["graph"]["event_schemas"] = {"a.b": schema}
        return bundle, "/graph/event_schemas/a.b"
    if section == "components":
        bundle["components"] = {"x": {"output_schema": schema}}
        return bundle, "/components/x/output_schema"
    bundle.setdefault(section, {})["other"] = schema
    return bundle, f"/{section}/other"


@pytest.mark.parametrize("section", ["input_schema", "event_schemas", "forms", "schemas", "components"])
@pytest.mark.parametrize(("schema", "code", "place"), BAD, ids=lambda value: str(value)[:40])
def test_a_schema_that_cannot_be_applied_is_a_problem_with_its_place(
    schema: Json, code: str, place: str, section: str
) -> None:
    bundle, where = bundle_with(schema, section)
    assert (code, where + place) in [(p.code, p.pointer) for p in validate(bundle).problems]


def test_a_sound_schema_with_local_references_is_no_problem() -> None:
    schema = {
        "type": "object",
        "required": ["name"],
        "properties": {"name": {"$ref": "#/$defs/name"}, "other": {"$ref": "#/$defs/name"}},
        "additionalProperties": False,
        "$defs": {"name": {"type": "string", "pattern": r"^\p{Lu}[a-z]+(-[A-Z][a-z]+)*$", "maxLength": 80}},
    }
    for section in ("input_schema", "event_schemas", "forms", "schemas", "components"):
        assert validate(bundle_with(schema, section)[0]).problems == ()


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "^(a+)+$"},
        {"type": "object", "patternProperties": {"^(a+)+$": True}},
        {"type": "object", "patternProperties": {"^(a+)+$": True}, "additionalProperties": False},
    ],
)
def test_no_pattern_keeps_a_check_busy(schema: Json) -> None:
    text = "a" * 40 + "!"
    started = time.monotonic()
    JsonSchemas().problems(schema, {text: 1} if "type" in schema else text)
    assert time.monotonic() - started < 1


def test_patterns_of_names_decide_what_more_may_be_given() -> None:
    schema = {"patternProperties": {"^x_": {"type": "integer"}}, "additionalProperties": False}
    told = JsonSchemas().problems(schema, {"x_a": "text", "y": 1})
    assert {p["pointer"] for p in told} == {"", "/x_a"}
    assert JsonSchemas().problems(schema, {"x_a": 1}) == []
    other = {"properties": {"a": {}}, "additionalProperties": {"type": "integer"}}
    assert [p["pointer"] for p in JsonSchemas().problems(other, {"a": "", "b": ""})] == ["/b"]


def test_a_schema_of_before_the_checks_that_never_ends_is_a_problem_and_no_failure() -> None:
    assert JsonSchemas().problems({"$ref": "#"}, 1) == [
        {"pointer": "", "message": "the schema cannot be applied to this value"}
    ]


def test_a_pattern_is_searched_for_and_its_end_is_the_end_of_the_text() -> None:
    assert patterns.found("b", "abc")
    assert patterns.found("^ä.$", "äö")
    assert not patterns.found("^a$", "a\n")
    assert not patterns.found("^x$", "\ud800")
