"""The level parts of lines: between every two layers each target's lines share one track, and tracks stack up so that
few lines cross."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from casegraph.limits import DRAWING_SORTED_TRACKS

TRACK_HEIGHT = 12
# Nearest that upright parts of lines to different nodes come to each other.
PIN_DISTANCE = 6


@dataclass(slots=True)
class Net:
    """The lines to one node in one channel. tops: where they meet the layer above; bottoms: the layer below."""

    tops: list[int] = field(default_factory=list)
    bottoms: list[int] = field(default_factory=list)
    track: int = -1

    @property
    def left(self) -> int:
        """Where its level part begins."""
        return min([*self.tops, *self.bottoms])

    @property
    def right(self) -> int:
        """Where it ends."""
        return max([*self.tops, *self.bottoms])

    @property
    def level(self) -> bool:
        """Whether it has a level part at all."""
        return self.left < self.right


def assign_tracks(nets: Iterable[Net]) -> int:
    """Give every net with a level part a track, 0 on top; the number of tracks. Nets on one track never touch."""
    spans = [_Span.of(net) for net in nets if net.level]
    spans.sort(key=lambda span: (-span.bends, span.left, span.right))
    if len(spans) <= DRAWING_SORTED_TRACKS:
        spans = _fewest_crossings(spans)
    ends: list[list[_Span]] = []
    for span in spans:
        # Under everything before it that it would touch: that is the order whose crossings were counted.
        track = 0
        for number in range(len(ends) - 1, -1, -1):
            if any(span.touches(other) for other in ends[number]):
                track = number + 1
                break
        if track == len(ends):
            ends.append([])
        ends[track].append(span)
        span.net.track = track
    return len(ends)


@dataclass(slots=True)
class _Span:
    net: Net
    left: int
    right: int

    @classmethod
    def of(cls, net: Net) -> _Span:
        return cls(net, net.left, net.right)

    @property
    def bends(self) -> int:
        """Where it leads: lines to the right are set from the right, lines to the left from the left."""
        tops, bottoms = self.net.tops, self.net.bottoms
        if not tops or not bottoms:
            return 0
        if sum(bottoms) * len(tops) > sum(tops) * len(bottoms):
            return self.left
        return -self.right

    def touches(self, other: _Span) -> bool:
        return self.left < other.right + PIN_DISTANCE and other.left < self.right + PIN_DISTANCE

    def over(self, other: _Span) -> int:
        """Crossings when this one lies over the other."""
        crossing = sum(self.left < x < self.right for x in other.net.tops)
        return crossing + sum(other.left < x < other.right for x in self.net.bottoms)


def _fewest_crossings(spans: list[_Span]) -> list[_Span]:
    """Neighbours change places while that saves crossings."""
    for _ in range(len(spans)):
        better = False
        for at in range(len(spans) - 1):
            one, other = spans[at], spans[at + 1]
            if one.touches(other) and other.over(one) < one.over(other):
                spans[at], spans[at + 1] = other, one
                better = True
        if not better:
            break
    return spans
