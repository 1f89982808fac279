"""`casegraph validate` and `casegraph publish`: from a workflow folder to a version."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from casegraph.authoring.folder import Folder, read_folder, refuse_problems
from casegraph.cli.output import As, AsJson, print_json
from casegraph.client import context
from casegraph.client.transport import Json
from casegraph.errors import InvalidInput

FolderPath = Annotated[
    Path, typer.Argument(help="A workflow folder (workflow.json, forms/, messages/, ...).")
]


def validate(path: FolderPath, as_person: As = None, as_json: AsJson = False) -> None:
    """Check a workflow folder; every problem at once, with file and place. Nothing is stored."""
    folder = read_folder(path)
    refuse_problems(folder)
    with context.connect(as_person) as client:
        answer = client.workflows.validate(folder.bundle)
    problems = [placed(folder, problem) for problem in answer.get("problems", [])]
    if problems:
        raise InvalidInput(f"{path}: {len(problems)} problem(s)", "workflow_invalid", problems=problems)
    if as_json:
        print_json({"valid": True, "problems": []})
    else:
        typer.echo(f"{path} is valid. Next: casegraph publish {path}")


def publish(path: FolderPath, as_person: As = None, as_json: AsJson = False) -> None:
    """Publish a workflow folder as a version; the same content again is the same version."""
    folder = read_folder(path)
    refuse_problems(folder)
    key = str(folder.bundle["graph"].get("key", ""))
    if not key:
        raise InvalidInput(f"{path}: workflow.json has no key", "key_missing")
    with context.connect(as_person) as client:
        answer = _published(folder, lambda: client.workflows.publish(key, folder.bundle))
    if as_json:
        print_json(answer)
        return
    state = "was published before as" if answer.get("replayed") else "is published as"
    typer.echo(f"{key} {state} version {answer['version']} ({answer['digest']}).")
    typer.echo(f"Next: casegraph queue pin QUEUE {key} {answer['version']}")


def placed(folder: Folder, problem: Json) -> Json:
    """A problem of the bundle with the file that it is in."""
    file, pointer = folder.place(str(problem.get("pointer", "")))
    return {**problem, "file": str(folder.path / file), "pointer": pointer}


def _published(folder: Folder, call: Any) -> Json:
    try:
        answer: Json = call()
    except InvalidInput as error:
        problems = error.details.get("problems")
        if isinstance(problems, list):
            error.details["problems"] = [placed(folder, p) for p in problems if isinstance(p, dict)]
        raise
    return answer
