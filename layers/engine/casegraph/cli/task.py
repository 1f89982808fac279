"""`casegraph task`: people's work."""

from __future__ import annotations

from typing import Annotated

import typer

from casegraph.cli.exits import NotReached
from casegraph.cli.json_argument import json_object
from casegraph.cli.noun import noun
from casegraph.cli.output import As, AsJson, print_fields, print_json, print_table
from casegraph.client import context
from casegraph.client.transport import Json

app = noun("Take tasks from a queue and decide them.")
Queue = Annotated[str, typer.Option("--queue", help="Queue id.")]
Generation = Annotated[
    int | None, typer.Option(help="The claim's generation; read from the task when not given.")
]


@app.command("list")
def list_tasks(queue: Queue, as_person: As = None, as_json: AsJson = False) -> None:
    """List the open tasks of a queue."""
    with context.connect(as_person) as client:
        tasks = list(client.tasks.list(queue))
    if as_json:
        print_json({"items": tasks})
    else:
        columns = ("task_id", "state", "priority", "due_at", "claimed_by", "title")
        print_table(tasks, columns, empty=f"Queue {queue} has no open tasks.")


@app.command("next")
def next_task(queue: Queue, as_person: As = None, as_json: AsJson = False) -> None:
    """Claim the most urgent task of a queue (exit code 3 when there is none)."""
    with context.connect(as_person) as client:
        task = client.tasks.next(queue)
    if task is None:
        raise NotReached(f"there is no task to do in {queue} now", "no_task")
    _print_task(task, as_json)


@app.command("show")
def show(task_id: str, as_person: As = None, as_json: AsJson = False) -> None:
    """Show a task with its form."""
    with context.connect(as_person) as client:
        task = client.tasks.get(task_id)
    _print_task(task, as_json)


@app.command("claim")
def claim(task_id: str, as_person: As = None, as_json: AsJson = False) -> None:
    """Claim this very task."""
    with context.connect(as_person) as client:
        task = client.tasks.claim(task_id)
    _print_task(task, as_json)


@app.command("complete")
def complete(
    task_id: str,
    response: Annotated[
        str, typer.Argument(help='The filled form: \'{"outcome": "remove", ...}\', @file or -.')
    ],
    generation: Generation = None,
    as_person: As = None,
    as_json: AsJson = False,
) -> None:
    """Decide a task that you hold."""
    content = json_object(response, "response")
    with context.connect(as_person) as client:
        held = client.tasks.get(task_id)["generation"] if generation is None else generation
        answer = client.tasks.complete(task_id, held, content)
    if as_json:
        print_json(answer)
    else:
        print_fields(answer)


@app.command("release")
def release(
    task_id: str, generation: Generation = None, as_person: As = None, as_json: AsJson = False
) -> None:
    """Give a task back to its queue."""
    with context.connect(as_person) as client:
        held = client.tasks.get(task_id)["generation"] if generation is None else generation
        answer = client.tasks.release(task_id, held)
    if as_json:
        print_json(answer)
    else:
        typer.echo(f"Task {task_id} is open for others again.")


def _print_task(task: Json, as_json: bool) -> None:
    if as_json:
        print_json(task)
        return
    print_fields(task)
    if task.get("state") == "open":
        typer.echo(f"Next: casegraph task claim {task['task_id']}")
    elif task.get("state") == "claimed":
        typer.echo(f"Next: casegraph task complete {task['task_id']} '{{\"outcome\": ...}}'")
