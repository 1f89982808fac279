"""What a layout gives: boxes, edges and labels in whole pixels, as they are stored with a version."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

Point = tuple[int, int]

# Readers refuse a drawing of a later format and lay the graph out themselves.
DRAWING_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Label:
    """The ports of an edge, written beside its first segment; one line for each port."""

    x: int
    y: int
    width: int
    height: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Box:
    """One node. lines: its id, broken to fit; caption: its kind in words and its timeout; mark: what a comparison of
    two versions says of it (`added`, `removed`, `changed`), else empty."""

    node_id: str
    kind: str
    x: int
    y: int
    width: int
    height: int
    lines: tuple[str, ...]
    caption: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """The edges from one node to another: all of its ports, drawn as one line of upright and level segments.

    Lines to the same node join and run together; lines to different nodes only cross. loop: it leads back up;
    jump: too long for a graph of this size, so that its line ends below the source and the label names the target.
    """

    source: str
    target: str
    ports: tuple[str, ...]
    points: tuple[Point, ...]
    label: Label | None
    loop: bool = False
    jump: bool = False
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A graph laid out: everything lies within (0, 0) and (width, height). junctions: where lines to one node join."""

    width: int
    height: int
    boxes: tuple[Box, ...]
    edges: tuple[DrawnEdge, ...]
    junctions: tuple[Point, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON values: `format`, then the fields by name; what is empty or false is left out of boxes and edges."""
        return {
            "format": DRAWING_FORMAT,
            "width": self.width,
            "height": self.height,
            "boxes": [_plain(asdict(box)) for box in self.boxes],
            "edges": [_plain(asdict(edge)) for edge in self.edges],
            "junctions": [list(point) for point in self.junctions],
        }


def drawing_from_dict(stored: dict[str, Any]) -> Drawing:
    """The inverse of `Drawing.to_dict`. Raises ValueError for another format."""
    if stored.get("format") != DRAWING_FORMAT:
        raise ValueError(f"a drawing of format {stored.get('format')!r}; this reads {DRAWING_FORMAT}")
    return Drawing(
        stored["width"],
        stored["height"],
        tuple(_box(box) for box in stored["boxes"]),
        tuple(_edge(edge) for edge in stored["edges"]),
        tuple((x, y) for x, y in stored["junctions"]),
    )


def _plain(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _lists(value) for name, value in entry.items() if value or (value == 0 and value is not False)
    }


def _lists(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_lists(item) for item in value]
    return {name: _lists(item) for name, item in value.items()} if isinstance(value, dict) else value


def _box(stored: dict[str, Any]) -> Box:
    return Box(**{"caption": "", **stored, "lines": tuple(stored["lines"])})


def _edge(stored: dict[str, Any]) -> DrawnEdge:
    label = stored.get("label")
    parts = {
        "ports": tuple(stored["ports"]),
        "points": tuple((x, y) for x, y in stored["points"]),
        "label": Label(**{**label, "lines": tuple(label["lines"])}) if label else None,
    }
    return DrawnEdge(**{**stored, **parts})
