"""What is to be laid out: nodes and arcs by number, with their texts, and the room that the texts need.

Nothing is measured with a font: ids and ports are set in a monospaced face, whose characters are all 0.6 em wide.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from casegraph.limits import DRAWING_ID_LINE_CHARACTERS, DRAWING_LABEL_LINE_CHARACTERS, DRAWING_LABEL_LINES

# Pixels. Widths are rounded up: a face that runs a little wide still fits.
ID_CHARACTER, CAPTION_CHARACTER, LABEL_CHARACTER = 7.9, 6.8, 6.7
ID_LINE, CAPTION_LINE, LABEL_LINE = 17, 15, 14
BOX_PADDING_X, BOX_PADDING_Y, BOX_MIN_WIDTH = 26, 9, 108
# From a line to its label, and from a label to the next line.
LABEL_GAP, PIN_MARGIN = 5, 9
# Shapes slant or round their corners: lines leave by the straight part.
CORNER = 14


@dataclass(frozen=True, slots=True)
class Vertex:
    """A node to draw. caption: what stands under its id."""

    id: str
    kind: str
    caption: str
    mark: str = ""

    @property
    def lines(self) -> tuple[str, ...]:
        """The id, broken at underscores where it is long."""
        return broken(self.id, DRAWING_ID_LINE_CHARACTERS)

    @property
    def size(self) -> tuple[int, int]:
        """Width and height that its texts need; the width is even."""
        lines = self.lines
        text = max(len(line) for line in lines) * ID_CHARACTER
        caption = len(self.caption) + (len(self.mark) + 3 if self.mark else 0)
        width = max(text, caption * CAPTION_CHARACTER) + 2 * BOX_PADDING_X
        height = len(lines) * ID_LINE + CAPTION_LINE + 2 * BOX_PADDING_Y
        return even(max(width, BOX_MIN_WIDTH)), height


@dataclass(frozen=True, slots=True)
class Arc:
    """The edges from `source` to `target` (positions in the sketch). label: the lines beside it; empty: none."""

    source: int
    target: int
    ports: tuple[str, ...]
    label: tuple[str, ...]
    mark: str = ""

    @property
    def label_size(self) -> tuple[int, int]:
        """Width and height of the label; (0, 0) without one."""
        if not self.label:
            return 0, 0
        width = max(len(line) for line in self.label) * LABEL_CHARACTER
        return even(width), len(self.label) * LABEL_LINE


@dataclass(frozen=True, slots=True)
class Sketch:
    """Nodes in source order and arcs in port order, at most one arc for source, target and mark."""

    vertices: tuple[Vertex, ...]
    arcs: tuple[Arc, ...]


def label_lines(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Port names as the lines of a label: long ones cut, many of them counted."""
    lines = tuple(cut(text, DRAWING_LABEL_LINE_CHARACTERS) for text in texts)
    if len(lines) <= DRAWING_LABEL_LINES:
        return lines
    shown = DRAWING_LABEL_LINES - 1
    return (*lines[:shown], f"and {len(lines) - shown} more")


def broken(text: str, longest: int) -> tuple[str, ...]:
    """The text in lines of at most `longest` characters, broken after underscores where there are any."""
    lines = [""]
    for word in re.findall(r"[^_]*_|[^_]+$", text) or [text]:
        if lines[-1] and len(lines[-1]) + len(word) > longest:
            lines.append("")
        lines[-1] += word
        while len(lines[-1]) > longest:
            lines[-1:] = [lines[-1][:longest], lines[-1][longest:]]
    return tuple(line for line in lines if line) or (text,)


def cut(text: str, longest: int) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= longest else text[: longest - 1] + "\N{HORIZONTAL ELLIPSIS}"


def even(width: float) -> int:
    """The next even whole number."""
    return 2 * int(-(-width // 2))
