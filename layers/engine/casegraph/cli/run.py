"""`casegraph run`: runs of workflows."""

from __future__ import annotations

from typing import Annotated

import typer

from casegraph.cli.json_argument import json_object
from casegraph.cli.noun import noun
from casegraph.cli.output import As, AsJson, print_fields, print_json, print_table
from casegraph.client import context
from casegraph.client.transport import Json

app = noun("Start runs, look at them, steer them.")
Reason = Annotated[str, typer.Option(help="Why; it is recorded.")]
Revision = Annotated[int | None, typer.Option(help="Refuse unless the run is still at this revision.")]


@app.command("start")
def start(
    workflow: Annotated[str, typer.Argument(help="Workflow key.")],
    input: Annotated[str, typer.Argument(help="JSON object, @file or -.")] = "{}",
    version: Annotated[int | None, typer.Option(help="Published version; the latest when not given.")] = None,
    idempotency_key: Annotated[
        str | None, typer.Option(help="The same key again starts nothing new.")
    ] = None,
    as_person: As = None,
    as_json: AsJson = False,
) -> None:
    """Start a run."""
    with context.connect(as_person) as client:
        answer = client.runs.start(
            workflow, json_object(input, "input"), version=version, idempotency_key=idempotency_key
        )
    if as_json:
        print_json(answer)
        return
    print_fields(answer)
    typer.echo(f"Next: casegraph run show {answer['run_id']}")


@app.command("list")
def list_runs(
    state: Annotated[str | None, typer.Option(help="waiting, attention, succeeded, ...")] = None,
    workflow: Annotated[str | None, typer.Option(help="Workflow key.")] = None,
    report: Annotated[str | None, typer.Option(help="Report id.")] = None,
    code: Annotated[str | None, typer.Option(help="Attention or error code.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 100,
    as_person: As = None,
    as_json: AsJson = False,
) -> None:
    """List runs, the newest first."""
    runs: list[Json] = []
    with context.connect(as_person) as client:
        for entry in client.runs.list(state=state, workflow=workflow, report_id=report, code=code):
            runs.append(entry)
            if len(runs) == limit:
                break
    if as_json:
        print_json({"items": runs})
    else:
        columns = ("run_id", "workflow_key", "version", "state", "started_at")
        print_table(
            runs, columns, empty="No runs. Next: casegraph run start WORKFLOW, or casegraph report send"
        )


@app.command("show")
def show(run_id: str, as_person: As = None, as_json: AsJson = False) -> None:
    """Show a run and the steps that it finished."""
    with context.connect(as_person) as client:
        answer = client.runs.get(run_id)
        steps = client.runs.steps(run_id)
    if as_json:
        print_json({**answer, "steps": steps})
        return
    print_fields(answer)
    typer.echo("")
    print_table(steps, ("step", "status", "port", "attempts", "output"), empty="No step has finished yet.")


@app.command("why")
def why(run_id: str, as_person: As = None, as_json: AsJson = False) -> None:
    """Say what a run waits for, until when, and who can unblock it."""
    with context.connect(as_person) as client:
        answer = client.runs.why(run_id)
    if as_json:
        print_json(answer)
        return
    typer.echo(answer.get("sentence", ""))
    print_table(
        answer.get("waits_for", []),
        ("step", "what", "since", "deadline_at", "who"),
        empty="It waits for nothing.",
    )


@app.command("log")
def show_log(run_id: str, as_person: As = None, as_json: AsJson = False) -> None:
    """Show what each commit of a run wrote, with the check of its hash chain."""
    with context.connect(as_person) as client:
        log = client.runs.log(run_id)
    if as_json:
        print_json(log)
        return
    print_table([_log_line(e) for e in log["items"]], _LOG_COLUMNS, empty="Nothing was committed yet.")
    faults = log["chain"]["faults"]
    typer.echo(f"The hash chain does not hold: {'; '.join(faults)}" if faults else "The hash chain holds.")


@app.command("pause")
def pause(
    run_id: str,
    reason: Reason,
    until_at: Annotated[str | None, typer.Option(help="Goes on by itself then (RFC 3339).")] = None,
    expected_revision: Revision = None,
    as_person: As = None,
    as_json: AsJson = False,
) -> None:
    """Let nothing of a run advance."""
    with context.connect(as_person) as client:
        answer = client.runs.pause(run_id, reason, until_at=until_at, expected_revision=expected_revision)
    _print_control(answer, as_json, f"Next: casegraph run resume {run_id} --reason ...")


@app.command("resume")
def resume(
    run_id: str,
    reason: Reason,
    expected_revision: Revision = None,
    as_person: As = None,
    as_json: AsJson = False,
) -> None:
    """Let a paused run go on; its deadlines move by the pause's length."""
    with context.connect(as_person) as client:
        answer = client.runs.resume(run_id, reason, expected_revision=expected_revision)
    _print_control(answer, as_json, f"Next: casegraph run why {run_id}")


@app.command("terminate")
def terminate(
    run_id: str,
    reason: Reason,
    expected_revision: Revision = None,
    as_person: As = None,
    as_json: AsJson = False,
) -> None:
    """End a run now; its open tasks are cancelled."""
    with context.connect(as_person) as client:
        answer = client.runs.terminate(run_id, reason, expected_revision=expected_revision)
    _print_control(answer, as_json, f"Next: casegraph run log {run_id}")


_LOG_COLUMNS = ("revision", "recorded_at", "kind", "finished", "opened", "taken in", "actor", "reason")


def _log_line(entry: Json) -> Json:
    """One commit in words: `review#1 -> remove`."""
    finished = (f"{s['step']} -> {s.get('port') or s['status']}" for s in entry.get("steps", ()))
    opened = (f"{w['step']} ({w['wait']})" for w in entry.get("opened", ()))
    words = {"finished": finished, "opened": opened, "taken in": map(str, entry.get("taken", ()))}
    return {**entry, **{name: ", ".join(value) for name, value in words.items()}}


def _print_control(answer: Json, as_json: bool, next_step: str) -> None:
    if as_json:
        print_json(answer)
        return
    print_fields(answer)
    typer.echo(next_step)
