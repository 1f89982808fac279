"""Short notation for canonical bundles in tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

JsonObject = dict[str, Any]


def node(node_id: str, kind: str, config: Mapping[str, Any] | None = None, **fields: Any) -> JsonObject:
    """One node of the canonical document."""
    return {"id": node_id, "kind": kind, "config": dict(config or {}), **fields}


def edges(*texts: str) -> list[JsonObject]:
    """Edges written `from.port > to`."""
    found = []
    for text in texts:
        start, _, end = text.partition(" > ")
        source, _, port = start.rpartition(".")
        if not (source and port and end):
            raise ValueError(f"an edge is written `node.port > node`, not {text!r}")
        found.append({"from": {"node": source, "port": port}, "to": {"node": end}})
    return found


def form(*outcomes: str) -> JsonObject:
    """A form that asks for one of these outcomes and takes a note."""
    return {
        "type": "object",
        "properties": {"outcome": {"type": "string", "enum": list(outcomes)}, "note": {"type": "string"}},
        "required": ["outcome"],
    }


def bundle(
    key: str,
    nodes: Iterable[JsonObject],
    wires: Iterable[str],
    *,
    forms: Mapping[str, JsonObject] | None = None,
    messages: Mapping[str, JsonObject] | None = None,
    components: Mapping[str, JsonObject] | None = None,
    input_schema: JsonObject | None = None,
    **document: Any,
) -> JsonObject:
    """A canonical bundle; `document` sets further fields of the graph."""
    graph: JsonObject = {
        "schema_version": 1,
        "key": key,
        "purpose": "report",
        "authority": "assist",
        "nodes": list(nodes),
        "edges": edges(*wires),
        **document,
    }
    if input_schema is not None:
        graph["input_schema"] = input_schema
    parts: JsonObject = {"graph": graph}
    named = {"forms": forms, "messages": messages, "components": components}
    parts.update({name: dict(part) for name, part in named.items() if part})
    return parts
