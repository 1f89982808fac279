"""Two versions in one drawing: what was added, removed or changed is marked by word and stroke."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from casegraph.domain.graph.document import Document, Node
from casegraph.domain.graph.layout import caption
from casegraph.domain.graph.layouting.sketch import Arc, Sketch, Vertex, label_lines

ADDED, REMOVED, CHANGED, SAME = "added", "removed", "changed", ""
EdgeKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """nodes: those of the later version in its order, then those that it has no more; with their marks. edges:
    (source, port, target) with their marks."""

    nodes: tuple[tuple[Node, str], ...]
    edges: Mapping[EdgeKey, str]

    def in_words(self) -> str:
        """Every difference in a sentence: what a person reads who does not see the picture."""
        nodes = [f"{node.id} {mark}" for node, mark in self.nodes if mark]
        edges = [
            f"{source}, {port} to {target} {mark}"
            for (source, port, target), mark in self.edges.items()
            if mark
        ]
        if not nodes and not edges:
            return "No node and no edge differs."
        return f"Nodes: {'; '.join(nodes) or 'none differs'}. Edges: {'; '.join(edges) or 'none differs'}."


def compare(earlier: Document, later: Document) -> Comparison:
    """What the later version adds, removes and changes. A node is itself by its id; it changed when anything of it
    did. An edge that leads elsewhere is one removed and one added."""
    before = {node.id: node for node in earlier.nodes}
    after = {node.id for node in later.nodes}
    nodes = [(node, _mark(before.get(node.id), node)) for node in later.nodes]
    nodes += [(node, REMOVED) for node in earlier.nodes if node.id not in after]
    old, new = _edges(earlier), _edges(later)
    edges = {key: SAME if key in old else ADDED for key in new}
    edges |= {key: REMOVED for key in old if key not in edges}
    return Comparison(tuple(nodes), edges)


def sketch_of_both(comparison: Comparison) -> Sketch:
    """Both versions as one graph to lay out."""
    number = {node.id: i for i, (node, _) in enumerate(comparison.nodes)}
    ports: dict[tuple[int, int, str], list[str]] = {}
    leaving: dict[int, int] = {}
    for (source, port, target), mark in comparison.edges.items():
        if source in number and target in number:
            ports.setdefault((number[source], number[target], mark), []).append(port)
            leaving[number[source]] = leaving.get(number[source], 0) + 1
    arcs = tuple(
        Arc(source, target, tuple(names), _label(names, mark, leaving[source]), mark)
        for (source, target, mark), names in ports.items()
    )
    vertices = tuple(Vertex(node.id, node.kind, caption(node), mark) for node, mark in comparison.nodes)
    return Sketch(vertices, arcs)


def _label(ports: list[str], mark: str, leaving: int) -> tuple[str, ...]:
    if mark:
        return label_lines(tuple(f"{mark}: {port}" for port in ports))
    return label_lines(tuple(ports)) if leaving > 1 else ()


def _mark(before: Node | None, after: Node) -> str:
    if before is None:
        return ADDED
    return SAME if _plain(before) == _plain(after) else CHANGED


def _plain(node: Node) -> dict[str, Any]:
    return node.model_dump(mode="json", exclude_defaults=True)


def _edges(document: Document) -> dict[EdgeKey, None]:
    return dict.fromkeys((edge.from_.node, edge.from_.port, edge.to.node) for edge in document.edges)
