"""Canonical JSON: one byte form per value."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from casegraph.domain.canonical import NotCanonical, canonical_bytes, digest
from casegraph.errors import CallerMistake


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, "ä"]}, '{"a":[true,null,"ä"],"b":1}'),
        ({"a": {"z": 1, "y": 2}}, '{"a":{"y":2,"z":1}}'),
        (1.0, "1"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e300, "1e+300"),
        (2.0**53, "9007199254740992.0"),
        ((1, (2,)), "[1,[2]]"),
        ("\u2028\n", '"\u2028\\n"'),
        ("", '""'),
        (10**30, "1" + "0" * 30),
    ],
)
def test_a_value_has_one_form(value: Any, text: str) -> None:
    assert canonical_bytes(value).decode() == text


def test_the_order_of_keys_does_not_matter() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})


def test_a_store_that_forgets_how_a_whole_number_was_written_breaks_no_digest() -> None:
    assert digest({"n": 1.0, "m": [2.0]}) == digest({"n": 1, "m": [2]})


def test_true_is_not_one() -> None:
    assert digest(True) != digest(1)


def test_the_digest_is_the_sha256_of_the_bytes() -> None:
    assert digest({"a": 1}) == "sha256:" + hashlib.sha256(b'{"a":1}').hexdigest()


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        [float("-inf")],
        {1: 2},
        {None: 1},
        {True: 1},
        b"x",
        {"a": {1, 2}},
        "\ud800",
        {"\ud800": 1},
        object(),
    ],
)
def test_what_json_cannot_say_is_refused(value: Any) -> None:
    with pytest.raises(NotCanonical):
        canonical_bytes(value)


def test_nesting_without_end_is_refused_and_not_a_crash() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(CallerMistake):
        canonical_bytes(deep)
