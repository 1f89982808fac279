"""What YAML would misread is found, told with its quoted form, and read as it was meant."""

from __future__ import annotations

import pytest

from casegraph.authoring import traps
from casegraph.authoring.source import read_text


@pytest.mark.parametrize(
    ("text", "value", "quoted"),
    [
        ("a: {b: =f(x, y)}", {"a": {"b": "=f(x, y)"}}, ["'=f(x, y)'"]),
        ("a: {b: =x[0]}", {"a": {"b": "=x[0]"}}, ["'=x[0]'"]),
        ("a: =p ? q : r", {"a": "=p ? q : r"}, ["'=p ? q : r'"]),
        ("a: {b: =p ? q : r, c: 1}", {"a": {"b": "=p ? q : r", "c": 1}}, ["'=p ? q : r'"]),
        ("a: [=f(1, 2), =g]", {"a": ["=f(1, 2)", "=g"]}, ["'=f(1, 2)'"]),
        ("a:\n  - =p ? 'it' : r", {"a": ["=p ? 'it' : r"]}, ["'=p ? ''it'' : r'"]),
        ('a: ={"b": 1}', {"a": '={"b": 1}'}, ["'={\"b\": 1}'"]),
        ('a: =x == " # b"  # why', {"a": '=x == " # b"'}, ["'=x == \" # b\"'"]),
        ('a: {b: =x == ", ", c: 1}', {"a": {"b": '=x == ", "', "c": 1}}, ["'=x == \", \"'"]),
        (
            "a: {b: =f(x, y), c: =x[0], d: =p ? q : r}",
            {"a": {"b": "=f(x, y)", "c": "=x[0]", "d": "=p ? q : r"}},
            ["'=f(x, y)'", "'=x[0]'", "'=p ? q : r'"],
        ),
    ],
)
def test_an_unquoted_expression_is_read_as_it_was_meant(text: str, value: object, quoted: list[str]) -> None:
    read = traps.read(text)
    assert read.fault is None
    assert read.tree.root is not None
    assert read.tree.root.value() == value
    assert sorted(quoted) == sorted(trap.quoted for trap in read.traps)


@pytest.mark.parametrize(
    "text", ["a: =f(x)", "a: {b: =f(x), c: =y}", "a: '=p ? q : r'", "a: =x[0]", "a: ={}"]
)
def test_what_yaml_reads_rightly_is_left_alone(text: str) -> None:
    assert traps.read(text).traps == []


def test_places_after_a_trap_are_those_of_the_authors_text() -> None:
    source = read_text("a: {b: =f(x, y), c: =x[0], d: 012}\n", "x.yaml")
    places = [(problem.code, problem.place.line, problem.place.column) for problem in source.problems]
    assert sorted(places) == [
        ("number_misread", 1, 31),
        ("unquoted_expression", 1, 8),
        ("unquoted_expression", 1, 21),
    ]


def test_an_expression_over_several_lines_is_a_fault_and_no_guess() -> None:
    read = traps.read("a: {b: =f(x,\n  y[0])}\n")
    assert read.fault is not None
    assert read.traps == []


def test_a_file_full_of_traps_ends() -> None:
    text = "".join(f"k{i}: =p ? q : r\n" for i in range(traps.MAX_REPAIRS + 50))
    assert len(traps.read(text).traps) == traps.MAX_REPAIRS
