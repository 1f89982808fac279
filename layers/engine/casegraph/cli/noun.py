"""A noun of the command line: a group of verbs."""

from __future__ import annotations

import typer

from casegraph.cli.exits import Group


def noun(help: str) -> typer.Typer:
    """An empty group; commands are added with `@app.command("verb")`."""
    return typer.Typer(help=help, no_args_is_help=True, cls=Group)
