"""The wrapper: a JSON value or `ExpressionFailed`, nothing in between."""

from __future__ import annotations

from typing import Any

import pytest

from casegraph.domain.expressions import (
    ExpressionFailed,
    ExpressionInvalid,
    compile_program,
    evaluate,
    evaluate_bool,
)
from casegraph.errors import NodeFailed
from casegraph.limits import EXPRESSION_CONTEXT_MAX_BYTES

CONTEXT: dict[str, Any] = {
    "input": {"a": 1, "f": 2.5, "list": [1, 2, 3], "none": None, "words": ["x", "y"], "flag": True},
    "nodes": {"review": {"outcome": "remove", "response": {"facts": "seen"}}},
    "now": "2026-01-01T00:00:00Z",
}


def code_of(source: str, context: dict[str, Any] = CONTEXT) -> str:
    with pytest.raises(ExpressionFailed) as caught:
        evaluate(source, context)
    return caught.value.code


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("input.a + 1", 2),
        ("input.f * 2.0", 5.0),
        ("input.none", None),
        ("input.words.map(w, w + '!')", ["x!", "y!"]),
        ("{'k': input.list, 'n': {'deep': input.none}}", {"k": [1, 2, 3], "n": {"deep": None}}),
        ("nodes.?review.?outcome.orValue('none')", "remove"),
        ("nodes.?absent.?outcome.orValue('none')", "none"),
        ("has(nodes.review.outcome)", True),
        ("now", "2026-01-01T00:00:00Z"),
        ("now + duration('36h')", "2026-01-02T12:00:00Z"),
        ("timestamp('2026-01-01T00:00:00.250Z')", "2026-01-01T00:00:00.250000Z"),
        ("duration('90m')", "5400s"),
        ("duration('-1500ms')", "-1.5s"),
        ("math.greatest(3, 4)", 4),
        ("[?input.?missing, ?input.?a]", [1]),
        ("'%s is %d'.format(['x', 3])", "x is 3"),
    ],
)
def test_a_value_comes_back_as_plain_json(source: str, expected: object) -> None:
    assert evaluate(source, CONTEXT) == expected


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("input.missing", "expression_missing_key"),
        ("nodes.other.outcome == 'x'", "expression_missing_key"),
        ("1 / 0", "expression_failed"),
        ("input.words[7]", "expression_failed"),
        ("9223372036854775807 + input.a", "expression_failed"),
        ("input.a + input.f", "expression_failed"),
        ("timestamp('never')", "expression_failed"),
        ("input.?missing", "expression_failed"),
        ("[input.?missing]", "expression_failed"),
        ("{'a': input.?missing}", "expression_failed"),
        ("{'a': {'b': [input.?missing]}}", "expression_failed"),
        ("type(1)", "expression_not_json"),
        ("b'abc'", "expression_not_json"),
        ("{1: 2}", "expression_not_json"),
        ("0.0 / 0.0", "expression_not_json"),
        ("[1.0 / 0.0]", "expression_not_json"),
        ("nonsense", "expression_invalid"),
        ("input.a +", "expression_invalid"),
        ("report.subject", "expression_failed"),
    ],
)
def test_what_gives_no_json_value_fails_the_node_with_a_code(source: str, code: str) -> None:
    assert code_of(source) == code


@pytest.mark.parametrize(
    "source",
    ["input.missing == 1", "1 / 0 == 1", "input.words[7] == 'x'", "nodes.other.ready", "input.flag + 1"],
)
def test_an_error_value_never_counts_as_true(source: str) -> None:
    with pytest.raises(ExpressionFailed):
        evaluate_bool(source, CONTEXT)


@pytest.mark.parametrize("source", ["'true'", "1", "input.list", "input.none", "nodes.review.outcome"])
def test_only_a_boolean_is_a_truth(source: str) -> None:
    with pytest.raises(ExpressionFailed) as caught:
        evaluate_bool(source, CONTEXT)
    assert caught.value.code == "expression_not_bool"


def test_booleans_are_truths() -> None:
    assert evaluate_bool("input.flag", CONTEXT) is True
    assert evaluate_bool("!input.flag", CONTEXT) is False


def test_a_failure_is_a_node_failure_that_names_the_source_and_no_value() -> None:
    with pytest.raises(NodeFailed) as caught:
        evaluate("timestamp(input.secret)", {"input": {"secret": "very private"}})
    assert caught.value.details == {"source": "timestamp(input.secret)"}
    assert "private" not in str(caught.value)


def test_numbers_bind_by_their_schema() -> None:
    schema = {"properties": {"price": {"type": "number"}, "count": {"type": "integer"}}}
    program = compile_program("input.price * 2.0 + double(input.count)", {"input": schema})
    assert program.evaluate({"input": {"price": 3, "count": 4.0}}) == 10.0


def test_numbers_bind_by_schema_in_lists_maps_and_outputs() -> None:
    number = {"type": "number"}
    schemas = {
        "input": {"properties": {"prices": {"items": number}, "rates": {"additionalProperties": number}}},
        "nodes": {"properties": {"score": {"properties": {"value": number}}}},
    }
    context = {"input": {"prices": [1, 2], "rates": {"x": 1}}, "nodes": {"score": {"value": 1}}}
    for source in ("input.prices[1] + 0.5", "input.rates.x + 0.5", "nodes.score.value + 0.5"):
        assert isinstance(compile_program(source, schemas).evaluate(context), float)


