"""The canonical document back to the source form: what `build` reads as the very same document.

For a workflow that exists as canonical JSON only. Everything is written out: every node, every edge, no defaults.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from casegraph.authoring.durations import written
from casegraph.authoring.literals import from_cel
from casegraph.authoring.shorthand import CANONICAL_FIELDS, RETRY_DURATIONS, Shorthand, shorthand_of
from casegraph.authoring.yaml_tree import scalar

# Texts that every reader of YAML takes for the same text when they are not quoted.
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*(?: [A-Za-z0-9_(][A-Za-z0-9_.,()-]*)*\Z")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null"})
_DURATIONS = ("timeout_seconds", "due_seconds")
_RETRY = {canonical: source for source, canonical in RETRY_DURATIONS.items()}


def print_source(graph: Mapping[str, Any]) -> str:
    """The source file of a canonical document. Forms and messages are named; their files stand beside it."""
    document: dict[str, Any] = {}
    for name, value in graph.items():
        if name == "deadline_seconds":
            document["deadline"] = written(value)
        elif name not in ("nodes", "edges"):
            document[name] = value
    targets: dict[str, dict[str, str]] = {}
    for edge in graph.get("edges", ()):
        targets.setdefault(edge["from"]["node"], {})[edge["from"]["port"]] = edge["to"]["node"]
    document["nodes"] = {node["id"]: _node(node, targets.get(node["id"], {})) for node in graph["nodes"]}
    return "\n".join(_lines(document, 0)) + "\n"


def _node(node: Mapping[str, Any], targets: Mapping[str, str]) -> dict[str, Any]:
    own = shorthand_of(node["kind"])
    config, given = dict(node.get("config", {})), dict(node.get("input_mapping", {}))
    found: dict[str, Any] = {"kind": node["kind"]}
    with_values = {name: config.pop(name) for name in own.in_with if name in config}
    with_values |= {name: from_cel(source) for name, source in given.items()}
    if node["kind"] == "condition" and "cases" in config:
        found["cases"] = {case["port"]: case["when"] for case in config.pop("cases")}
    found |= _fields(config, own)
    if with_values:
        found["with"] = with_values
    for name in _DURATIONS:
        if node.get(name) is not None:
            found[CANONICAL_FIELDS[name]] = written(node[name])
    if node.get("retry") is not None:
        found["retry"] = {
            _RETRY.get(name, name): written(value) if name in _RETRY else value
            for name, value in node["retry"].items()
        }
    if "max_visits" in node:
        found["max_visits"] = node["max_visits"]
    found["next"] = dict(targets)
    return found


def _fields(config: Mapping[str, Any], own: Shorthand) -> dict[str, Any]:
    durations = {canonical: source for source, canonical in own.durations.items()}
    found: dict[str, Any] = {}
    for name, value in config.items():
        if name in durations:
            found[durations[name]] = written(value)
        elif name in own.nested:
            found[name] = _fields(value, own.nested[name])
        elif name in own.expressions:
            found[name] = f"={value}"
        elif name in own.instants:
            found[name] = value if value[:1].isdigit() else f"={value}"
        else:
            found[name] = value
    return found


def _lines(value: Any, depth: int) -> Iterator[str]:
    indent = "  " * depth
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _entry(f"{indent}{_text(key)}:", inner, depth)
    else:
        for inner in value:
            yield from _entry(f"{indent}-", inner, depth)


def _entry(head: str, value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, dict | list | tuple) and value:
        yield head
        yield from _lines(value, depth + 1)
    else:
        yield f"{head} {_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float):
        return repr(value)
    return json.dumps(value)


def _text(text: str) -> str:
    """A text as YAML: plain where nothing can misread it."""
    if _PLAIN.match(text) and text.lower() not in _WORDS and isinstance(scalar(text), str):
        return text
    if text.isprintable() and "'" not in text:
        return f"'{text}'"
    quoted = json.dumps(text, ensure_ascii=False)
    # What JSON leaves as it is and YAML takes for a line end, or does not take at all.
    return "".join(c if c.isprintable() or c == " " else _escaped(c) for c in quoted)


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
