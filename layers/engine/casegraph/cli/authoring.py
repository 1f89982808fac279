"""`casegraph build`, `validate` and `fmt`: a workflow folder on this machine; no server is asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from casegraph.authoring.check import Checked, check
from casegraph.authoring.files import SOURCE_FILE
from casegraph.authoring.fmt import format_text
from casegraph.authoring.places import Place
from casegraph.authoring.problems import SourceProblem
from casegraph.authoring.yaml_tree import YamlInvalid
from casegraph.cli.output import AsJson, print_json
from casegraph.domain.graph.bundle import bundle_bytes
from casegraph.errors import InvalidInput

FolderPath = Annotated[
    Path,
    typer.Argument(help="A workflow folder (workflow.yaml, forms/, messages/, ...), or its workflow.yaml."),
]
Paths = Annotated[
    list[Path], typer.Argument(help="Workflow folders, or folders of them, or single YAML files.")
]


def validate(path: FolderPath, as_json: AsJson = False) -> None:
    """Check a workflow folder; every problem at once, with file, line and column. Nothing is stored."""
    checked = passed(path)
    if as_json:
        print_json(
            {
                "valid": True,
                "digest": checked.digest,
                "components_asked": list(checked.components_asked),
                "problems": [],
            }
        )
        return
    typer.echo(f"{path} is valid (folder {checked.digest}). Next: casegraph test {path}")
    if checked.components_asked:
        names = ", ".join(checked.components_asked)
        typer.echo(
            f"Publication copies what the installation knows of the results of {names} into the version; "
            "where that is not what the folder says, the version's digest is another."
        )


def build(
    path: FolderPath,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write to this file instead of standard output.")
    ] = None,
) -> None:
    """Write the canonical bundle of the folder (JSON). A publication copies the output schemas of components that the
    installation knows into it, so that a version's digest may be another."""
    body = bundle_bytes(passed(path).required())
    if out is None:
        typer.echo(body, nl=False)
    else:
        out.write_bytes(body)


def fmt(
    paths: Paths,
    check_only: Annotated[
        bool, typer.Option("--check", help="Change nothing; refuse (exit 1) what is not formatted.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Format YAML sources in place: quotes, indentation, blank lines. Comments and meaning stay."""
    changed = [file for file in _sources(paths) if _format(file, write=not check_only)]
    if as_json:
        print_json({"changed": [str(file) for file in changed]})
    else:
        for file in changed:
            typer.echo(f"{'would be' if check_only else 'is'} formatted: {file}")
    if check_only and changed:
        raise InvalidInput(
            f"{len(changed)} file(s) are not formatted", "not_formatted", hint="casegraph fmt PATH"
        )


def passed(path: Path) -> Checked:
    """The folder without problems. Raises `InvalidInput("workflow_invalid")` with every problem, files named from
    here."""
    checked = check(path)
    problems = tuple(from_here(problem, checked.folder.path) for problem in checked.problems)
    checked = replace(checked, problems=problems)
    checked.required()
    return checked


def from_here(problem: SourceProblem, folder: Path) -> SourceProblem:
    """The problem with its file as one can open it."""
    place = problem.place
    return replace(problem, place=Place(str(folder / place.file), place.line, place.column))


def _sources(paths: list[Path]) -> list[Path]:
    found: list[Path] = []
    for path in paths:
        if path.is_file():
            found.append(path)
            continue
        files = [file for pattern in ("*.yaml", "*.yml") for file in sorted(path.rglob(pattern))]
        if not files:
            raise InvalidInput(
                f"there is no YAML file in {path}", "nothing_to_format", hint=f"such as {SOURCE_FILE}"
            )
        found += files
    return list(dict.fromkeys(found))


def _format(file: Path, *, write: bool) -> bool:
    try:
        before = file.read_text(encoding="utf-8")
        after = format_text(before)
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidInput(f"{file} cannot be read ({type(exc).__name__})", "unreadable_file") from exc
    except YamlInvalid as fault:
        place = Place(str(file), fault.spot.line, fault.spot.column)
        problem = SourceProblem(fault.code, place, fault.message, fault.hint)
        text = f"{file} cannot be formatted"
        raise InvalidInput(text, "workflow_invalid", problems=[problem.to_dict()]) from fault
    if before != after and write:
        file.write_text(after, encoding="utf-8")
    return before != after