def test_without_a_schema_a_wide_whole_number_is_a_double() -> None:
    assert evaluate("input.wide > 1.0", {"input": {"wide": 2**70}}) is True


def test_a_number_too_wide_for_a_double_fails_the_node() -> None:
    assert code_of("input.wide > 1.0", {"input": {"wide": 10**400}}) == "expression_not_json"


def test_the_context_holds_json_only() -> None:
    assert code_of("input.x == 1", {"input": {"x": {1, 2}}}) == "expression_not_json"
    assert code_of("input.x == 1", {"input": {1: 2}}) == "expression_not_json"


def test_half_a_surrogate_pair_in_the_context_fails_the_node() -> None:
    assert code_of("input.x == 'a'", {"input": {"x": "\ud800"}}) == "expression_failed"


def test_text_that_cel_would_cut_at_a_nul_fails_the_node() -> None:
    for value in ({"x": "a\x00b"}, {"x\x00": "a"}, {"x": ["\x00"]}):
        assert code_of("input", {"input": value}) == "expression_not_json"
    assert evaluate(r"'a\u0000b'", {}) == "a\x00b"


def test_only_the_roots_that_are_read_are_bound() -> None:
    assert evaluate("input.a", {**CONTEXT, "report": {"x": object()}}) == 1


def test_accesses_and_roots_come_from_the_checked_expression() -> None:
    source = "nodes.a.x == 1 && has(nodes.b) && nodes['c'].?d.orValue(run.run_id) == input.l.map(nodes, nodes.z)[0]"
    program = compile_program(source)
    assert program.roots == {"nodes", "run", "input"}
    reads = {a.path for a in program.accesses if a.root == "nodes"}
    assert reads == {("a", "x"), ("b",), ("c", "d")}


def test_text_that_looks_like_a_reference_is_none() -> None:
    assert compile_program("'nodes.review.outcome' == input.x").roots == {"input"}


def test_a_bad_source_is_told_with_its_place() -> None:
    with pytest.raises(ExpressionInvalid, match="1:17"):
        compile_program("input.a + 'x' + nope")


# -- bombs --------------------------------------------------------------------------------------------------------


def test_too_many_rounds_fail_the_node() -> None:
    context = {"input": {"n": list(range(150))}}
    assert code_of("input.n.all(i, input.n.all(j, i + j < 999))", context) == "expression_budget_exceeded"


@pytest.mark.parametrize(
    "source",
    [
        "input.n.map(x, input.s)",
        "input.n.map(x, input.s + 'a').size() > 0",
        "size(input.n.map(x, input.s).join('')) > 0",
        "size(input.s.replace('x', input.s)) > 0",
        "size('a'" + ".replace('a', 'aaaaaaaaaa')" * 12 + ") > 0",
        "input.n.map(x, x + 1)",
        "input.n.filter(x, x > 1)",
        "input.one.map(t, input.n.map(x, t)).size() > 0",
        "size(" + " + ".join(["input.s.split('')"] * 25) + ") > 0",
    ],
)
def test_what_would_take_too_much_memory_is_refused_before_it_runs(source: str) -> None:
    context = {"input": {"n": list(range(9_000)), "s": "x" * 100_000, "one": ["x" * 100_000]}}
    assert code_of(source, context) == "expression_too_large"


def test_ordinary_loops_are_not_refused() -> None:
    context = {"input": {"urls": [f"https://example.org/{i}" for i in range(500)], "prefix": "see "}}
    assert len(evaluate("input.urls.map(u, input.prefix + u)", context)) == 500
    assert evaluate("input.urls.exists(u, u == input.prefix)", context) is False
    assert len(evaluate("input.urls.filter(u, u.endsWith('7')).join(', ')", context)) > 100


def test_bombs_leave_the_memory_of_the_process_alone() -> None:
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    context = {"input": {"n": list(range(2_000)), "s": "x" * 20_000, "t": "x" * 2_000}}
    for source in (
        "input.n.map(x, input.s)",
        "input.n.map(x, x + 1)",
        "input.n.map(x, input.t).join('')",
        "input.t.replace('x', input.t)",
        "input.n.all(i, input.n.all(j, i + j < 9999))",
    ):
        try:
            evaluate(source, context)
        except ExpressionFailed:
            continue
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 250_000, f"{grown} KB"


def test_a_shared_value_is_not_copied_out_for_ever() -> None:
    context = {"input": {"s": "x" * 60_000, "n": list(range(30))}}
    assert code_of("input.n.map(x, input.s)", context) == "expression_too_large"


def test_a_context_over_its_size_fails_the_node() -> None:
    context = {"input": {"s": "x" * (EXPRESSION_CONTEXT_MAX_BYTES + 1)}}
    assert code_of("size(input.s) > 0", context) == "expression_context_too_large"


def test_a_context_nested_too_deeply_fails_the_node() -> None:
    deep: Any = 1
    for _ in range(20_000):
        deep = {"a": deep}
    assert code_of("input == input", {"input": deep}) == "expression_context_too_large"


def test_deep_and_long_sources_are_refused_when_compiled() -> None:
    sources = (
        "(" * 200 + "1" + ")" * 200,
        "1" + " " * 10_000,
        "input" + ".a" * 900,
        "[" * 3_000 + "]" * 3_000,
        "[1].all(a, " * 25 + "true" + ")" * 25,
        "[1].map(a, " * 500 + "1" + ")" * 500,
    )
    for source in sources:
        with pytest.raises(ExpressionInvalid):
            compile_program(source)
