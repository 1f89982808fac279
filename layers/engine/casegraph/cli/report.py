"""`casegraph report`: what people report."""

from __future__ import annotations

from typing import Annotated

import typer

from casegraph.cli.json_argument import json_object
from casegraph.cli.noun import noun
from casegraph.cli.output import As, AsJson, print_fields, print_json, print_table
from casegraph.client import context

app = noun("Take in reports and look at them.")


@app.command("send")
def send(
    report: Annotated[str, typer.Argument(help="The body of POST /v1/reports: JSON, @file or -.")],
    idempotency_key: Annotated[
        str | None, typer.Option(help="Send the same report again under the same key.")
    ] = None,
    as_person: As = None,
    as_json: AsJson = False,
) -> None:
    """Send a report; its queue starts a run of the pinned workflow, or merges it into the open one."""
    with context.connect(as_person) as client:
        answer = client.reports.send(json_object(report, "report"), idempotency_key=idempotency_key)
    if as_json:
        print_json(answer)
        return
    print_fields(answer)
    if answer.get("run_id"):
        typer.echo(f"Next: casegraph run why {answer['run_id']}")


@app.command("show")
def show(report_id: str, as_person: As = None, as_json: AsJson = False) -> None:
    """Show one report."""
    with context.connect(as_person) as client:
        answer = client.reports.get(report_id)
    if as_json:
        print_json(answer)
    else:
        print_fields(answer)


@app.command("list")
def list_reports(
    queue: Annotated[str, typer.Option("--queue", help="Queue id.")],
    as_person: As = None,
    as_json: AsJson = False,
) -> None:
    """List the reports of a queue."""
    with context.connect(as_person) as client:
        reports = list(client.reports.list(queue))
    if as_json:
        print_json({"items": reports})
    else:
        columns = ("report_id", "received_at", "subject_key", "run_id")
        print_table(reports, columns, empty=f"Queue {queue} has no reports. Next: casegraph report send")
