"""The style sheet of drawings, light and dark.

Colours are written out and not CSS variables: converters and editors that know no variables still show the picture.
Fills are pale and strokes dark in the light theme, the other way round in the dark one: text keeps 7 to 1.
"""

from __future__ import annotations

from collections.abc import Mapping

_LIGHT = {
    "paper": "#ffffff", "ink": "#1b1f24", "quiet": "#414850", "line": "#57606a",
    "control": "#f3f4f6", "terminal": "#e1e4e8", "person": "#fff1cf", "reading": "#dff0ff", "waiting": "#efe6ff",
    "outside": "#dcf5e3", "added": "#0b5020", "removed": "#8a0a1e", "changed": "#653d00",
}  # fmt: skip
_DARK = {
    "paper": "#0f1318", "ink": "#f0f3f6", "quiet": "#d9dfe6", "line": "#9aa4af",
    "control": "#262c34", "terminal": "#343b45", "person": "#4a3a12", "reading": "#123a5c", "waiting": "#3a2a63",
    "outside": "#14492a", "added": "#8ff0a8", "removed": "#ffb3b8", "changed": "#f7cf80",
}  # fmt: skip

_SHAPE = """
.cg .shape{stroke-width:1.4;stroke-linejoin:round}
.cg .detail{fill:none;stroke-width:1.2}
.cg .line{fill:none;stroke-width:1.5;stroke-linejoin:round}
.cg .troubled .line{stroke-dasharray:5 3}
.cg text{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono","Liberation Mono",monospace}
.cg .id{font-size:13px;font-weight:600;text-anchor:middle}
.cg .caption{font-size:11px;text-anchor:middle}
.cg .port{font-size:11px}
.cg .added .shape,.cg .added .line{stroke-width:3}
.cg .removed .shape,.cg .removed .line{stroke-width:2;stroke-dasharray:2 3}
.cg .changed .shape,.cg .changed .line{stroke-width:2.5;stroke-dasharray:9 3}
.cg .removed .id{text-decoration:line-through}
.cg .added .caption,.cg .removed .caption,.cg .changed .caption,
.cg .added .port,.cg .removed .port,.cg .changed .port{font-weight:700}
""".strip()


def style_sheet() -> str:
    """The content of the `<style>` element; every rule is scoped by the class `cg`."""
    return f"{_SHAPE}\n{_colours(_LIGHT)}\n@media (prefers-color-scheme:dark){{\n{_colours(_DARK)}\n}}"


def _colours(theme: Mapping[str, str]) -> str:
    rules = [
        f".cg .paper{{fill:{theme['paper']}}}",
        f".cg text{{fill:{theme['ink']}}}",
        f".cg .caption,.cg .port{{fill:{theme['quiet']}}}",
        f".cg .shape,.cg .detail,.cg .line{{stroke:{theme['line']}}}",
        f".cg .mark,.cg .tip,.cg .junction{{fill:{theme['line']}}}",
    ]
    for name in ("control", "terminal", "person", "reading", "waiting", "outside"):
        rules.append(f".cg .{name} .shape{{fill:{theme[name]}}}")
    for name in ("added", "removed", "changed"):
        rules.append(f".cg .{name} .shape,.cg .{name} .line{{stroke:{theme[name]}}}")
        rules.append(f".cg .{name} .tip,.cg .{name} .caption,.cg .{name} .port{{fill:{theme[name]}}}")
    return "\n".join(rules)
