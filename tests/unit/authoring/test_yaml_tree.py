"""YAML 1.2 and nothing behind the author's back."""

from __future__ import annotations

import pytest

from casegraph.authoring.places import Spot
from casegraph.authoring.yaml_tree import YamlInvalid, parse


def value_of(text: str) -> object:
    root = parse(text).root
    assert root is not None
    return root.value()


@pytest.mark.parametrize(
    "text",
    [
        "off",
        "NO",
        "yes",
        "on",
        "y",
        "2026-01-01",
        "2026-01-01T00:00:00Z",
        "12:30:45",
        "1_000",
        "=",
        "0b11",
        "1e",
    ],
)
def test_what_other_readers_turn_into_something_else_stays_text(text: str) -> None:
    assert value_of(f"a: {text}") == {"a": text}


@pytest.mark.parametrize(
    ("text", "value"),
    [("12", 12), ("-3", -3), ("0o17", 15), ("0xff", 255), ("1.5", 1.5), ("1e3", 1000.0), ("true", True),
     ("False", False), ("null", None), ("~", None), ("'12'", "12"), ('"true"', "true"), ("", None)],
)  # fmt: skip
def test_plain_scalars_follow_the_core_schema(text: str, value: object) -> None:
    found = value_of(f"a: {text}")
    assert found == {"a": value}
    assert isinstance(found, dict)
    assert type(found["a"]) is type(value)


def test_folded_and_literal_texts_are_read_whole() -> None:
    assert value_of("a: >-\n  one\n  two\nb: |\n  three\n") == {"a": "one two", "b": "three\n"}


@pytest.mark.parametrize(
    ("text", "code", "spot"),
    [
        ("a: &x 1", "no_anchors", Spot(1, 4)),
        ("a: *x", "no_anchors", Spot(1, 4)),
        ("a: !!str 5", "no_tags", Spot(1, 4)),
        ("{<<: 1}", "no_merge_keys", Spot(1, 2)),
        ("a: 1\na: 2", "duplicate_key", Spot(2, 1)),
        ("? [a]\n: b", "key_not_text", Spot(1, 3)),
    ],
)
def test_what_is_no_part_of_the_source_form_has_its_place(text: str, code: str, spot: Spot) -> None:
    fault = parse(text).faults[0]
    assert (fault.code, fault.spot) == (code, spot)


@pytest.mark.parametrize(
    ("text", "code"),
    [("a: [1\nb: 2", "malformed_yaml"), ("a: \x07", "malformed_yaml"), ("a: 1\n---\nb: 2", "several_documents"),
     ("[" * 3000, "too_deep"), ("a:\n\tb: 1", "malformed_yaml")],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_and_never_crashes(text: str, code: str) -> None:
    with pytest.raises(YamlInvalid) as caught:
        parse(text)
    assert caught.value.code == code


def test_an_alias_bomb_is_not_expanded() -> None:
    lines = ["a0: &a0 [x, x]"] + [f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60)]
    tree = parse("\n".join(lines))
    assert {fault.code for fault in tree.faults} == {"no_anchors"}
