"""A YAML or JSON file as values with places; what cannot be read, or would be misread, is a problem with its place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from casegraph.authoring import traps
from casegraph.authoring.places import Entry, Path, Place, Spot
from casegraph.authoring.problems import SourceProblem
from casegraph.authoring.yaml_tree import Node, entries, scalar

YAML_SUFFIXES = (".yaml", ".yml")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9]+\Z")


@dataclass
class Source:
    """A file's value (None when it could not be read), where everything in it stands, and its problems."""

    file: str
    value: Any = None
    entries: dict[Path, Entry] = field(default_factory=dict)
    problems: list[SourceProblem] = field(default_factory=list)


def read_text(text: str, file: str) -> Source:
    """Read a file's text by its name: `.yaml` and `.yml`, else JSON. Never raises for what the text holds."""
    return _read_yaml(text, file) if file.endswith(YAML_SUFFIXES) else _read_json(text, file)


def _read_yaml(text: str, file: str) -> Source:
    source, read = Source(file), traps.read(text)
    for trap in read.traps:
        hint = f"quote it: {trap.quoted}"
        source.problems.append(
            _problem(file, "unquoted_expression", trap.spot, "YAML would misread this expression", hint)
        )
    faults = [*read.tree.faults, *([read.fault] if read.fault else [])]
    for fault in faults:
        source.problems.append(
            _problem(file, fault.code, read.original(fault.spot), fault.message, fault.hint)
        )
    root = None if read.fault else read.tree.root
    if root is None:
        if not source.problems:
            source.problems.append(_problem(file, "empty_file", Spot(1, 1), "there is nothing in this file"))
        return source
    source.problems += _misread(root, file, read)
    source.value = root.value()
    source.entries = {path: _original(entry, read) for path, entry in entries(root).items()}
    return source


def _misread(root: Node, file: str, read: traps.Repaired) -> Iterator[SourceProblem]:
    """Keys without a value, and plain scalars whose value is not what stands there."""
    waiting = [root]
    while waiting:
        node = waiting.pop(0)
        waiting = [*(value for _, value in node.pairs), *node.items, *waiting]
        for key, value in node.pairs:
            if value.absent:
                text, hint = f"{key.text!r} has no value", "give it one, or remove the key"
                yield _problem(file, "missing_value", read.original(key.start), text, hint)
        if node.kind != "scalar" or node.style:
            continue
        number = scalar(node.text)
        spot = read.original(node.start)
        if _LEADING_ZERO.match(node.text):
            text, hint = f"YAML reads {node.text} as the number {number}", f"write '{node.text}' or {number}"
            yield _problem(file, "number_misread", spot, text, hint)
        elif isinstance(number, float) and not abs(number) < float("inf"):
            text, hint = f"YAML reads {node.text} as a number that JSON has not", f"quote it: '{node.text}'"
            yield _problem(file, "number_misread", spot, text, hint)


def _read_json(text: str, file: str) -> Source:
    source = Source(file)
    try:
        source.value = json.loads(text)
    except json.JSONDecodeError as exc:
        source.problems.append(_problem(file, "malformed_json", Spot(exc.lineno, exc.colno), exc.msg))
    except RecursionError:
        source.problems.append(_problem(file, "unreadable", Spot(1, 1), "it is nested too deeply to be read"))
    else:
        # JSON is YAML but for tabs and the like; where that does not hold, places are the file's beginning.
        read = traps.read(text)
        if read.tree.root is not None and not read.fault and not read.traps:
            source.entries = entries(read.tree.root)
    return source


def _original(entry: Entry, read: traps.Repaired) -> Entry:
    if not read.traps:
        return entry
    start = read.original(entry.value)
    # The quote was put there here.
    inside = 0 if any(trap.spot == start for trap in read.traps) else entry.inside
    return Entry(read.original(entry.key), start, entry.scalar, inside)


def _problem(file: str, code: str, spot: Spot, message: str, hint: str = "") -> SourceProblem:
    return SourceProblem(code, Place(file, spot.line, spot.column), message, hint)
