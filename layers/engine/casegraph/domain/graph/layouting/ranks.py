"""The first steps: which arcs lead back, and in which layer each node stands."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from casegraph.domain.graph.layouting.sketch import Sketch
from casegraph.limits import DRAWING_LAYER_MIN_NODES


@dataclass(frozen=True, slots=True)
class Ranks:
    """layer: of each node, 0 on top. loops: the numbers of the arcs that lead to their own layer or up."""

    layer: tuple[int, ...]
    loops: frozenset[int]


def rank(sketch: Sketch) -> Ranks:
    """Layers such that every arc but the loops leads down. No layer holds more nodes than the graph's size allows:
    the others stand lower, so that a wide fork stays a picture."""
    count = len(sketch.vertices)
    outgoing: list[list[int]] = [[] for _ in range(count)]
    for number, arc in enumerate(sketch.arcs):
        outgoing[arc.source].append(number)
    loops, order = _loops(sketch, outgoing)
    incoming: list[list[int]] = [[] for _ in range(count)]
    following: list[list[int]] = [[] for _ in range(count)]
    for number, arc in enumerate(sketch.arcs):
        if number not in loops:
            incoming[arc.target].append(arc.source)
            following[arc.source].append(arc.target)
    layer = _down(order, incoming, max(DRAWING_LAYER_MIN_NODES, math.isqrt(count)))
    _tighten(order, layer, incoming, following)
    return Ranks(tuple(_without_gaps(layer)), frozenset(loops))


def _loops(sketch: Sketch, outgoing: list[list[int]]) -> tuple[set[int], list[int]]:
    """The arcs that lead back to where a walk from the start came from, and the nodes in an order without them.

    The walk takes nodes in source order and ports in port order: a loop is what a reader of the source would call one.
    """
    new, open_, done = 0, 1, 2
    state = [new] * len(sketch.vertices)
    loops: set[int] = set()
    finished: list[int] = []
    for root in range(len(state)):
        if state[root] != new:
            continue
        state[root] = open_
        work = [(root, iter(outgoing[root]))]
        while work:
            node, arcs = work[-1]
            for number in arcs:
                target = sketch.arcs[number].target
                if state[target] == open_:
                    loops.add(number)
                elif state[target] == new:
                    state[target] = open_
                    work.append((target, iter(outgoing[target])))
                    break
            else:
                work.pop()
                state[node] = done
                finished.append(node)
    return loops, finished[::-1]


def _down(order: Sequence[int], incoming: list[list[int]], widest: int) -> list[int]:
    earliest = [0] * len(order)
    for node in order:
        earliest[node] = max((earliest[before] + 1 for before in incoming[node]), default=0)
    layer = [0] * len(order)
    held: dict[int, int] = {}
    # First free layer at or after a full one, with the path halved on the way: full layers are skipped at once.
    free: dict[int, int] = {}

    def first_free(at: int) -> int:
        while at in free:
            free[at] = free.get(free[at], free[at])
            at = free[at]
        return at

    position = {node: i for i, node in enumerate(order)}
    for node in sorted(order, key=lambda n: (earliest[n], position[n])):
        at = first_free(max((layer[before] + 1 for before in incoming[node]), default=0))
        layer[node] = at
        held[at] = held.get(at, 0) + 1
        if held[at] >= widest:
            free[at] = at + 1
    return layer


def _tighten(
    order: Sequence[int], layer: list[int], incoming: list[list[int]], following: list[list[int]]
) -> None:
    """Nodes that more arcs leave than enter stand just above what they lead to."""
    for node in reversed(order):
        if len(following[node]) > len(incoming[node]):
            layer[node] = max(layer[node], min(layer[after] for after in following[node]) - 1)


def _without_gaps(layer: list[int]) -> list[int]:
    number = {at: i for i, at in enumerate(sorted(set(layer)))}
    return [number[at] for at in layer]
