"""`casegraph fmt`: one way to write a source file. Idempotent, keeps every comment, never changes what the file means.

It quotes what YAML misreads (unquoted CEL, `traps.py`) and what other readers of YAML would (`off`, `NO`, dates),
indents by two, and tidies blank lines and line ends. It edits the text in place: what it does not touch stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from casegraph.authoring import traps
from casegraph.authoring.indent import reindented
from casegraph.authoring.yaml_tree import Node, YamlInvalid, parse, scalar

# Plain text here, something else to readers of YAML 1.1: booleans, numbers with _ or :, dates, the value key.
_MISREAD_ELSEWHERE = re.compile(
    r"(?:y|Y|yes|Yes|YES|n|N|no|No|NO|on|On|ON|off|Off|OFF|=)\Z"
    r"|[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z"
    r"|[-+]?[0-9][0-9_,]*(?:\.[0-9_]*)?(?:[eE][-+]?[0-9]+)?\Z"
    r"|[-+]?0[xb][0-9a-fA-F_]+\Z"
    r"|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ].*)?\Z"
)


def format_text(text: str) -> str:
    """The text, formatted. Raises `YamlInvalid` when it cannot be read."""
    plain = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    read = traps.read(plain)
    if read.fault is not None:
        raise read.fault
    if read.tree.root is None or read.tree.faults:
        return plain
    before = read.text
    after = _quoted_elsewhere(before, read.tree.root)
    for step in (_tidied, reindented, _tidied):
        changed = step(after)
        # A formatter that cannot keep the meaning keeps the text.
        if _same(changed, before):
            after = changed
    return after


def is_formatted(text: str) -> bool:
    """Whether `fmt` would leave the text as it is. Raises `YamlInvalid` when it cannot be read."""
    return format_text(text) == text


def _same(one: str, other: str) -> bool:
    try:
        first, second = parse(one).root, parse(other).root
    except YamlInvalid:
        return False
    if first is None or second is None:
        return first is second
    return first.value() == second.value() and _order(first) == _order(second)


def _order(root: Node) -> list[str]:
    return [key.text for node in walk(root) for key, _ in node.pairs]


def walk(root: Node) -> Iterator[Node]:
    """Every value, in the order of the text."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed([*(value for _, value in node.pairs), *node.items]))


def _quoted_elsewhere(text: str, root: Node) -> str:
    lines = text.split("\n")
    scalars = [node for node in walk(root) if node.kind == "scalar"]
    keys = [key for node in walk(root) for key, _ in node.pairs]
    for node in sorted([*scalars, *keys], key=lambda node: node.start, reverse=True):
        if node.style or not _MISREAD_ELSEWHERE.match(node.text) or not isinstance(scalar(node.text), str):
            continue
        line, start = node.start.line - 1, node.start.column - 1
        end = start + len(node.text)
        if lines[line][start:end] == node.text:
            lines[line] = lines[line][:start] + traps.quoted(node.text) + lines[line][end:]
    return "\n".join(lines)


def _tidied(text: str) -> str:
    """No spaces at line ends, at most one blank line in a row, one line end at the end; texts over several lines
    stay as they are."""
    root = parse(text).root
    kept = kept_lines(root) if root is not None else set()
    found: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if number in kept:
            found.append(line)
        elif line.strip():
            found.append(line.rstrip())
        elif found and found[-1] != "":
            found.append("")
    while found and not found[-1]:
        found.pop()
    return "\n".join(found) + "\n"


def kept_lines(root: Node) -> set[int]:
    """Lines inside texts that go over several lines, where spaces and blank lines may mean something."""
    kept: set[int] = set()
    for node in walk(root):
        if node.kind == "scalar" and node.end.line > node.start.line:
            last = node.end.line if node.style in ("'", '"', "") else node.end.line - 1
            kept.update(range(node.start.line + 1, last + 1))
    return kept
