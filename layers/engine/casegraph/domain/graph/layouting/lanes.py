"""What stands in each layer: the nodes, and a lane wherever lines to a node pass beside others.

Lines to one node run together. Those from above share one lane in every layer that they pass; those that loop share
one from the lowest source up to the node's own layer. So a graph whose errors all lead to `escalate` has one line to
it, and the number of lanes does not grow with the number of edges.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from casegraph.domain.graph.layouting.ranks import Ranks
from casegraph.domain.graph.layouting.sketch import (
    CORNER,
    LABEL_GAP,
    PIN_MARGIN,
    Arc,
    Sketch,
    cut,
    even,
    label_lines,
)
from casegraph.limits import DRAWING_LABEL_LINE_CHARACTERS, DRAWING_MAX_LANES

LANE_WIDTH = 24


@dataclass(slots=True)
class Item:
    """A node or a lane. target: the node itself, or the one that the lane leads to."""

    layer: int
    width: int
    target: int
    lane: bool = False
    upward: bool = False


@dataclass(slots=True)
class Lanes:
    """Items by number: first the nodes, by their position in the sketch, then the lanes.

    layers: items from left to right. below, above: linked items of the next and the previous layer. mates: items of
    the same layer that a looping line joins (its source and its lane; its lane and its target). pins: where each arc
    leaves its source, from the middle of the box. jumps: arcs that are cut.
    """

    sketch: Sketch
    ranks: Ranks
    items: list[Item] = field(default_factory=list)
    layers: list[list[int]] = field(default_factory=list)
    below: list[list[int]] = field(default_factory=list)
    above: list[list[int]] = field(default_factory=list)
    mates: dict[int, list[int]] = field(default_factory=dict)
    pins: dict[int, int] = field(default_factory=dict)
    jumps: frozenset[int] = frozenset()
    down_lane: dict[tuple[int, int], int] = field(default_factory=dict)
    up_lane: dict[tuple[int, int], int] = field(default_factory=dict)
    outgoing: list[list[int]] = field(default_factory=list)

    def first_stop(self, number: int) -> int:
        """The item that an arc's line meets first: the target, or a lane."""
        arc, layer = self.sketch.arcs[number], self.ranks.layer
        if number in self.ranks.loops:
            return self.up_lane[arc.target, layer[arc.source]]
        return self.down_lane.get((arc.target, layer[arc.source] + 1), arc.target)

    def link(self, upper: int, lower: int) -> None:
        """Join items of neighbouring layers, once."""
        if lower not in self.below[upper]:
            self.below[upper].append(lower)
            self.above[lower].append(upper)

    def add(self, item: Item) -> int:
        """Put an item at the right end of its layer; its number."""
        self.items.append(item)
        self.below.append([])
        self.above.append([])
        self.layers[item.layer].append(len(self.items) - 1)
        return len(self.items) - 1


def lanes_of(sketch: Sketch, ranks: Ranks) -> Lanes:
    """The items of every layer and their links, in source order."""
    jumps = _jumps(sketch, ranks)
    sketch = _naming_targets(sketch, jumps)
    found = Lanes(sketch, ranks, jumps=jumps)
    found.layers = [[] for _ in range(max(ranks.layer, default=-1) + 1)]
    for node, vertex in enumerate(sketch.vertices):
        found.add(Item(ranks.layer[node], vertex.size[0], node))
    found.outgoing = [[] for _ in sketch.vertices]
    for number, arc in enumerate(sketch.arcs):
        found.outgoing[arc.source].append(number)
    _add_lanes(found)
    for number, arc in enumerate(sketch.arcs):
        if number in found.jumps:
            continue
        stop = found.first_stop(number)
        if number in ranks.loops:
            _mate(found, arc.source, stop)
        else:
            found.link(arc.source, stop)
    for node, numbers in enumerate(found.outgoing):
        _widen(found, node, numbers)
    return found


def place_pins(lanes: Lanes, position: list[int]) -> None:
    """Let the lines of every node leave in the order in which they go on, so that they do not cross each other."""
    for node, numbers in enumerate(lanes.outgoing):
        _spread(lanes, sorted(numbers, key=lambda n: (_side(lanes, n, node, position), n)))


