"""`casegraph diff`: what differs between two workflows or two states of one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from casegraph.authoring.diff import diff
from casegraph.cli.authoring import passed
from casegraph.cli.output import AsJson, print_json
from casegraph.domain.graph.bundle import bundle_digest
from casegraph.domain.graph.validation.validate import validate
from casegraph.errors import InvalidInput

_HELP = "A workflow folder, or a canonical bundle that `casegraph build -o` wrote."


def show_diff(
    before: Annotated[Path, typer.Argument(help=_HELP)],
    after: Annotated[Path, typer.Argument(help=_HELP)],
    as_json: AsJson = False,
) -> None:
    """Show what differs between two bundles: nodes, fields, edges, forms, texts."""
    old, new = _bundle(before), _bundle(after)
    changes = diff(old, new)
    if as_json:
        digests = {"before": bundle_digest(old), "after": bundle_digest(new)}
        print_json({**digests, "changes": [change.to_dict() for change in changes]})
        return
    for change in changes:
        typer.echo(str(change))
    if not changes:
        typer.echo(f"No difference: both are {bundle_digest(old)}.")


def _bundle(path: Path) -> dict[str, Any]:
    if path.suffix != ".json" or path.name == "workflow.json":
        return passed(path).required()
    try:
        validated = validate(path.read_bytes())
    except OSError as exc:
        raise InvalidInput(f"{path} cannot be read ({type(exc).__name__})", "unreadable_file") from exc
    if validated.bundle is None:
        problems = [{"file": str(path), **problem.to_dict()} for problem in validated.problems]
        raise InvalidInput(f"{path} is no valid bundle", "workflow_invalid", problems=problems)
    return validated.bundle
