"""The outline of each node kind, so that kinds differ without colour; an unknown kind is a rectangle.

An outline fills its box; its top and bottom are straight but for `CORNER` pixels at either end, where lines meet it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from casegraph.domain.graph.layouting.drawing import Box

# What a kind does, in five groups: the colour of its fill.
GROUPS: Mapping[str, str] = MappingProxyType(
    {
        "start": "terminal",
        "end": "terminal",
        "human_task": "person",
        "decision": "person",
        "enrichment": "reading",
        "ai_proposal": "reading",
        "wait_for_event": "waiting",
        "delay": "waiting",
        "action": "outside",
        "send_message": "outside",
        "handoff": "outside",
        "start_linked_workflow": "outside",
    }
)

Outline = Callable[[int, int, int, int], str]


def group(kind: str) -> str:
    """The group of a kind; what only steers the walk is `control`."""
    return GROUPS.get(kind, "control")


def outline(box: Box) -> str:
    """SVG elements of the box's shape, the filled one first."""
    return _OUTLINES.get(box.kind, _rectangle)(box.x, box.y, box.width, box.height)


def _path(data: str, name: str = "shape") -> str:
    return f'<path class="{name}" d="{data}"/>'


def _rounded(x: int, y: int, w: int, h: int, radius: int, name: str = "shape") -> str:
    return f'<rect class="{name}" x="{x}" y="{y}" width="{w}" height="{h}" rx="{radius}"/>'


def _rectangle(x: int, y: int, w: int, h: int) -> str:
    return _rounded(x, y, w, h, 2)


def _start(x: int, y: int, w: int, h: int) -> str:
    return _rounded(x, y, w, h, h // 2)


def _end(x: int, y: int, w: int, h: int) -> str:
    return _rounded(x, y, w, h, h // 2) + _rounded(x + 4, y + 4, w - 8, h - 8, h // 2 - 4, "detail")


def _condition(x: int, y: int, w: int, h: int) -> str:
    middle = y + h // 2
    return _path(f"M{x + 13} {y}H{x + w - 13}L{x + w} {middle}L{x + w - 13} {y + h}H{x + 13}L{x} {middle}Z")


def _fork(x: int, y: int, w: int, h: int) -> str:
    return _path(f"M{x + 13} {y}H{x + w - 13}L{x + w} {y + h}H{x}Z")


def _join(x: int, y: int, w: int, h: int) -> str:
    return _path(f"M{x} {y}H{x + w}L{x + w - 13} {y + h}H{x + 13}Z")


def _person(x: int, y: int, w: int, h: int) -> str:
    head, middle = x + 11, y + h // 2
    figure = f"M{head - 6} {middle + 10}a6 8 0 0 1 12 0Z"
    return (
        _rounded(x, y, w, h, 8)
        + f'<circle class="mark" cx="{head}" cy="{middle - 4}" r="4"/>'
        + _path(figure, "mark")
    )


def _decision(x: int, y: int, w: int, h: int) -> str:
    fold = 11
    return _path(f"M{x} {y}H{x + w - fold}L{x + w} {y + fold}V{y + h}H{x}Z") + _path(
        f"M{x + w - fold} {y}V{y + fold}H{x + w}", "detail"
    )


def _reading(x: int, y: int, w: int, h: int) -> str:
    return _path(f"M{x + 10} {y}H{x + w}L{x + w - 10} {y + h}H{x}Z")


def _octagon(x: int, y: int, w: int, h: int) -> str:
    cut = 10
    return _path(
        f"M{x + cut} {y}H{x + w - cut}L{x + w} {y + cut}V{y + h - cut}L{x + w - cut} {y + h}"
        f"H{x + cut}L{x} {y + h - cut}V{y + cut}Z"
    )


def _waiting(x: int, y: int, w: int, h: int) -> str:
    at, middle = x + 12, y + h // 2
    return (
        _rounded(x, y, w, h, 14)
        + f'<circle class="detail" cx="{at}" cy="{middle}" r="6"/>'
        + _path(f"M{at} {middle - 4}V{middle}H{at + 3}", "detail")
    )


def _envelope(x: int, y: int, w: int, h: int) -> str:
    left, top = x + 5, y + h // 2 - 5
    return (
        _rectangle(x, y, w, h)
        + f'<rect class="detail" x="{left}" y="{top}" width="14" height="10"/>'
        + _path(f"M{left} {top}l7 6l7 -6", "detail")
    )


def _double_sided(x: int, y: int, w: int, h: int) -> str:
    return _rectangle(x, y, w, h) + _path(f"M{x + 6} {y}v{h}M{x + w - 6} {y}v{h}", "detail")


def _arrow(x: int, y: int, w: int, h: int) -> str:
    return _path(f"M{x} {y}H{x + w - 13}L{x + w} {y + h // 2}L{x + w - 13} {y + h}H{x}Z")


def _nested(x: int, y: int, w: int, h: int) -> str:
    return _rectangle(x, y, w, h) + _rounded(x + 4, y + 4, w - 8, h - 8, 2, "detail")


def _stacked(x: int, y: int, w: int, h: int) -> str:
    return _rectangle(x, y, w, h) + _path(
        f"M{x + w - 4} {y + 4}v{h - 8}M{x + w - 8} {y + 4}v{h - 8}", "detail"
    )


_OUTLINES: Mapping[str, Outline] = MappingProxyType(
    {
        "start": _start,
        "end": _end,
        "condition": _condition,
        "parallel": _fork,
        "join": _join,
        "map": _stacked,
        "human_task": _person,
        "decision": _decision,
        "enrichment": _reading,
        "ai_proposal": _octagon,
        "wait_for_event": _waiting,
        "delay": _waiting,
        "send_message": _envelope,
        "action": _double_sided,
        "handoff": _arrow,
        "start_linked_workflow": _nested,
    }
)
