"""`casegraph test`: the cases of workflow folders, in virtual time, and the edges that no case takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from casegraph.authoring.case_file import read_cases
from casegraph.authoring.coverage import Coverage, coverage
from casegraph.authoring.files import SOURCE_FILE, Folder
from casegraph.authoring.folder import GRAPH_FILE
from casegraph.cli.authoring import from_here, passed
from casegraph.cli.output import AsJson, print_json
from casegraph.errors import InvalidInput

Only = Annotated[str | None, typer.Option("--case", help="Run only the case of this name.", metavar="NAME")]
MinimumCoverage = Annotated[
    int,
    typer.Option(
        "--coverage", help="Refuse less edge coverage than this.", min=0, max=100, metavar="PERCENT"
    ),
]
FolderPaths = Annotated[
    list[Path], typer.Argument(help="Workflow folders, or folders of them.", metavar="DIR...")
]


@dataclass(frozen=True)
class Tested:
    """What came of a folder's cases: failures by case, and coverage."""

    folder: Folder
    cases: dict[str, list[dict[str, Any]]]
    covered: Coverage

    @property
    def failures(self) -> list[dict[str, Any]]:
        """Every failure of every case."""
        return [failure for failures in self.cases.values() for failure in failures]

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "folder": str(self.folder.path),
            "cases": {name: {"passed": not found, "failures": found} for name, found in self.cases.items()},
            "coverage": {
                "edges": self.covered.edges,
                "taken": self.covered.taken,
                "percent": round(self.covered.percent, 1),
                "untaken": [str(edge) for edge in self.covered.untaken],
            },
        }


def run_cases(
    paths: FolderPaths, only: Only = None, minimum: MinimumCoverage = 0, as_json: AsJson = False
) -> None:
    """Run the cases of workflow folders in virtual time, and report the edges that none takes."""
    tested = [run_folder(path, only) for path in _folders(paths)]
    if as_json:
        print_json({"workflows": [entry.to_dict() for entry in tested]})
    else:
        for entry in tested:
            _show(entry)
    failures = [failure for entry in tested for failure in entry.failures]
    count = sum(len(entry.cases) for entry in tested)
    if failures:
        raise InvalidInput(
            f"{len(failures)} failure(s) in {count} case(s)", "cases_failed", problems=failures
        )
    low = [entry for entry in tested if entry.covered.percent < minimum]
    if low and only is None:
        names = ", ".join(f"{entry.folder.path} ({entry.covered.percent:.0f} %)" for entry in low)
        raise InvalidInput(f"less than {minimum} % of the edges: {names}", "coverage_low")


def run_folder(path: Path, only: str | None = None) -> Tested:
    """Check a folder and run its cases. Raises `InvalidInput` for what cannot be run at all."""
    # The whole engine, in memory: only this command needs it.
    from casegraph.testing.cases import run_case

    checked = passed(path)
    folder, bundle = checked.folder, checked.required()
    files = read_cases(folder)
    if folder.problems:
        problems = [from_here(problem, folder.path).to_dict() for problem in folder.problems]
        raise InvalidInput(f"{path}: {len(problems)} problem(s)", "workflow_invalid", problems=problems)
    chosen = [file for file in files if only in (None, file.name)]
    if only is not None and not chosen:
        names = ", ".join(file.name for file in files) or "none"
        raise InvalidInput(f"there is no case {only!r} in {path}", "case_not_found", allowed=names)
    results = [run_case(file, bundle) for file in chosen]
    taken = {edge for result in results for edge in result.edges}
    failures = {
        result.name: [from_here(problem, folder.path).to_dict() for problem in result.failures]
        for result in results
    }
    return Tested(folder, failures, coverage(bundle["graph"], taken, folder))


def _folders(paths: list[Path]) -> Iterator[Path]:
    for path in paths:
        own = [path] if any((path / name).exists() for name in (SOURCE_FILE, GRAPH_FILE)) else []
        below = {file.parent for name in (SOURCE_FILE, GRAPH_FILE) for file in path.rglob(name)}
        found = own or sorted(below)
        if not found:
            raise InvalidInput(f"there is no {SOURCE_FILE} in or below {path}", "workflow_not_found")
        yield from found


def _show(entry: Tested) -> None:
    for name, failures in entry.cases.items():
        typer.echo(f"{'FAILED' if failures else 'passed'}  {entry.folder.path / 'cases' / name}")
    covered = entry.covered
    typer.echo(
        f"{entry.folder.path}: {len(entry.cases)} case(s), {covered.taken} of {covered.edges} edges"
        f" ({covered.percent:.0f} %)"
    )
    for edge in covered.untaken:
        typer.echo(f"  no case takes {edge} ({entry.folder.path / edge.place})")
