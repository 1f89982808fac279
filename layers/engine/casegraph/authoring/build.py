"""The source form to the canonical document (architecture.md 6.2): every node in the order of the file, `start` and
`end` added where the file leaves them out."""

from __future__ import annotations

from typing import Any

from casegraph.authoring.fields import duration, unknown_fields
from casegraph.authoring.files import Folder
from casegraph.authoring.nodes import Defaults, build_node, read_defaults
from casegraph.authoring.places import Origin
from casegraph.authoring.wiring import wire
from casegraph.domain.graph.problem import pointer

# Fields of the document that mean the same in both forms.
_SAME = (
    "schema_version", "key", "name", "description", "owner", "labels", "purpose", "authority", "on_unhandled",
)  # fmt: skip
_FIELDS = (*_SAME, "deadline", "input_schema", "event_schemas", "defaults", "nodes")
START, END = "start", "end"


def build_graph(source: Any, folder: Folder) -> None:
    """Put the canonical document of a source file's value into the folder's bundle; what is wrong becomes a problem."""
    folder.places.put("/graph", Origin(folder.main, ()))
    folder.bundle["graph"] = graph = {}
    if source is None:
        return
    if not isinstance(source, dict):
        folder.problem("not_an_object", "/graph", "a workflow is a map of fields: key, purpose, nodes, ...")
        return
    unknown_fields(folder, source, (), "/graph", _FIELDS)
    graph.update({name: source[name] for name in _SAME if source.get(name) is not None})
    _deadline(source, folder, graph)
    _schemas(source, folder, graph)
    defaults = read_defaults(source.get("defaults"), folder)
    nodes = source.get("nodes")
    folder.places.put("/graph/nodes", Origin(folder.main, ("nodes",)))
    if not isinstance(nodes, dict):
        graph["nodes"] = []
        code = "invalid_value" if nodes is not None else "missing_field"
        hint = "nodes: {review: {kind: human_task, ...}}"
        folder.problem(code, "/graph/nodes", "`nodes` is a map of nodes by id", hint)
        return
    _nodes(nodes, folder, graph, defaults)


def _deadline(source: dict[str, Any], folder: Folder, graph: dict[str, Any]) -> None:
    if source.get("deadline") is not None:
        where = "/graph/deadline_seconds"
        folder.places.put(where, Origin(folder.main, ("deadline",)))
        seconds = duration(folder, source["deadline"], where)
        if seconds is not None:
            graph["deadline_seconds"] = seconds


def _schemas(source: dict[str, Any], folder: Folder, graph: dict[str, Any]) -> None:
    if source.get("input_schema") is not None:
        where = "/graph/input_schema"
        graph["input_schema"] = folder.schema(source["input_schema"], where, ("input_schema",))
    events = source.get("event_schemas")
    if isinstance(events, dict):
        graph["event_schemas"] = {
            name: folder.schema(schema, "/graph/event_schemas" + pointer(name), ("event_schemas", name))
            for name, schema in events.items()
            if schema is not None
        }
    elif events is not None:
        graph["event_schemas"] = events


def _nodes(source: dict[str, Any], folder: Folder, graph: dict[str, Any], defaults: Defaults) -> None:
    kinds = [node.get("kind") for node in source.values() if isinstance(node, dict)]
    nodes: list[dict[str, Any]] = []
    if "start" not in kinds:
        folder.places.put("/graph/nodes/0", Origin(folder.main, ("nodes",), exact=True))
        nodes.append({"id": START, "kind": "start", "config": {}})
    for name, raw in source.items():
        nodes.append(build_node(name, raw, len(nodes), folder, defaults))
    if END not in source and _leads_to_end(source):
        folder.places.put(f"/graph/nodes/{len(nodes)}", Origin(folder.main, ("nodes",), exact=True))
        nodes.append({"id": END, "kind": "end", "config": {}})
    graph["nodes"] = nodes
    graph["edges"] = wire(nodes, source, folder, defaults.on_error)


def _leads_to_end(source: dict[str, Any]) -> bool:
    """Whether a node names `end`, or the file's last node goes on."""
    for raw in source.values():
        following = raw.get("next") if isinstance(raw, dict) else None
        branches = raw.get("branches") if isinstance(raw, dict) else None
        named = [following]
        for targets in (following, branches):
            named += targets.values() if isinstance(targets, dict) else []
        if END in named:
            return True
    last = next(reversed(source.values()), None)
    return isinstance(last, dict) and last.get("kind") != "end" and "next" not in last
