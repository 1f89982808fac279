"""From columns to coordinates: how high layers and channels are, and the points of every line.

No line can meet a box: level parts lie in the channels between the layers, upright ones in lanes of their own.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field

from casegraph.domain.graph.layouting.channels import PIN_DISTANCE, TRACK_HEIGHT, Net, assign_tracks
from casegraph.domain.graph.layouting.drawing import Point
from casegraph.domain.graph.layouting.lanes import Lanes

# Above the first track, and under the last one: room for the arrow.
CHANNEL_TOP, CHANNEL_BOTTOM, CHANNEL_MIN = 10, 20, 34
# How far a lane or the entry of a box may move so that its line does not run over another's.
NUDGES = (0, 6, -6, 8, -8)
STUB = 8


@dataclass(slots=True)
class Routes:
    """entry: where lines enter each item (x). top: the y of every layer's boxes. track: the y of a channel's
    first track, by the layer above it (-1: over the first). nets: by channel and target. onward: the points of the line
    from an item's channel to the target, by item."""

    entry: list[int]
    top: list[int] = field(default_factory=list)
    height: int = 0
    track: dict[int, int] = field(default_factory=dict)
    nets: dict[int, dict[int, Net]] = field(default_factory=dict)
    onward: dict[int, tuple[Point, ...]] = field(default_factory=dict)

    def level(self, channel: int, target: int) -> int:
        """The y of a target's track in a channel."""
        return self.track[channel] + max(self.nets[channel][target].track, 0) * TRACK_HEIGHT


def routes_of(lanes: Lanes, x: list[int], margin: int) -> Routes:
    """Heights from top to bottom; entries are moved a little where a line would run over another's."""
    routes = Routes(list(x))
    y = margin
    for channel in range(-1, len(lanes.layers)):
        nets = routes.nets[channel] = _nets(lanes, x, routes, channel)
        tracks = assign_tracks(nets.values())
        routes.track[channel] = y + CHANNEL_TOP
        first, last = channel < 0, channel == len(lanes.layers) - 1
        if tracks or not (first or last):
            y += max(CHANNEL_TOP + max(tracks - 1, 0) * TRACK_HEIGHT + CHANNEL_BOTTOM, CHANNEL_MIN)
        if not last:
            routes.top.append(y)
            y += _layer_height(lanes, channel + 1)
    routes.height = y + margin
    _onward(lanes, routes)
    return routes


def points_of(lanes: Lanes, x: list[int], routes: Routes, number: int) -> tuple[Point, ...]:
    """The line of an arc, from under its source to the top of its target."""
    arc, layer = lanes.sketch.arcs[number], lanes.ranks.layer
    source = layer[arc.source]
    at = x[arc.source] + lanes.pins[number]
    points = [(at, routes.top[source] + lanes.sketch.vertices[arc.source].size[1])]
    if number in lanes.jumps:
        return (points[0], (at, points[0][1] + STUB + arc.label_size[1]))
    level = routes.level(source, arc.target)
    stop = lanes.first_stop(number)
    return _corners([*points, (at, level), (routes.entry[stop], level), *routes.onward[stop]])


def _onward(lanes: Lanes, routes: Routes) -> None:
    """Every lane's line from there on, each once: many lines share one."""
    layer = lanes.ranks.layer
    for target in range(len(lanes.sketch.vertices)):
        routes.onward[target] = ((routes.entry[target], routes.top[layer[target]]),)
    for (target, at), lane in sorted(lanes.down_lane.items(), reverse=True):
        _join(routes, lane, lanes.down_lane.get((target, at + 1), target), routes.level(at, target))
    for (target, at), lane in sorted(lanes.up_lane.items()):
        _join(routes, lane, lanes.up_lane.get((target, at - 1), target), routes.level(at - 1, target))


def _join(routes: Routes, lane: int, after: int, level: int) -> None:
    start, end = (routes.entry[lane], level), (routes.entry[after], level)
    routes.onward[lane] = _corners([start, end, *routes.onward[after]])


def _layer_height(lanes: Lanes, number: int) -> int:
    """Each box with what stands under it: its labels, or the stubs of the lines that jump."""
    height = 0
    for item in lanes.layers[number]:
        if not lanes.items[item].lane:
            labels = max((lanes.sketch.arcs[n].label_size[1] for n in lanes.outgoing[item]), default=0)
            height = max(height, lanes.sketch.vertices[item].size[1] + (labels + STUB if labels else 0))
    return height


def junctions_of(routes: Routes) -> list[Point]:
    """Where three or four parts of lines to one node meet."""
    found = []
    for channel, nets in routes.nets.items():
        for target, net in nets.items():
            if not net.level:
                continue
            for at in sorted({*net.tops, *net.bottoms}):
                parts = (at > net.left) + (at < net.right) + (at in net.tops) + (at in net.bottoms)
                if parts > 2:
                    found.append((at, routes.level(channel, target)))
    return found


def _nets(lanes: Lanes, x: list[int], routes: Routes, channel: int) -> dict[int, Net]:
    nets: dict[int, Net] = {}
    upper = lanes.layers[channel] if channel >= 0 else []
    lower = lanes.layers[channel + 1] if channel + 1 < len(lanes.layers) else []
    for item in upper:
        _tops(lanes, x, routes, item, nets)
    taken = sorted((at, target) for target, net in nets.items() for at in net.tops)
    for item in lower:
        _bottom(lanes, routes, item, nets, taken)
    return {target: net for target, net in nets.items() if net.tops or net.bottoms}


def _tops(lanes: Lanes, x: list[int], routes: Routes, item: int, nets: dict[int, Net]) -> None:
    found = lanes.items[item]
    if found.lane:
        nets.setdefault(found.target, Net()).tops.append(routes.entry[item])
        return
    for number in lanes.outgoing[item]:
        if number not in lanes.jumps:
            target = lanes.sketch.arcs[number].target
            nets.setdefault(target, Net()).tops.append(x[item] + lanes.pins[number])


def _bottom(
    lanes: Lanes, routes: Routes, item: int, nets: dict[int, Net], taken: list[tuple[int, int]]
) -> None:
    found = lanes.items[item]
    looped = (item, found.layer) in lanes.up_lane
    if not found.lane and not lanes.above[item] and not looped:
        return
    routes.entry[item] = _free(routes.entry[item], found.target, taken)
    nets.setdefault(found.target, Net()).bottoms.append(routes.entry[item])


def _free(at: int, target: int, taken: list[tuple[int, int]]) -> int:
    """The place, or one beside it, where no line to another node comes down; under a line of its own if it can."""
    reach = max(NUDGES) + PIN_DISTANCE
    near = taken[bisect_left(taken, (at - reach, -1)) : bisect_left(taken, (at + reach + 1, -1))]
    foreign = [x for x, other in near if other != target]
    own = [x - at for x, other in near if other == target and abs(x - at) <= max(NUDGES)]

    def room(nudge: int) -> tuple[int, bool, int]:
        free = min((abs(x - at - nudge) for x in foreign), default=PIN_DISTANCE)
        return min(PIN_DISTANCE, free), nudge in own, -abs(nudge)

    return at + max((*own, *NUDGES), key=room)


def _corners(points: list[Point]) -> tuple[Point, ...]:
    """The points without repeated ones and those in the middle of a straight part."""
    kept: list[Point] = []
    for point in points:
        if kept and kept[-1] == point:
            continue
        if len(kept) > 1 and (
            kept[-2][0] == kept[-1][0] == point[0] or kept[-2][1] == kept[-1][1] == point[1]
        ):
            kept[-1] = point
        else:
            kept.append(point)
    return tuple(kept)