def slot(arc: Arc) -> tuple[int, int]:
    """The room left and right of where an arc leaves its node."""
    width = arc.label_size[0]
    return PIN_MARGIN, (LABEL_GAP + width + 4 if width else PIN_MARGIN)


def _side(lanes: Lanes, number: int, node: int, position: list[int]) -> tuple[int, int]:
    if number in lanes.jumps:
        return 1, -1
    stop = lanes.first_stop(number)
    if number in lanes.ranks.loops:
        return (0 if position[stop] < position[node] else 2), position[stop]
    return 1, position[stop]


def _spread(lanes: Lanes, numbers: list[int]) -> None:
    if len(numbers) == 1:
        lanes.pins[numbers[0]] = 0
        return
    slots = [slot(lanes.sketch.arcs[number]) for number in numbers]
    at = -sum(left + right for left, right in slots) // 2
    for number, (left, right) in zip(numbers, slots, strict=True):
        lanes.pins[number] = at + left
        at += left + right


def _widen(lanes: Lanes, node: int, numbers: list[int]) -> None:
    slots = [slot(lanes.sketch.arcs[number]) for number in numbers]
    whole = sum(left + right for left, right in slots) + 2 * CORNER
    needed = 2 * max(slots[0]) if len(slots) == 1 else whole
    lanes.items[node].width = max(lanes.items[node].width, even(needed))


def _mate(lanes: Lanes, one: int, other: int) -> None:
    lanes.mates.setdefault(one, []).append(other)
    lanes.mates.setdefault(other, []).append(one)


def _reach(sketch: Sketch, ranks: Ranks, jumps: frozenset[int]) -> tuple[dict[int, int], dict[int, int]]:
    """The highest layer that a line comes down from, and the lowest that one loops from, by target."""
    top: dict[int, int] = {}
    bottom: dict[int, int] = {}
    for number, arc in enumerate(sketch.arcs):
        if number in jumps:
            continue
        layer = ranks.layer[arc.source]
        if number in ranks.loops:
            bottom[arc.target] = max(bottom.get(arc.target, layer), layer)
        else:
            top[arc.target] = min(top.get(arc.target, layer), layer)
    return top, bottom


def _add_lanes(lanes: Lanes) -> None:
    layer = lanes.ranks.layer
    top, bottom = _reach(lanes.sketch, lanes.ranks, lanes.jumps)
    for target, highest in top.items():
        lower = target
        for at in range(layer[target] - 1, highest, -1):
            lane = lanes.down_lane[target, at] = lanes.add(Item(at, LANE_WIDTH, target, lane=True))
            lanes.link(lane, lower)
            lower = lane
    for target, lowest in bottom.items():
        upper: int | None = None
        for at in range(layer[target], lowest + 1):
            lane = lanes.add(Item(at, LANE_WIDTH, target, lane=True, upward=True))
            lanes.up_lane[target, at] = lane
            if upper is None:
                _mate(lanes, target, lane)
            else:
                lanes.link(upper, lane)
            upper = lane


def _jumps(sketch: Sketch, ranks: Ranks) -> frozenset[int]:
    """The arcs to cut, the longest first, so that the lanes stay within their bound."""
    layer = ranks.layer
    length = [abs(layer[arc.target] - layer[arc.source]) for arc in sketch.arcs]
    longest = max(length, default=0)
    jumps: frozenset[int] = frozenset()
    while longest > 1:
        top, bottom = _reach(sketch, ranks, jumps)
        lanes = sum(layer[target] - at - 1 for target, at in top.items())
        lanes += sum(at - layer[target] + 1 for target, at in bottom.items())
        if lanes <= DRAWING_MAX_LANES:
            break
        longest = longest * 3 // 4
        jumps = frozenset(number for number, span in enumerate(length) if span > longest)
    return jumps


def _naming_targets(sketch: Sketch, jumps: frozenset[int]) -> Sketch:
    """The labels of arcs that are cut say where they lead."""
    if not jumps:
        return sketch

    def named(arc: Arc) -> Arc:
        target = cut(f"to {sketch.vertices[arc.target].id}", DRAWING_LABEL_LINE_CHARACTERS)
        return replace(arc, label=(*label_lines(arc.ports), target))

    arcs = (named(arc) if number in jumps else arc for number, arc in enumerate(sketch.arcs))
    return replace(sketch, arcs=tuple(arcs))
