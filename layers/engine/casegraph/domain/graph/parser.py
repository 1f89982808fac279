"""Text or dict to document, piece by piece, so that one broken node does not hide the problems of the others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from casegraph.domain.graph.document import Document, Edge, JsonObject, Node
from casegraph.domain.graph.problem import Problem, did_you_mean, pointer
from casegraph.domain.nodes.kind import NodeKind
from casegraph.domain.nodes.registry import KINDS
from casegraph.limits import BODY_MAX_DEPTH, GRAPH_MAX_NODES

GRAPH = "/graph"
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ParsedNode:
    """A node that could be read. config is None when its kind is unknown or its configuration is wrong."""

    index: int
    node: Node
    kind: NodeKind | None
    config: Any

    @property
    def pointer(self) -> str:
        """Where it stands."""
        return f"{GRAPH}/nodes/{self.index}"


@dataclass
class Parsed:
    """What could be read of a document; document is None unless all of it could."""

    document: Document | None = None
    nodes: list[ParsedNode] = field(default_factory=list)
    edges: list[tuple[int, Edge]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def load(body: bytes | str) -> tuple[Any, list[Problem]]:
    """JSON text to values; bad JSON, NaN, repeated keys and deep nesting are problems at the root."""
    repeated: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in items]
        repeated.extend(key for key in set(keys) if keys.count(key) > 1)
        return dict(items)

    def constant(name: str) -> Any:
        raise ValueError(f"{name} is no JSON number")

    try:
        value = json.loads(body, object_pairs_hook=pairs, parse_constant=constant)
    except RecursionError:
        return None, [Problem("too_deep", "", f"nested deeper than {BODY_MAX_DEPTH} levels")]
    except ValueError as exc:
        return None, [Problem("malformed_json", "", f"this is no JSON: {exc}")]
    return value, [
        Problem("duplicate_key", "", f"key {key!r} stands twice in one object") for key in repeated
    ]


def depth_of(value: Any, limit: int = BODY_MAX_DEPTH) -> bool:
    """Whether the value is nested at most `limit` levels deep."""
    level = [value]
    for _ in range(limit + 1):
        level = [
            item
            for outer in level
            if isinstance(outer, dict | list)
            for item in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return True
    return False


def parse(graph: Any) -> Parsed:
    """Read a canonical document given as JSON values. Never raises for what the document holds."""
    parsed = Parsed()
    if not isinstance(graph, dict):
        parsed.problems.append(
            Problem("not_an_object", GRAPH, "the graph is a JSON object", "see docs/reference/graph.md")
        )
        return parsed
    if not depth_of(graph):
        parsed.problems.append(Problem("too_deep", GRAPH, f"nested deeper than {BODY_MAX_DEPTH} levels"))
        return parsed
    _read_envelope(graph, parsed)
    _read_nodes(graph.get("nodes"), parsed)
    _read_edges(graph.get("edges", []), parsed)
    if not parsed.problems:
        parsed.document = Document.model_validate_json(json.dumps(graph))
    return parsed


def config_of(kind: NodeKind, config: JsonObject) -> Any:
    """The parsed configuration. Raises pydantic's ValidationError."""
    return kind.config.model_validate_json(json.dumps(config))


_PLACEHOLDER_NODE = {"id": "start", "kind": "start"}


def _read_envelope(graph: JsonObject, parsed: Parsed) -> None:
    _read(Document, {**graph, "nodes": [_PLACEHOLDER_NODE], "edges": []}, GRAPH, parsed)


def _read_nodes(nodes: Any, parsed: Parsed) -> None:
    where = f"{GRAPH}/nodes"
    if not isinstance(nodes, list):
        parsed.problems.append(Problem("missing_field", where, "nodes is a list of nodes"))
        return
    if not nodes:
        parsed.problems.append(Problem("invalid_value", where, "a graph has at least a start and an end"))
    if len(nodes) > GRAPH_MAX_NODES:
        text = f"{len(nodes)} nodes; a graph has at most {GRAPH_MAX_NODES}"
        parsed.problems.append(
            Problem("too_many_nodes", where, text, "move parts into workflows of their own")
        )
        return
    for index, raw in enumerate(nodes):
        node = _read(Node, raw, f"{where}/{index}", parsed)
        if node is not None:
            parsed.nodes.append(_with_kind(index, node, parsed))


def _with_kind(index: int, node: Node, parsed: Parsed) -> ParsedNode:
    where = f"{GRAPH}/nodes/{index}"
    kind = KINDS.get(node.kind)
    if kind is None:
        text = f"there is no node kind {node.kind!r}"
        parsed.problems.append(Problem("unknown_kind", f"{where}/kind", text, did_you_mean(node.kind, KINDS)))
        return ParsedNode(index, node, None, None)
    return ParsedNode(index, node, kind, _read(kind.config, node.config, f"{where}/config", parsed))


def _read_edges(edges: Any, parsed: Parsed) -> None:
    if not isinstance(edges, list):
        parsed.problems.append(Problem("invalid_value", f"{GRAPH}/edges", "edges is a list of edges"))
        return
    for index, raw in enumerate(edges):
        edge = _read(Edge, raw, f"{GRAPH}/edges/{index}", parsed)
        if edge is not None:
            parsed.edges.append((index, edge))


def _read(model: type[M], raw: Any, where: str, parsed: Parsed) -> M | None:
    try:
        return model.model_validate_json(json.dumps(raw))
    except ValidationError as exc:
        parsed.problems.extend(_problems(exc, model, where))
        return None


def _problems(error: ValidationError, model: type[BaseModel], where: str) -> Iterator[Problem]:
    for detail in error.errors(include_url=False, include_context=False):
        yield _problem(detail, model, where)


_CODES = {"extra_forbidden": "unknown_field", "missing": "missing_field"}


def _problem(detail: ErrorDetails, model: type[BaseModel], where: str) -> Problem:
    loc = [part for part in detail["loc"] if part != "[key]"]
    place = where + pointer(*loc)
    code = _CODES.get(detail["type"], "invalid_value")
    if code == "unknown_field":
        name = str(loc[-1])
        known = [f.alias or n for n, f in model.model_fields.items()] if len(loc) == 1 else []
        return Problem(code, place, f"there is no field {name!r} here", did_you_mean(name, known))
    if code == "missing_field":
        return Problem(code, place, f"field {str(loc[-1])!r} is missing")
    return Problem(code, place, detail["msg"])
