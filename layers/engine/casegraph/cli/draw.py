"""`casegraph draw`: a workflow folder as a picture; no server is asked."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from casegraph.authoring.draw import summary, svg
from casegraph.authoring.draw_diff import compare, sketch_of_both
from casegraph.cli.authoring import FolderPath, passed
from casegraph.cli.output import AsJson, print_json
from casegraph.domain.graph.document import Document
from casegraph.domain.graph.layout import drawing_of, lay_out
from casegraph.domain.graph.layouting.drawing import Drawing
from casegraph.errors import InvalidInput

# Laying out a graph that takes longer is worth a line to whoever waits.
SLOW_SECONDS = 2.0


def draw(
    path: FolderPath,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write to this file instead of standard output.")
    ] = None,
    since: Annotated[
        Path | None,
        typer.Option(
            "--since", help="An earlier form of the folder: what was added, removed or changed is marked."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Draw a workflow as SVG: nodes by kind, one line to each node that a port leads to.

    --json gives the coordinates instead, as they are stored with a version."""
    document = _document(path)
    started = time.perf_counter()
    if since is None:
        drawing, title = drawing_of(document), _title(document)
        said = f"{document.description} {summary(drawing)}".strip()
    else:
        comparison = compare(_document(since), document)
        drawing = lay_out(sketch_of_both(comparison))
        title, said = f"{_title(document)}: what changed", comparison.in_words()
    seconds = time.perf_counter() - started
    _write(drawing.to_dict() if as_json else svg(drawing, title=title, description=said), out)
    if out is not None or seconds > SLOW_SECONDS:
        _say(drawing, out, seconds)


def _document(path: Path) -> Document:
    return Document.model_validate_json(json.dumps(passed(path).required()["graph"]))


def _title(document: Document) -> str:
    return document.name or document.key


def _write(content: Any, out: Path | None) -> None:
    if out is None:
        typer.echo(content, nl=False) if isinstance(content, str) else print_json(content)
        return
    if not isinstance(content, str):
        content = _json_text(content)
    try:
        out.write_text(content, encoding="utf-8")
    except OSError as exc:
        raise InvalidInput(f"{out} cannot be written ({type(exc).__name__})", "unwritable_file") from exc


def _json_text(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False) + "\n"


def _say(drawing: Drawing, out: Path | None, seconds: float) -> None:
    cut = sum(edge.jump for edge in drawing.edges)
    parts = [f"{len(drawing.boxes)} nodes laid out in {seconds:.2f} s"]
    if cut:
        parts.append(f"{cut} long lines are cut; their labels name where they lead")
    if out is not None:
        parts.append(f"written to {out}")
    typer.echo("; ".join(parts) + ".", err=True)
