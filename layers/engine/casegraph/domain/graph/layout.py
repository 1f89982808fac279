"""The drawing of a graph: a layered layout (Sugiyama), computed at publication and shared by `casegraph draw` and the
console (architecture.md 10).

Lines lead down from layer to layer, loops back up beside what they pass. Pure and deterministic: the same document
gives the same drawing everywhere. The work is bounded: larger graphs get fewer sweeps, and where lines would take too
many lanes the longest are cut (`DrawnEdge.jump`).
"""

from __future__ import annotations

from collections.abc import Iterable

from casegraph.domain.graph.document import Document, Node
from casegraph.domain.graph.layouting.columns import columns
from casegraph.domain.graph.layouting.drawing import Box, Drawing, DrawnEdge, Label, Point
from casegraph.domain.graph.layouting.lanes import Lanes, lanes_of, place_pins
from casegraph.domain.graph.layouting.order import order_layers
from casegraph.domain.graph.layouting.ranks import rank
from casegraph.domain.graph.layouting.routes import Routes, junctions_of, points_of, routes_of
from casegraph.domain.graph.layouting.sketch import LABEL_GAP, Arc, Sketch, Vertex, label_lines

MARGIN = 20


def drawing_of(document: Document) -> Drawing:
    """The drawing of a document that was validated (edges that name no node are left out)."""
    return lay_out(sketch_of(document))


def sketch_of(document: Document) -> Sketch:
    """The document's nodes with their captions, and one arc from a node to each that its ports lead to."""
    number = {node.id: i for i, node in enumerate(document.nodes)}
    ports: dict[tuple[int, int], list[str]] = {}
    for edge in document.edges:
        if edge.from_.node in number and edge.to.node in number:
            ports.setdefault((number[edge.from_.node], number[edge.to.node]), []).append(edge.from_.port)
    vertices = tuple(Vertex(node.id, node.kind, caption(node)) for node in document.nodes)
    return Sketch(vertices, arcs(ports))


def arcs(ports: dict[tuple[int, int], list[str]]) -> tuple[Arc, ...]:
    """Arcs with labels; the only port of a node needs none."""
    leaving: dict[int, int] = {}
    for (source, _), names in ports.items():
        leaving[source] = leaving.get(source, 0) + len(names)
    return tuple(
        Arc(source, target, tuple(names), label_lines(tuple(names)) if leaving[source] > 1 else ())
        for (source, target), names in ports.items()
    )


def caption(node: Node) -> str:
    """The kind in words, and what bounds the wait."""
    kind = node.kind.replace("_", " ")
    return f"{kind}, {span(node.timeout_seconds)}" if node.timeout_seconds else kind


def span(seconds: float) -> str:
    """A time span in its largest whole unit: `7 d`, `90 s`."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size and seconds % size == 0:
            return f"{int(seconds // size)} {unit}"
    return f"{seconds:g} s"


def lay_out(sketch: Sketch) -> Drawing:
    """Lay a sketch out."""
    if not sketch.vertices:
        return Drawing(2 * MARGIN, 2 * MARGIN, (), ())
    lanes = lanes_of(sketch, rank(sketch))
    position = order_layers(lanes)
    place_pins(lanes, position)
    x = [MARGIN + place for place in columns(lanes, position)]
    routes = routes_of(lanes, x, MARGIN)
    boxes = tuple(_boxes(lanes, x, routes))
    edges = tuple(_edge(lanes, x, routes, number) for number in range(len(sketch.arcs)))
    width = max(x[i] + item.width // 2 for i, item in enumerate(lanes.items)) + MARGIN
    return Drawing(width, routes.height, boxes, edges, tuple(junctions_of(routes)))


def _boxes(lanes: Lanes, x: list[int], routes: Routes) -> Iterable[Box]:
    for number, vertex in enumerate(lanes.sketch.vertices):
        item = lanes.items[number]
        left, top = x[number] - item.width // 2, routes.top[item.layer]
        height = vertex.size[1]
        lines = vertex.lines
        yield Box(vertex.id, vertex.kind, left, top, item.width, height, lines, vertex.caption, vertex.mark)


def _edge(lanes: Lanes, x: list[int], routes: Routes, number: int) -> DrawnEdge:
    arc = lanes.sketch.arcs[number]
    points = points_of(lanes, x, routes, number)
    vertices = lanes.sketch.vertices
    return DrawnEdge(
        vertices[arc.source].id,
        vertices[arc.target].id,
        arc.ports,
        points,
        _label(arc, points[0]),
        loop=number in lanes.ranks.loops,
        jump=number in lanes.jumps,
        mark=arc.mark,
    )


def _label(arc: Arc, start: Point) -> Label | None:
    if not arc.label:
        return None
    width, height = arc.label_size
    return Label(start[0] + LABEL_GAP, start[1] + 3, width, height, arc.label)
