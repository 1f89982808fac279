"""What cel-expr-python 0.1.3 does, as measured: the wrapper stands on these facts; a new version has to keep them."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any

import pytest
from cel_expr_python import cel
from cel_expr_python.ext import ext_math, ext_optional, ext_strings


def environment() -> Any:
    names = ("input", "nodes", "report")
    extensions = [ext_optional.ExtOptional(), ext_strings.ExtStrings(), ext_math.ExtMath()]
    variables = {**dict.fromkeys(names, cel.Type.DYN), "now": cel.Type.TIMESTAMP}
    return cel.NewEnv(variables=variables, extensions=extensions)


def run(source: str, **data: Any) -> Any:
    return environment().compile(source).eval(data=data)


def test_an_evaluation_error_is_returned_as_a_value_whose_plain_form_is_a_truthy_text() -> None:
    value = run("input.missing == 1", input={})
    assert value.type().name() == "ERROR"
    assert bool(value.plain_value()) is True
    assert isinstance(value.plain_value(), str)
    assert value.plain_value().startswith("NOT_FOUND")


def test_the_iteration_budget_is_9999_rounds_over_all_loops_and_is_raised() -> None:
    assert run("input.all(i, input.all(j, i + j < 999))", input=list(range(99))).plain_value() is True
    with pytest.raises(RuntimeError, match="budget"):
        run("input.all(i, input.all(j, i + j < 999))", input=list(range(100)))
    with pytest.raises(RuntimeError, match="budget"):
        run("input.exists(i, i < 0)", input=list(range(10_000)))


def test_compile_errors_are_raised_with_line_and_column() -> None:
    with pytest.raises(RuntimeError, match=r"<input>:1:3: found no matching overload"):
        environment().compile("1 + 'a'")
    with pytest.raises(RuntimeError, match=r"undeclared reference to 'foo'"):
        environment().compile("foo")


def test_the_parser_takes_31_levels_of_parentheses_and_no_long_operator_chains() -> None:
    assert run("(" * 30 + "1" + ")" * 30).plain_value() == 1
    with pytest.raises(RuntimeError, match="recursion limit"):
        environment().compile("(" * 40 + "1" + ")" * 40)
    with pytest.raises(RuntimeError, match="recursion depth"):
        environment().compile("+".join(["1"] * 100))


def test_an_optional_result_cannot_be_turned_into_python() -> None:
    value = run("input.?x", input={})
    with pytest.raises(TypeError):
        value.plain_value()


def test_plain_value_of_an_optional_inside_a_map_ends_the_process() -> None:
    code = (
        "from cel_expr_python import cel; from cel_expr_python.ext import ext_optional;"
        "e = cel.NewEnv(variables={'input': cel.Type.DYN}, extensions=[ext_optional.ExtOptional()]);"
        "e.compile(\"{'a': input.?x}\").eval(data={'input': {}}).plain_value()"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode < 0


def test_read_level_by_level_an_optional_inside_a_map_is_an_error_value() -> None:
    assert run("{'a': input.?x}", input={}).value()["a"].type().name() == "ERROR"


def test_timestamps_are_aware_datetimes_both_ways() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    assert run("now + duration('1h')", now=now).plain_value() == datetime(2026, 1, 1, 1, tzinfo=UTC)
    assert run("timestamp(now) == now", now=now).plain_value() is True


def test_whole_numbers_beyond_64_bits_are_an_error_value() -> None:
    assert run("input.big", input={"big": 2**70}).type().name() == "ERROR"


def test_integers_and_doubles_compare_but_do_not_add() -> None:
    assert run("input.a < input.b", input={"a": 1, "b": 1.5}).plain_value() is True
    assert run("input.a + input.b", input={"a": 1, "b": 1.5}).type().name() == "ERROR"


def test_a_tuple_is_no_cel_value() -> None:
    assert run("input.x", input={"x": (1, 2)}).type().name() == "ERROR"


def test_the_checked_expression_can_be_serialized() -> None:
    text = environment().compile("nodes.review.outcome == 'a'").serialize()
    assert b"cel.expr.CheckedExpr" in text
    assert b"review" in text


def test_text_is_cut_at_a_nul_without_an_error() -> None:
    assert run("input.x", input={"x": "a\x00b"}).plain_value() == "a"
