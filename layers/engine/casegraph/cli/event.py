"""`casegraph event`: what came from outside."""

from __future__ import annotations

from typing import Annotated

import typer

from casegraph.cli.json_argument import json_object
from casegraph.cli.noun import noun
from casegraph.cli.output import As, AsJson, print_fields, print_json
from casegraph.client import context
from casegraph.errors import InvalidInput

app = noun("Send events that runs wait for.")


@app.command("send")
def send(
    type: Annotated[str, typer.Argument(help="Event type, e.g. notice.completed.")],
    payload: Annotated[str, typer.Argument(help="JSON object, @file or -.")] = "{}",
    run: Annotated[str | None, typer.Option("--run", help="Send to this run.")] = None,
    key: Annotated[
        str | None, typer.Option("--key", help="Send to the run that waits for this correlation key.")
    ] = None,
    event_id: Annotated[
        str | None, typer.Option(help="The sender's own id: the same one again changes nothing.")
    ] = None,
    as_person: As = None,
    as_json: AsJson = False,
) -> None:
    """Send an event to one run (--run), or to the run that waits or will wait for its key (--key)."""
    content = json_object(payload, "payload")
    with context.connect(as_person) as client:
        if run is not None:
            answer = client.events.to_run(run, type, content, event_id=event_id, key=key)
        elif key is not None:
            answer = client.events.by_key(type, key, content, event_id=event_id)
        else:
            raise InvalidInput("say where the event goes: --run RUN_ID or --key KEY", "no_receiver")
    if as_json:
        print_json(answer)
    else:
        print_fields(answer)
