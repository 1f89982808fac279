"""Canonical bytes are stable, documents print what they read, and no schema or expression breaks the checks."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from casegraph.domain.canonical import canonical_bytes
from casegraph.domain.expression_types import Checker
from casegraph.domain.expressions import RESERVED_WORDS, ExpressionFailed, evaluate
from casegraph.domain.graph.document import Document
from casegraph.domain.graph.validation.validate import Validated, validate

TEXT = st.text(max_size=12)
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)


@given(VALUES)
def test_canonical_bytes_survive_any_reader(value: Any) -> None:
    text = canonical_bytes(value)
    assert canonical_bytes(json.loads(text)) == text
    shuffled = json.loads(json.dumps(value), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    assert canonical_bytes(shuffled) == text


@given(VALUES.filter(lambda value: "\\u0000" not in json.dumps(value)))
def test_an_expression_gives_back_what_it_is_given(value: Any) -> None:
    assert canonical_bytes(evaluate("input", {"input": value})) == canonical_bytes(value)


OPTIONAL_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "input_mapping": st.dictionaries(NAMES, st.just("input.x"), max_size=2),
    "timeout_seconds": st.integers(1, 10**6) | st.floats(0.001, 1e6),
    "due_seconds": st.integers(1, 10**6),
    "max_visits": st.integers(1, 100_000),
    "retry": st.fixed_dictionaries(
        {"max_attempts": st.integers(1, 20)}, optional={"retry_on": st.lists(NAMES)}
    ),
}
NODES = st.fixed_dictionaries(
    {"id": NAMES, "kind": NAMES, "config": st.dictionaries(TEXT, VALUES, max_size=2)},
    optional=OPTIONAL_FIELDS,
)
EDGES = st.fixed_dictionaries(
    {
        "from": st.fixed_dictionaries({"node": NAMES, "port": NAMES}),
        "to": st.fixed_dictionaries({"node": NAMES}),
    }
)
DOCUMENTS = st.fixed_dictionaries(
    {
        "schema_version": st.just(1),
        "key": NAMES,
        "purpose": st.sampled_from(["report", "appeal", "quality", "operations", "approval"]),
        "authority": st.sampled_from(["off", "shadow", "assist", "bounded_auto"]),
        "nodes": st.lists(NODES, min_size=1, max_size=4),
        "edges": st.lists(EDGES, max_size=4),
    },
    optional={
        "name": TEXT,
        "labels": st.dictionaries(TEXT, TEXT, max_size=2),
        "deadline_seconds": st.integers(1, 10**6),
        "on_unhandled": st.sampled_from(["attention", "fail"]),
        "input_schema": st.dictionaries(TEXT, VALUES, max_size=2),
    },
)


@given(DOCUMENTS)
def test_printing_and_reading_a_document_are_inverse(raw: dict[str, Any]) -> None:
    document = Document.model_validate_json(json.dumps(raw))
    again = Document.model_validate_json(json.dumps(document.to_dict()))
    assert again == document
    assert canonical_bytes(again.to_dict()) == canonical_bytes(document.to_dict())


@settings(max_examples=60)
@given(DOCUMENTS | VALUES, st.dictionaries(st.sampled_from(["forms", "messages", "components"]), VALUES))
def test_validation_answers_whatever_it_is_given(graph: Any, rest: dict[str, Any]) -> None:
    assert isinstance(validate({"graph": graph, **rest}), Validated)


SCHEMAS = st.recursive(
    st.sampled_from(
        [{"type": t} for t in ("string", "number", "integer", "boolean", "null", "object", "array")]
    )
    | st.just({})
    | VALUES,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(TEXT | NAMES, inner, max_size=4)}
        ),
        st.fixed_dictionaries({"type": st.just("object"), "additionalProperties": inner}),
    ),
    max_leaves=12,
)


@settings(max_examples=150)
@given(
    st.dictionaries(NAMES.filter(lambda name: name not in RESERVED_WORDS), SCHEMAS, min_size=1, max_size=5)
)
def test_every_schema_becomes_a_type(properties: dict[str, Any]) -> None:
    checker = Checker(
        {"type": "object", "properties": {**properties, "known": {"type": "integer"}}}, properties
    )
    # A failed environment would call every name unknown, or none.
    assert checker.check("input.known + 1")[0] == "INT"
    assert checker.check("input.unknown_name_9")[0] is None


@given(st.text(max_size=40), VALUES)
def test_no_source_does_anything_but_give_a_value_or_fail(source: str, value: Any) -> None:
    try:
        canonical_bytes(evaluate(source, {"input": value}))
    except ExpressionFailed:
        return
