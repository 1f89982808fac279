"""The order within the layers: few crossings, loops close to what they join.

Sweeps by barycentre, then swaps of neighbours; the best order seen is kept. The number of sweeps falls with the size,
so that the time stays bounded.
"""

from __future__ import annotations

from bisect import bisect_right, insort

from casegraph.domain.graph.layouting.lanes import Lanes
from casegraph.limits import DRAWING_ORDER_WORK, DRAWING_SWEEPS

# Crossings between lines of a looping line and what hangs below count like others; so does each item on its way.
Layers = list[list[int]]


def order_layers(lanes: Lanes) -> list[int]:
    """Reorder `lanes.layers`; the position of every item in its layer."""
    position = [0] * len(lanes.items)
    _first_order(lanes, position)
    size = len(lanes.items) + sum(map(len, lanes.below))
    sweeps = max(2, min(DRAWING_SWEEPS, DRAWING_ORDER_WORK // max(size, 1)))
    swapping = size * sweeps <= DRAWING_ORDER_WORK
    best, fewest = [list(layer) for layer in lanes.layers], cost(lanes, position)
    for sweep in range(sweeps):
        _sweep(lanes, position, downward=sweep % 2 == 0)
        if swapping or sweep == sweeps - 1:
            _swap(lanes, position, rounds=4 if swapping else 1)
        found = cost(lanes, position)
        if found < fewest:
            best, fewest = [list(layer) for layer in lanes.layers], found
        if fewest == 0:
            break
    for number, layer in enumerate(best):
        _put(lanes, position, number, layer)
    return position


def cost(lanes: Lanes, position: list[int]) -> int:
    """Crossings between layers, and items that stand between what a looping line joins."""
    total = sum(_crossings(lanes, position, layer) for layer in lanes.layers)
    apart = sum(
        max(0, abs(position[item] - position[mate]) - 1)
        for item, mates in lanes.mates.items()
        for mate in mates
    )
    return total + apart // 2


def _put(lanes: Lanes, position: list[int], number: int, layer: list[int]) -> None:
    lanes.layers[number] = layer
    for at, item in enumerate(layer):
        position[item] = at


def _first_order(lanes: Lanes, position: list[int]) -> None:
    for number, layer in enumerate(lanes.layers):
        key = {item: _mean(lanes.above[item], position, -1.0) for item in layer}
        for item in layer:
            if not lanes.above[item] and lanes.mates.get(item):
                key[item] = max(key[mate] for mate in lanes.mates[item]) + 0.5
        _put(lanes, position, number, sorted(layer, key=lambda item: (key[item], item)))


def _mean(items: list[int], position: list[int], default: float) -> float:
    return sum(position[item] for item in items) / len(items) if items else default


def _sweep(lanes: Lanes, position: list[int], *, downward: bool) -> None:
    numbers = range(len(lanes.layers))
    for number in numbers if downward else reversed(numbers):
        layer = lanes.layers[number]
        beside = lanes.above if downward else lanes.below
        key = {item: _mean(beside[item], position, 0.0) for item in layer if beside[item]}
        tied = [item for item in layer if item not in key and lanes.mates.get(item)]
        for item in tied:
            placed = [key[mate] for mate in lanes.mates[item] if mate in key]
            if placed:
                right = position[item] > position[lanes.mates[item][0]]
                key[item] = sum(placed) / len(placed) + (0.5 if right else -0.5)
        movable = iter(sorted((i for i in layer if i in key), key=lambda i: (key[i], position[i])))
        # What nothing pulls keeps its place.
        _put(lanes, position, number, [next(movable) if item in key else item for item in layer])


def _crossings(lanes: Lanes, position: list[int], layer: list[int]) -> int:
    """Pairs of links below a layer that cross: inversions, counted with a sorted list of the ends so far."""
    ends: list[int] = []
    total = 0
    for item in layer:
        mine = sorted(position[after] for after in lanes.below[item])
        for end in mine:
            total += len(ends) - bisect_right(ends, end)
        for end in mine:
            insort(ends, end)
    return total


def _swap(lanes: Lanes, position: list[int], *, rounds: int) -> None:
    for _ in range(rounds):
        better = False
        for layer in lanes.layers:
            for at in range(len(layer) - 1):
                left, right = layer[at], layer[at + 1]
                if _gain(lanes, position, left, right) > 0:
                    layer[at], layer[at + 1] = right, left
                    position[left], position[right] = at + 1, at
                    better = True
        if not better:
            return


def _gain(lanes: Lanes, position: list[int], left: int, right: int) -> int:
    """By how much the cost falls when two neighbours change places."""
    gain = 0
    for beside in (lanes.above, lanes.below):
        if beside[left] and beside[right]:
            mine = [position[item] for item in beside[left]]
            other = [position[item] for item in beside[right]]
            gain += sum((a > b) - (a < b) for a in mine for b in other)
    at = position[left]
    for mate in lanes.mates.get(left, ()):
        if mate != right:
            gain += 1 if position[mate] > at else -1
    for mate in lanes.mates.get(right, ()):
        if mate != left:
            gain += 1 if position[mate] < at else -1
    return gain
