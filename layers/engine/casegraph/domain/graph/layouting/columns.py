"""Where each item stands from left to right: the method of Brandes and Koepf (2001), with pins.

Four times (from above and below, leaning left and right) items are put into blocks of one upright line with the median
of their neighbours, and the blocks packed; an item stands in the middle of its four places. Lanes come out straight.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate, pairwise

from casegraph.domain.graph.layouting.lanes import Lanes

# Between items of a layer.
ITEM_GAP, LANE_GAP = 28, 8


@dataclass(slots=True)
class _View:
    """The layers as one of the four passes sees them: it goes down and leans left. before: linked items of the layer
    above, from left to right, each with how far right of it the item stands when their line is straight."""

    layers: list[list[int]]
    position: list[int]
    before: list[list[tuple[int, int]]]


def columns(lanes: Lanes, position: list[int]) -> list[int]:
    """The middle of every item, in pixels; the leftmost edge is at 0."""
    offset = _straight(lanes)
    yielding = _yielding(lanes, position)
    passes: list[list[int]] = []
    for down in (True, False):
        for left in (True, False):
            view = _view(lanes, position, offset, down=down, left=left)
            xs = _pack(lanes, view, *_blocks(view, yielding))
            passes.append(xs if left else [-x for x in xs])
    _align(lanes, passes)
    middle = [_middle(sorted(places)) for places in zip(*passes, strict=True)]
    least = min((x - lanes.items[i].width // 2 for i, x in enumerate(middle)), default=0)
    return [x - least for x in middle]


def gap(lanes: Lanes, left: int, right: int) -> int:
    """The least distance between the middles of neighbours."""
    one, other = lanes.items[left], lanes.items[right]
    between = LANE_GAP if one.lane or other.lane else ITEM_GAP
    return (one.width + other.width) // 2 + between


def _middle(places: list[int]) -> int:
    return (places[1] + places[2]) // 2


def _straight(lanes: Lanes) -> dict[tuple[int, int], int]:
    """How far right of an upper item a lower one stands when the line between them is straight."""
    found: dict[tuple[int, int], int] = {}
    for number, arc in enumerate(lanes.sketch.arcs):
        if number not in lanes.ranks.loops and number not in lanes.jumps:
            found.setdefault((arc.source, lanes.first_stop(number)), lanes.pins[number])
    return found


def _yielding(lanes: Lanes, position: list[int]) -> set[tuple[int, int]]:
    """Links (upper, lower) that no block follows: those that cross a link between two lanes, and those that join a
    lane which comes from above."""
    found: set[tuple[int, int]] = set()
    for layer in lanes.layers[1:]:
        inner: list[tuple[int, int]] = []
        others: list[tuple[int, int]] = []
        for lower in layer:
            through = [
                upper for upper in lanes.above[lower] if lanes.items[upper].lane and lanes.items[lower].lane
            ]
            inner += [(position[upper], position[lower]) for upper in through]
            rest = [(upper, lower) for upper in lanes.above[lower] if upper not in through]
            if through:
                found.update(rest)
            else:
                others += rest
        found.update(_crossing(sorted(inner), others, position))
    return found


def _crossing(
    inner: list[tuple[int, int]], others: list[tuple[int, int]], position: list[int]
) -> list[tuple[int, int]]:
    if not inner:
        return []
    ups = [up for up, _ in inner]
    furthest = list(accumulate((low for _, low in inner), max))
    nearest = list(accumulate((low for _, low in reversed(inner)), min))[::-1]
    crossing = []
    for upper, lower in others:
        before, after = bisect_left(ups, position[upper]), bisect_right(ups, position[upper])
        low = position[lower]
        if (before and furthest[before - 1] > low) or (after < len(ups) and nearest[after] < low):
            crossing.append((upper, lower))
    return crossing


def _view(
    lanes: Lanes, position: list[int], offset: dict[tuple[int, int], int], *, down: bool, left: bool
) -> _View:
    layers = lanes.layers if down else lanes.layers[::-1]
    sign = 1 if left else -1
    seen = list(position)
    if not left:
        layers = [layer[::-1] for layer in layers]
        for layer in layers:
            for at, item in enumerate(layer):
                seen[item] = at
    before: list[list[tuple[int, int]]] = []
    for item in range(len(lanes.items)):
        if down:
            links = [(other, sign * offset.get((other, item), 0)) for other in lanes.above[item]]
        else:
            links = [(other, -sign * offset.get((item, other), 0)) for other in lanes.below[item]]
        before.append(sorted(links, key=lambda link: seen[link[0]]))
    return _View(layers, seen, before)


def _blocks(view: _View, yielding: set[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """The root of every item's block, and how far right of the root's middle the item stands."""
    count = len(view.position)
    root, shift, ended = list(range(count)), [0] * count, [True] * count
    for layer in view.layers:
        last = -1
        for item in layer:
            links = view.before[item]
            medians = dict.fromkeys(((len(links) - 1) // 2, len(links) // 2)) if links else ()
            for at in medians:
                other, right = links[at]
                free = root[item] == item and ended[other] and view.position[other] > last
                if free and (other, item) not in yielding and (item, other) not in yielding:
                    root[item], shift[item] = root[other], shift[other] + right
                    ended[other] = False
                    last = view.position[other]
    return root, shift


def _pack(lanes: Lanes, view: _View, root: list[int], shift: list[int]) -> list[int]:
    """Blocks as far left as their order allows, then each as far right as its neighbours leave it."""
    apart: dict[int, dict[int, int]] = {item: {} for item in range(len(root)) if root[item] == item}
    waiting = dict.fromkeys(apart, 0)
    for layer in view.layers:
        for left, right in pairwise(layer):
            needed = gap(lanes, left, right) + shift[left] - shift[right]
            one, other = apart[root[left]], root[right]
            if other not in one:
                waiting[other] += 1
            one[other] = max(needed, one.get(other, needed))
    order = [block for block, before in waiting.items() if before == 0]
    x = dict.fromkeys(order, 0)
    for block in order:
        for other, needed in apart[block].items():
            x[other] = max(x.get(other, x[block] + needed), x[block] + needed)
            waiting[other] -= 1
            if waiting[other] == 0:
                order.append(other)
    for block in reversed(order):
        if apart[block]:
            x[block] = max(x[block], min(x[other] - needed for other, needed in apart[block].items()))
    return [x[root[item]] + shift[item] for item in range(len(root))]


def _align(lanes: Lanes, passes: list[list[int]]) -> None:
    """Put the four results over each other: those that lean left by their left edge, the others by their right one,
    at the narrowest."""
    half = [item.width // 2 for item in lanes.items]
    if not half:
        return
    edges = [
        (min(x - h for x, h in zip(xs, half, strict=True)), max(x + h for x, h in zip(xs, half, strict=True)))
        for xs in passes
    ]
    low, high = min(edges, key=lambda edge: edge[1] - edge[0])
    for number, xs in enumerate(passes):
        left = number % 2 == 0
        move = low - edges[number][0] if left else high - edges[number][1]
        passes[number] = [x + move for x in xs]
