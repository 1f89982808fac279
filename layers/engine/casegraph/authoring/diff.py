"""What differs between two bundles, in the words of the graph: nodes, their fields, edges, forms and texts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from casegraph.domain.canonical import canonical_bytes
from casegraph.domain.graph.bundle import SECTIONS
from casegraph.domain.graph.problem import pointer

_ABSENT = object()
_SHOWN_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. part: `graph`, `node`, `edge` or a section of the bundle; name: which one; field: JSON pointer in
    it, empty for the whole; before, after: JSON values, None when there is none."""

    what: Literal["added", "removed", "changed"]
    part: str
    name: str
    field: str = ""
    before: Any = None
    after: Any = None

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return asdict(self)

    def __str__(self) -> str:
        sign = {"added": "+", "removed": "-", "changed": "~"}[self.what]
        where = " ".join(part for part in (self.part, self.name) if part) + (
            f" {self.field}" if self.field else ""
        )
        if self.what == "changed":
            return f"{sign} {where}: {_shown(self.before)} -> {_shown(self.after)}"
        value = self.after if self.what == "added" else self.before
        return f"{sign} {where}" + (f": {_shown(value)}" if value is not None else "")


def diff(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """Every difference of two canonical bundles; empty when they mean the same."""
    old, new = before["graph"], after["graph"]
    envelope = [key for key in dict.fromkeys((*old, *new)) if key not in ("nodes", "edges")]
    changes: list[Change] = []
    for key in envelope:
        changes += _values("graph", "", pointer(key), old.get(key, _ABSENT), new.get(key, _ABSENT))
    changes += _nodes(old, new)
    changes += _edges(old, new)
    for section in SECTIONS[1:]:
        changes += _section(section, before.get(section, {}), after.get(section, {}))
    return changes


def _nodes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    first = {node["id"]: node for node in old["nodes"]}
    second = {node["id"]: node for node in new["nodes"]}
    for name in dict.fromkeys((*first, *second)):
        if name not in second:
            yield Change("removed", "node", name, before=first[name]["kind"])
        elif name not in first:
            yield Change("added", "node", name, after=second[name]["kind"])
        else:
            yield from _values("node", name, "", first[name], second[name])
    kept = [name for name in first if name in second]
    if kept != [name for name in second if name in first]:
        yield Change("changed", "graph", "", "/nodes", "order of the nodes", "another order")


def _edges(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    first, second = _targets(old), _targets(new)
    for name in dict.fromkeys((*first, *second)):
        if first.get(name) != second.get(name):
            yield _change("edge", name, "", first.get(name, _ABSENT), second.get(name, _ABSENT))


def _targets(graph: Mapping[str, Any]) -> dict[str, str]:
    return {f"{e['from']['node']}.{e['from']['port']}": e["to"]["node"] for e in graph.get("edges", [])}


def _section(section: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    for name in sorted({*old, *new}):
        if name in old and name in new:
            yield from _values(section, name, "", old[name], new[name])
        else:
            yield Change("added" if name in new else "removed", section, name)


def _values(part: str, name: str, where: str, old: Any, new: Any) -> Iterator[Change]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            yield from _values(part, name, where + pointer(key), old.get(key, _ABSENT), new.get(key, _ABSENT))
    elif old is _ABSENT or new is _ABSENT or canonical_bytes(old) != canonical_bytes(new):
        yield _change(part, name, where, old, new)


def _change(part: str, name: str, where: str, old: Any, new: Any) -> Change:
    if old is _ABSENT:
        return Change("added", part, name, where, after=new)
    if new is _ABSENT:
        return Change("removed", part, name, where, before=old)
    return Change("changed", part, name, where, old, new)


def _shown(value: Any) -> str:
    value = int(value) if isinstance(value, float) and value.is_integer() else value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = text.replace("\n", "\\n")
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 1]}…"
