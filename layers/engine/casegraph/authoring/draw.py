"""A drawing as SVG: no scripts, nothing fetched, every text escaped, light and dark by the reader's preference.

Screen readers get the picture's title, a summary, and a title on every box and line. Nothing is said by colour alone:
kinds differ by outline and word, what a comparison marks by word and stroke.
"""

from __future__ import annotations

from html import escape
from itertools import pairwise

from casegraph.authoring.shapes import group, outline
from casegraph.authoring.theme import style_sheet
from casegraph.domain.graph.layouting.drawing import Box, Drawing, DrawnEdge, Point
from casegraph.domain.graph.layouting.sketch import (
    BOX_PADDING_Y,
    CAPTION_LINE,
    ID_LINE,
    LABEL_LINE,
)

# Corners of lines are rounded by as much, where both parts are long enough.
CORNER_RADIUS = 6

# Ports by which a node is left when things did not go as meant: their lines are dashed.
TROUBLED = frozenset({"error", "timeout", "expired", "rejected", "failed"})


def svg(drawing: Drawing, *, title: str, description: str = "") -> str:
    """One SVG document. title: what it shows; description: a summary for those who do not see it."""
    size = f'width="{drawing.width}" height="{drawing.height}" viewBox="0 0 {drawing.width} {drawing.height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cg" role="img" aria-labelledby="cg-t cg-d" {size}>',
        f'<title id="cg-t">{_text(title)}</title>',
        f'<desc id="cg-d">{_text(description or summary(drawing))}</desc>',
        f"<style>{style_sheet()}</style>",
        f'<rect class="paper" width="{drawing.width}" height="{drawing.height}"/>',
        *(_edge(edge) for edge in sorted(drawing.edges, key=_depth)),
        *(f'<circle class="junction" cx="{x}" cy="{y}" r="2.6"/>' for x, y in drawing.junctions),
        *(_box(box) for box in drawing.boxes),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def summary(drawing: Drawing) -> str:
    """The drawing in words: its nodes, and where each leads."""
    leading: dict[str, list[str]] = {}
    for edge in drawing.edges:
        leading.setdefault(edge.source, []).append(f"{', '.join(edge.ports)} to {edge.target}")
    count = f"{len(drawing.boxes)} nodes, {sum(len(edge.ports) for edge in drawing.edges)} edges."
    if len(drawing.boxes) > 200:
        return count
    lines = (
        f"{box.node_id} ({_spoken(box)}): {'; '.join(leading.get(box.node_id, ['ends']))}."
        for box in drawing.boxes
    )
    return " ".join([count, *lines])


def _box(box: Box) -> str:
    middle = box.x + box.width // 2
    text_height = len(box.lines) * ID_LINE + CAPTION_LINE
    y = box.y + (box.height - text_height) // 2 + ID_LINE - 4
    rows = [
        f'<text class="id" x="{middle}" y="{y + i * ID_LINE}">{_text(t)}</text>'
        for i, t in enumerate(box.lines)
    ]
    y = box.y + box.height - BOX_PADDING_Y - 4
    rows.append(f'<text class="caption" x="{middle}" y="{y}">{_text(_spoken(box))}</text>')
    classes = f"box {group(box.kind)} {box.mark}".strip()
    title = f"<title>{_text(f'{box.node_id}: {_spoken(box)}')}</title>"
    return f'<g class="{classes}">{title}{outline(box)}{"".join(rows)}</g>'


def _edge(edge: DrawnEdge) -> str:
    title = f"{edge.source}, {', '.join(edge.ports)}: to {edge.target}"
    if edge.mark:
        title += f" ({edge.mark})"
    parts = [
        f"<title>{_text(title)}</title>",
        f'<path class="line" d="{_line(edge.points[::-1])}"/>',
        _tip(*edge.points[-1]),
        _upward(edge) if edge.loop else "",
    ]
    if edge.label is not None:
        x, y = edge.label.x, edge.label.y + LABEL_LINE - 4
        parts += [
            f'<text class="port" x="{x}" y="{y + i * LABEL_LINE}">{_text(line)}</text>'
            for i, line in enumerate(edge.label.lines)
        ]
    names = ["edge", "troubled" if _is_troubled(edge) else "", "loop" if edge.loop else "", edge.mark]
    return f'<g class="{" ".join(filter(None, names))}">{"".join(parts)}</g>'


def _depth(edge: DrawnEdge) -> tuple[bool, bool, bool]:
    """Where lines run together, what is no more lies under what is, and dashes under whole lines."""
    return edge.mark != "removed", edge.mark == "added", not _is_troubled(edge)


def _is_troubled(edge: DrawnEdge) -> bool:
    return all(port in TROUBLED for port in edge.ports)


def _line(points: tuple[Point, ...]) -> str:
    """The points as path data, corners rounded.

    Drawn from the target, so that the dashes of lines that run together fall together."""
    x, y = points[0]
    data = [f"M{x} {y}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        radius = min(CORNER_RADIUS, _length(before, corner) // 2, _length(corner, after) // 2)
        into, out = _towards(corner, before, radius), _towards(corner, after, radius)
        data.append(f"L{into[0]} {into[1]}Q{corner[0]} {corner[1]} {out[0]} {out[1]}")
    x, y = points[-1]
    return "".join([*data, f"L{x} {y}"])


def _length(one: Point, other: Point) -> int:
    return abs(one[0] - other[0]) + abs(one[1] - other[1])


def _towards(start: Point, end: Point, distance: int) -> Point:
    return start[0] + distance * _sign(end[0] - start[0]), start[1] + distance * _sign(end[1] - start[1])


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _tip(x: int, y: int) -> str:
    """The arrow's head; lines end going down."""
    return f'<path class="tip" d="M{x} {y}l-4 -8h8Z"/>'


def _upward(edge: DrawnEdge) -> str:
    """An arrow half way up a loop: it leads against the direction of the others."""
    rises = [(a, b) for a, b in pairwise(edge.points) if b[1] < a[1]]
    (x, below), (_, above) = max(rises, key=lambda rise: rise[0][1] - rise[1][1])
    return f'<path class="tip" d="M{x} {(below + above) // 2 - 4}l-4 8h8Z"/>'


def _spoken(box: Box) -> str:
    return f"{box.mark}: {box.caption}" if box.mark else box.caption


def _text(text: str) -> str:
    """Escaped; characters that XML forbids are left out."""
    return escape(
        "".join(c for c in text if c in "\t\n" or (c >= " " and c not in "\ufffe\uffff")), quote=True
    )
