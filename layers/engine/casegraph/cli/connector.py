"""`casegraph connector`: where messages go."""

from __future__ import annotations

from typing import Annotated

import typer

from casegraph.cli.json_argument import json_object
from casegraph.cli.noun import noun
from casegraph.cli.output import As, AsJson, print_fields, print_json
from casegraph.client import context

app = noun("Connectors: where messages go.")


@app.command("show")
def show(connector_id: str, as_person: As = None, as_json: AsJson = False) -> None:
    """Show a connector."""
    with context.connect(as_person) as client:
        answer = client.connectors.get(connector_id)
    if as_json:
        print_json(answer)
    else:
        print_fields(answer)


@app.command("put")
def put(
    connector_id: str,
    kind: Annotated[str, typer.Option(help="recorder (keeps a list, for local use) or http.")],
    settings: Annotated[str, typer.Option(help="The kind's settings: JSON object, @file or -.")] = "{}",
    as_person: As = None,
    as_json: AsJson = False,
) -> None:
    """Create or change a connector."""
    with context.connect(as_person) as client:
        answer = client.connectors.put(connector_id, {"kind": kind, **json_object(settings, "settings")})
    if as_json:
        print_json(answer)
    else:
        print_fields(answer)
