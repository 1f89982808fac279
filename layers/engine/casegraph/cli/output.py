"""What commands print: tables and lines for people, one JSON document for programs (`--json`)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from casegraph.cli.exits import AS_JSON


def _remember(ctx: typer.Context, value: bool) -> bool:
    ctx.meta[AS_JSON] = value
    return value


AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.", callback=_remember)]
As = Annotated[str | None, typer.Option("--as", help="Act as this person of the context.", metavar="PERSON")]


# A pipe has no width of its own; an id must not be folded there.
PIPE_COLUMNS = 240


def console(*, stderr: bool = False) -> Console:
    """Standard output (or errors); rich respects NO_COLOR and pipes."""
    plain = Console(highlight=False, stderr=stderr)
    return plain if plain.is_terminal else Console(highlight=False, stderr=stderr, width=PIPE_COLUMNS)


def print_json(value: Any) -> None:
    """One JSON document."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], *, empty: str) -> None:
    """Rows by column name, or the line `empty` that says what to do next."""
    entries = list(rows)
    if not entries:
        typer.echo(empty)
        return
    table = Table(box=None, pad_edge=False)
    for column in columns:
        table.add_column(column.replace("_", " "), overflow="fold")
    for entry in entries:
        # Text, not markup: what people wrote may look like markup.
        table.add_row(*(Text(text(entry.get(column))) for column in columns))
    console().print(table)


def print_fields(entry: Mapping[str, Any]) -> None:
    """One thing, a line for each field."""
    width = max((len(name) for name in entry), default=0)
    for name, value in entry.items():
        typer.echo(f"{name.replace('_', ' '):<{width}}  {text(value)}")


def text(value: Any) -> str:
    """A value as one cell. Control characters are shown, not sent to the terminal: what people wrote may hold them."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    written = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in written)
