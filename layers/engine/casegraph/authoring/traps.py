"""What YAML would misread: CEL that is not quoted, and keys that no author meant (architecture.md 6.2).

`{b: =f(x, y)}` silently becomes two keys, `{b: =x[0]}` and `b: =a ? b : c` are no YAML at all. Each is found, reported
with its quoted form, and quoted in memory, so that what follows can be read too; `fmt` writes the quoted form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from casegraph.authoring.places import Spot
from casegraph.authoring.yaml_tree import Node, Tree, YamlInvalid, parse

# A file with more of them is read again and again for nothing.
MAX_REPAIRS = 200

_OPEN, _CLOSE = "([{", ")]}"
# `=` where a value begins: after `key:`, a list's dash, or a flow collection's bracket or comma.
_VALUE = re.compile(r"(?:(?<=[:\-] )|(?<=[\[,{])|(?<=[,\[] )|(?<=: {2}))=(?=[^\s,}\]])")


@dataclass(frozen=True, slots=True)
class Trap:
    """One misread value, as the author wrote it: its place in the file and its quoted form."""

    spot: Spot
    quoted: str


@dataclass
class Repaired:
    """A text that can be read: the tree of `text`, in which `traps` are quoted; fault: why it cannot be read on."""

    text: str
    tree: Tree
    traps: list[Trap] = field(default_factory=list)
    fault: YamlInvalid | None = None
    _quoted: list[tuple[int, int, int]] = field(default_factory=list)

    def original(self, spot: Spot) -> Spot:
        """The place in the author's text of a place in the repaired one."""
        column = spot.column
        for line, at, added in reversed(self._quoted):
            if line == spot.line and column > at:
                column = max(at, column - added)
        return Spot(spot.line, column)


def read(text: str) -> Repaired:
    """Read a text, quoting what would be misread as often as needed. Never raises for what the text holds."""
    found = Repaired(text, Tree(None, []))
    for _ in range(MAX_REPAIRS):
        try:
            found.tree, found.fault = parse(found.text), None
        except YamlInvalid as fault:
            found.fault = fault
            span = _span_at_fault(found.text, fault)
        else:
            span = _stray(found.text, found.tree.root)
        if span is None:
            return found
        _quote(found, *span)
    return found


def quoted(expression: str) -> str:
    """The text as a YAML scalar that nothing can misread: single quotes, doubled inside."""
    return "'" + expression.replace("'", "''") + "'"


def _quote(found: Repaired, line: int, start: int, end: int) -> None:
    lines = found.text.split("\n")
    before = lines[line - 1]
    new = quoted(before[start:end])
    found.traps.append(Trap(found.original(Spot(line, start + 1)), new))
    lines[line - 1] = before[:start] + new + before[end:]
    found.text = "\n".join(lines)
    found._quoted.append((line, start + 1, 1))
    if len(new) - (end - start) > 1:
        found._quoted.append((line, end + 1, len(new) - (end - start) - 1))


def _span_at_fault(text: str, fault: YamlInvalid) -> tuple[int, int, int] | None:
    """The unquoted expression in or before which the parser stopped: line, start and end column (0-based)."""
    lines = text.split("\n")
    stopped, began = fault.spot, fault.context
    limits = {began.line: began.column + len(text), stopped.line: stopped.column}
    for number in dict.fromkeys((stopped.line, began.line, stopped.line - 1)):
        if not 1 <= number <= len(lines):
            continue
        line = lines[number - 1]
        limit = limits.get(number, len(line))
        for start in reversed([m.start() for m in _VALUE.finditer(line) if m.start() < limit]):
            end = _end_of_expression(line, start, flow=_in_flow(line, start))
            whole = _depth(line[start:end]) == 0 and not _unterminated(line[start:end])
            if whole and not _inside_quotes(line, start):
                return number, start, end
    return None


def _stray(text: str, root: Node | None) -> tuple[int, int, int] | None:
    """An expression that YAML cut: at a comma of a flow collection, at ` #`, or at `: `, which made a key of it."""
    for collection in _collections(root):
        keys = [key for key, _ in collection.pairs if key.text.startswith("=") and not key.style]
        values = [value for _, value in collection.pairs] + collection.items
        cut = [v for v in values if v.kind == "scalar" and not v.style and _is_cut(v, flow=collection.flow)]
        for node in (*keys, *cut):
            line, start = text.split("\n")[node.start.line - 1], node.start.column - 1
            end = _end_of_expression(line, start, flow=collection.flow)
            longer = node in keys or end > node.end.column - 1
            if longer and _depth(line[start:end]) == 0 and not _unterminated(line[start:end]):
                return node.start.line, start, end
    return None


def _is_cut(value: Node, *, flow: bool) -> bool:
    if not value.text.startswith("=") or value.start.line != value.end.line:
        return False
    return _unterminated(value.text) or (flow and _depth(value.text) > 0)


def _unterminated(text: str) -> bool:
    """Whether a string literal of the expression is left open."""
    return all(char != "\0" for _, char in _outside_strings(text + "\0", 0))


def _collections(root: Node | None) -> Iterator[Node]:
    waiting = [root] if root is not None else []
    while waiting:
        node = waiting.pop()
        if node.kind != "scalar":
            yield node
        waiting.extend(value for _, value in reversed(node.pairs))
        waiting.extend(reversed(node.items))


def _depth(text: str) -> int:
    depth = 0
    for _, char in _outside_strings(text, 0):
        depth += (char in _OPEN) - (char in _CLOSE)
    return depth


def _outside_strings(line: str, start: int) -> Iterator[tuple[int, str]]:
    """Characters of an expression outside its string literals."""
    quote = ""
    skip = False
    for at in range(start, len(line)):
        char = line[at]
        if skip:
            skip = False
        elif quote:
            skip = char == "\\"
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        else:
            yield at, char


def _end_of_expression(line: str, start: int, *, flow: bool) -> int:
    depth = 0
    for at, char in _outside_strings(line, start):
        if char == "#" and at > 0 and line[at - 1].isspace():
            return len(line[:at].rstrip())
        if flow and depth == 0 and (char == "," or char in "}]"):
            return len(line[:at].rstrip())
        depth += (char in _OPEN) - (char in _CLOSE)
    return len(line.rstrip())


def _in_flow(line: str, start: int) -> bool:
    return _depth(re.sub(r"=[^,]*$", "", line[:start])) > 0


def _inside_quotes(line: str, start: int) -> bool:
    return all(at != start for at, _ in _outside_strings(line, 0))
