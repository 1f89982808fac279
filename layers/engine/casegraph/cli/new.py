"""`casegraph new`: a folder to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from casegraph.authoring.scaffold import new_workflow
from casegraph.cli.noun import noun
from casegraph.cli.output import AsJson, print_json

app = noun("Make something new from a template.")


@app.command("workflow")
def workflow(
    name: Annotated[str, typer.Argument(help="Its key, and the folder's name.")],
    parent: Annotated[Path, typer.Option("--in", help="Folder to make it in.", metavar="DIR")] = Path("."),
    as_json: AsJson = False,
) -> None:
    """Make a workflow folder: a graph, its form and message, and cases that pass."""
    files = new_workflow(name, parent)
    if as_json:
        print_json({"files": [str(file) for file in files]})
        return
    for file in files:
        typer.echo(file)
    typer.echo(f"Next: casegraph test {parent / name}")
