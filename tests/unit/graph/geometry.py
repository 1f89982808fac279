"""What a drawing must keep: nothing overlaps, nothing runs through a box or a label, all inside, lines told apart."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise

from casegraph.domain.graph.layouting.drawing import Drawing, DrawnEdge, Point

Rectangle = tuple[int, int, int, int]
Segment = tuple[Point, Point]
# Where a straight part lies, from where to where, and its number.
Part = tuple[int, int, int, int]


def faults(drawing: Drawing) -> list[str]:
    """Every fault, in words; empty for a good drawing."""
    boxes = [(f"box {b.node_id}", (b.x, b.y, b.x + b.width, b.y + b.height)) for b in drawing.boxes]
    labels = [
        (
            f"label {e.source}.{e.ports[0]}",
            (e.label.x, e.label.y, e.label.x + e.label.width, e.label.y + e.label.height),
        )
        for e in drawing.edges
        if e.label is not None
    ]
    segments = [(edge, segment) for edge in drawing.edges for segment in segments_of(edge)]
    return [
        *_overlaps([*boxes, *labels]),
        *_crossed(segments, [*boxes, *labels]),
        *_outside(drawing, [*boxes, *labels]),
        *_slanted(segments),
        *_loose_ends(drawing),
        *_shared(segments),
    ]


def segments_of(edge: DrawnEdge) -> Iterator[Segment]:
    """The straight parts of a line."""
    yield from pairwise(edge.points)


def _overlaps(named: list[tuple[str, Rectangle]]) -> Iterator[str]:
    found = sorted(named, key=lambda entry: entry[1][1])
    open_: list[tuple[str, Rectangle]] = []
    for name, area in found:
        open_ = [entry for entry in open_ if entry[1][3] > area[1]]
        for other, theirs in open_:
            if area[0] < theirs[2] and theirs[0] < area[2]:
                yield f"{name} overlaps {other}"
        open_.append((name, area))


def _crossed(segments: list[tuple[DrawnEdge, Segment]], named: list[tuple[str, Rectangle]]) -> Iterator[str]:
    upright: list[Part] = []
    level: list[Part] = []
    for i, (_, ((x1, y1), (x2, y2))) in enumerate(segments):
        if x1 == x2:
            upright.append((x1, min(y1, y2), max(y1, y2), i))
        if y1 == y2:
            level.append((y1, min(x1, x2), max(x1, x2), i))
    upright.sort()
    level.sort()
    for name, (left, top, right, bottom) in named:
        for _, low, high, i in _between(upright, left, right):
            if low < bottom and high > top:
                yield f"{segments[i][0].source} to {segments[i][0].target} runs through {name}"
        for _, low, high, i in _between(level, top, bottom):
            if low < right and high > left:
                yield f"{segments[i][0].source} to {segments[i][0].target} runs through {name}"


def _between(ordered: list[Part], low: int, high: int) -> Iterable[Part]:
    """Those whose line lies strictly between."""
    return ordered[bisect_right(ordered, (low, 2**40, 0, 0)) : bisect_left(ordered, (high, -(2**40), 0, 0))]


def _outside(drawing: Drawing, named: list[tuple[str, Rectangle]]) -> Iterator[str]:
    for name, (left, top, right, bottom) in named:
        if left < 0 or top < 0 or right > drawing.width or bottom > drawing.height:
            yield f"{name} lies outside the picture"
    for edge in drawing.edges:
        for x, y in edge.points:
            if not (0 <= x <= drawing.width and 0 <= y <= drawing.height):
                yield f"{edge.source} to {edge.target} leaves the picture"


def _slanted(segments: list[tuple[DrawnEdge, Segment]]) -> Iterator[str]:
    for edge, ((x1, y1), (x2, y2)) in segments:
        if (x1 == x2) == (y1 == y2):
            yield f"{edge.source} to {edge.target} has a slanted or empty part"


def _loose_ends(drawing: Drawing) -> Iterator[str]:
    boxes = {box.node_id: box for box in drawing.boxes}
    for edge in drawing.edges:
        source, target = boxes[edge.source], boxes[edge.target]
        (x, y), (end_x, end_y) = edge.points[0], edge.points[-1]
        if y != source.y + source.height or not source.x < x < source.x + source.width:
            yield f"{edge.source} to {edge.target} does not leave by the bottom of its source"
        meets = end_y == target.y and target.x < end_x < target.x + target.width
        if not edge.jump and not meets:
            yield f"{edge.source} to {edge.target} does not end on the top of its target"


def _shared(segments: list[tuple[DrawnEdge, Segment]]) -> Iterator[str]:
    """Lines to different nodes may cross and not run along each other."""
    along: dict[tuple[bool, int], list[tuple[int, int, str]]] = defaultdict(list)
    for edge, ((x1, y1), (x2, y2)) in segments:
        upright = x1 == x2
        low, high = sorted((y1, y2) if upright else (x1, x2))
        along[upright, x1 if upright else y1].append((low, high, edge.target))
    for (upright, at), parts in along.items():
        parts.sort()
        reach: dict[str, int] = {}
        for low, high, target in parts:
            for other, end in reach.items():
                if other != target and end > low:
                    yield f"lines to {target} and {other} run along each other at {'x' if upright else 'y'} = {at}"
            reach[target] = max(reach.get(target, 0), high)
