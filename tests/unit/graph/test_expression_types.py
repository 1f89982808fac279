"""JSON Schemas as CEL types: what is typed, and what stays open."""

from __future__ import annotations

from typing import Any

import pytest

from casegraph.domain.expression_types import Checker

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "price": {"type": "number"},
        "count": {"type": "integer"},
        "flag": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "rows": {"type": "array", "items": {"type": "object", "properties": {"q": {"type": "integer"}}}},
        "matrix": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
        "rates": {"type": "object", "additionalProperties": {"type": "number"}},
        "people": {
            "type": "object",
            "additionalProperties": {"type": "object", "properties": {"n": {"type": "string"}}},
        },
        "open": {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": True},
        "odd": {"type": "object", "properties": {"a-b": {"type": "string"}}},
        "nullable": {"type": ["string", "null"]},
        "either": {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        "ref": {"$ref": "#/$defs/x"},
        "any": {},
        "choice": {"enum": ["a", "b"]},
        "untyped": {"properties": {"inner": {"type": "string"}}},
        "reportedBy": {"type": "string"},
        "reported_by": {"type": "string"},
        "aMap": {"type": "object", "additionalProperties": {"type": "string"}},
        "a_map": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}


def check(source: str, schema: Any = SCHEMA) -> str:
    result, faults = Checker(schema, {}).check(source)
    return result if result is not None else faults[0].code


@pytest.mark.parametrize(
    ("source", "result"),
    [
        ("input.text", "STRING"),
        ("input.price", "DOUBLE"),
        ("input.count", "INT"),
        ("input.flag", "BOOL"),
        ("input.tags", "LIST<STRING>"),
        ("input.tags.map(t, size(t))", "LIST<INT>"),
        ("input.rows[0].q", "INT"),
        ("input.matrix[0][0]", "DYN"),
        ("input.rates.eur", "DOUBLE"),
        ("input.people['x'].n", "STRING"),
        ("input.open.anything", "DYN"),
        ("input.odd['a-b']", "DYN"),
        ("input.nullable", "DYN"),
        ("input.either", "DYN"),
        ("input.ref.x.y", "DYN"),
        ("input.any.x.y", "DYN"),
        ("input.choice", "STRING"),
        ("input.untyped.inner", "STRING"),
        ("input.reportedBy + input.reported_by", "STRING"),
        ("input.aMap.x", "STRING"),
        ("input.a_map.x", "DYN"),
        ("input.?text.orValue('')", "STRING"),
        ("now + duration('1h') > timestamp('2026-01-01T00:00:00Z')", "BOOL"),
        ("run.version + 1", "INT"),
        ("reports[0].anything", "DYN"),
        ("input.price > 100", "expression_type"),
        ("input.count > 1.5", "expression_type"),
        ("input.text + 1", "expression_type"),
        ("input.txet", "expression_unknown_field"),
        ("input.rows[0].nope", "expression_unknown_field"),
        ("input.people.x.nope", "expression_unknown_field"),
        ("input.?text.orValue(1)", "expression_type"),
        ("run.runid", "expression_unknown_field"),
        ("nowhere", "expression_unknown_name"),
        ("nofunction(1)", "expression_unknown_name"),
        ("1 +", "expression_syntax"),
        ("(" * 40 + "1" + ")" * 40, "expression_too_deep"),
        ("+".join(["1"] * 100), "expression_too_deep"),
    ],
)
def test_types_follow_the_schema(source: str, result: str) -> None:
    assert check(source) == result


@pytest.mark.parametrize(
    "schema", [None, {}, True, 3, {"type": "object"}, {"type": "nonsense"}, {"$ref": "#/a"}]
)
def test_an_input_without_a_usable_schema_is_open(schema: Any) -> None:
    assert check("input.a.b", schema) == "DYN"


def test_an_input_that_is_no_object_has_its_type() -> None:
    assert check("input + 1", {"type": "integer"}) == "INT"
    assert check("input[0]", {"type": "array", "items": {"type": "string"}}) == "STRING"


def test_equal_schemas_share_a_type_and_keep_a_name_for_people() -> None:
    part = {"type": "object", "properties": {"x": {"type": "string"}}}
    checker = Checker({"type": "object", "properties": {"a": part, "b": part}}, {})
    assert checker.check("input.a == input.b")[0] == "BOOL"
    assert "input.a has no 'y'" in checker.check("input.b.y")[1][0].message


def test_every_fault_of_a_source_is_told_with_its_place() -> None:
    faults = Checker(SCHEMA, {}).check("input.nope == 1 &&\n input.price > 1")[1]
    assert [(f.line, f.column, f.code) for f in faults] == [
        (1, 6, "expression_unknown_field"),
        (2, 14, "expression_type"),
    ]


def test_a_thousand_properties_can_be_typed() -> None:
    schema = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(1_000)}}
    assert check("input.p999", schema) == "STRING"
    assert check("input.q", schema) == "expression_unknown_field"


def test_endless_and_huge_schemas_stay_open_and_do_not_break_the_check() -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(200):
        deep = {"type": "object", "properties": {"x": deep}}
    assert check("input.x.x.x", deep).startswith("casegraph")
    many = {"type": "object", "properties": {f"p{i}": {"type": "string"} for i in range(30_000)}}
    assert check("input.p1", many) == "DYN"
