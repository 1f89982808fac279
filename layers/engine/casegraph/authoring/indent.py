"""Indentation by two: each line moves with the key or list item that it belongs to."""

from __future__ import annotations

from casegraph.authoring.yaml_tree import Node, parse

STEP = 2
# Old and new column (from 0) of the key or dash that a line begins with, by line.
Anchors = dict[int, tuple[int, int]]


def reindented(text: str) -> str:
    """The text with two spaces a level, list items one level in from their key."""
    root = parse(text).root
    if root is None:
        return text
    lines = text.split("\n")
    anchors: Anchors = {}
    _anchor(root, 0, lines, anchors)
    return "\n".join(_moved(lines, anchors))


def _anchor(node: Node, column: int, lines: list[str], anchors: Anchors) -> None:
    """Note where the lines of a block collection move when it begins at `column`."""
    if node.flow or node.kind == "scalar":
        return
    if node.kind == "map":
        for key, value in node.pairs:
            _note(key.start.line, key.start.column - 1, column, lines, anchors)
            _anchor(value, column + STEP, lines, anchors)
        return
    dash = node.start.column - 1
    for item in node.items:
        line = _line_of_dash(lines, item.start.line, dash)
        _note(line, dash, column, lines, anchors)
        same_line = line == item.start.line
        inner = column + (item.start.column - 1 - dash if same_line else STEP)
        _anchor(item, inner, lines, anchors)


def _note(line: int, old: int, new: int, lines: list[str], anchors: Anchors) -> None:
    if not lines[line - 1][:old].strip():
        anchors.setdefault(line, (old, new))


def _line_of_dash(lines: list[str], line: int, dash: int) -> int:
    for number in range(line, 0, -1):
        if lines[number - 1][dash : dash + 1] == "-" and not lines[number - 1][:dash].strip():
            return number
    return line


def _moved(lines: list[str], anchors: Anchors) -> list[str]:
    found: list[str] = []
    following = sorted(anchors)
    position, delta = 0, 0
    for number, line in enumerate(lines, 1):
        while position < len(following) and following[position] < number:
            position += 1
        if number in anchors:
            old, new = anchors[number]
            delta = new - old
        elif line.lstrip().startswith("#"):
            found.append(_comment(line, number, following[position:], anchors))
            continue
        found.append(_shifted(line, delta))
    return found


def _comment(line: str, number: int, following: list[int], anchors: Anchors) -> str:
    """A comment belongs to what follows it, or, indented like something before it, to that."""
    old = len(line) - len(line.lstrip())
    if following and anchors[following[0]][0] == old:
        return " " * anchors[following[0]][1] + line.lstrip()
    before = [at for at in anchors if at < number]
    same = [at for at in before if anchors[at][0] == old] or before[-1:]
    column = anchors[same[-1]][1] if same else anchors[following[0]][1] if following else old
    return " " * column + line.lstrip()


def _shifted(line: str, delta: int) -> str:
    if not line.strip() or delta == 0:
        return line
    old = len(line) - len(line.lstrip(" "))
    return " " * max(0, old + delta) + line[old:]
