"""`casegraph queue`: where reports and tasks wait."""

from __future__ import annotations

from typing import Annotated

import typer

from casegraph.cli.noun import noun
from casegraph.cli.output import As, AsJson, print_fields, print_json
from casegraph.client import context

app = noun("Queues, and the workflow that is pinned to each.")


@app.command("show")
def show(queue_id: str, as_person: As = None, as_json: AsJson = False) -> None:
    """Show a queue and its pin."""
    with context.connect(as_person) as client:
        answer = client.queues.get(queue_id)
    if as_json:
        print_json(answer)
    else:
        print_fields(answer)


@app.command("put")
def put(
    queue_id: str,
    name: Annotated[str, typer.Option(help="What people call it.")],
    merge: Annotated[
        str, typer.Option(help="subject: reports on one subject share a run; none: a run each.")
    ] = "none",
    as_person: As = None,
    as_json: AsJson = False,
) -> None:
    """Create or change a queue."""
    with context.connect(as_person) as client:
        answer = client.queues.put(queue_id, {"name": name, "merge": merge})
    if as_json:
        print_json(answer)
        return
    print_fields(answer)
    typer.echo(f"Next: casegraph queue pin {queue_id} WORKFLOW VERSION")


@app.command("pin")
def pin(
    queue_id: str,
    workflow: Annotated[str, typer.Argument(help="Workflow key.")],
    version: Annotated[int, typer.Argument(help="Published version.")],
    as_person: As = None,
    as_json: AsJson = False,
) -> None:
    """Let the queue's reports start runs of a version."""
    with context.connect(as_person) as client:
        answer = client.queues.pin(queue_id, workflow, version)
    if as_json:
        print_json(answer)
    else:
        typer.echo(f"Reports in {queue_id} start runs of {workflow} version {version} from now on.")
