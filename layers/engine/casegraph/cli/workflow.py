"""`casegraph publish`: from a workflow folder to a version."""

from __future__ import annotations

from typing import Any

import typer

from casegraph.authoring.files import Folder
from casegraph.cli.authoring import FolderPath, from_here, passed
from casegraph.cli.output import As, AsJson, print_json
from casegraph.client import context
from casegraph.client.transport import Json
from casegraph.errors import InvalidInput


def publish(path: FolderPath, as_person: As = None, as_json: AsJson = False) -> None:
    """Publish a workflow folder as a version; the same content again is the same version."""
    checked = passed(path)
    folder, bundle = checked.folder, checked.required()
    key = str(bundle["graph"]["key"])
    with context.connect(as_person) as client:
        answer = _published(folder, lambda: client.workflows.publish(key, bundle))
    if as_json:
        print_json(answer)
        return
    state = "was published before as" if answer.get("replayed") else "is published as"
    typer.echo(f"{key} {state} version {answer['version']} ({answer['digest']}).")
    typer.echo(f"Next: casegraph queue pin QUEUE {key} {answer['version']}")


def _published(folder: Folder, call: Any) -> Json:
    try:
        answer: Json = call()
    except InvalidInput as error:
        problems = error.details.get("problems")
        if isinstance(problems, list):
            found = [folder.located(p) for p in problems if isinstance(p, dict)]
            error.details["problems"] = [from_here(p, folder.path).to_dict() for p in found]
        raise
    return answer
