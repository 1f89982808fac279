"""`fmt` writes one way, keeps comments, and quotes what YAML would misread."""

from __future__ import annotations

import pytest

from casegraph.authoring.fmt import format_text, is_formatted
from casegraph.authoring.yaml_tree import YamlInvalid
from casegraph.local.bundled import bundled

UNTIDY = """\
key: x   
authority: off
when: 2026-01-01



list:
- a
- b: 1
  c: |
      hi
        there

-
    d: =x ? 1 : 2   # why
      # more of it
nodes:
      # about a
      a:
            kind: NO    # no
            with: {b: =f(x, y), c:
               1}
      # the end
"""  # noqa: W291
TIDY = """\
key: x
authority: 'off'
when: '2026-01-01'

list:
  - a
  - b: 1
    c: |
        hi
          there

  -
    d: '=x ? 1 : 2'   # why
    # more of it
nodes:
  # about a
  a:
    kind: 'NO'    # no
    with: {b: '=f(x, y)', c:
       1}
  # the end
"""


def test_an_untidy_file_becomes_tidy() -> None:
    assert format_text(UNTIDY) == TIDY


def test_a_tidy_file_stays() -> None:
    assert is_formatted(TIDY)


def test_the_shipped_workflows_are_formatted() -> None:
    for file in bundled("workflows").rglob("*.yaml"):
        assert is_formatted(file.read_text()), file


def test_line_ends_of_other_systems_are_replaced() -> None:
    assert format_text("\ufeffa: 1\r\nb: 2\r\n") == "a: 1\nb: 2\n"


def test_texts_over_several_lines_keep_their_spaces() -> None:
    text = 'a: |\n  one  \n\n\n  two\nb: "x\n\n\n  y"\n'
    assert format_text(text) == text


def test_a_file_that_cannot_be_read_is_not_touched() -> None:
    with pytest.raises(YamlInvalid):
        format_text("a: [1\n")
