"""A workflow folder checked whole: what its files say wrongly and what the graph does, each with its place."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casegraph.authoring.files import Folder
from casegraph.authoring.folder import read_folder
from casegraph.authoring.problems import SourceProblem, ordered
from casegraph.domain.graph.bundle import bundle_digest
from casegraph.domain.graph.validation import validate
from casegraph.errors import InvalidInput


@dataclass(frozen=True)
class Checked:
    """bundle: the canonical bundle in its one stored form; None while there are problems."""

    folder: Folder
    problems: tuple[SourceProblem, ...]
    bundle: dict[str, Any] | None

    @property
    def digest(self) -> str:
        """The digest that a publication of it would have."""
        return bundle_digest(self.required())

    def required(self) -> dict[str, Any]:
        """The bundle. Raises `InvalidInput("workflow_invalid")` with every problem."""
        if self.bundle is not None:
            return self.bundle
        raise InvalidInput(
            f"{self.folder.path}: {len(self.problems)} problem(s)",
            "workflow_invalid",
            problems=[problem.to_dict() for problem in self.problems],
        )


def check(path: Path) -> Checked:
    """Read and validate a folder (or its file). Every problem at once; a file that cannot be read hides those of the
    graph."""
    folder = read_folder(path)
    if not isinstance(folder.bundle.get("graph"), dict) or _unreadable(folder):
        return Checked(folder, tuple(folder.problems), None)
    validated = validate(folder.bundle)
    known = {(problem.place.file, problem.place.line) for problem in folder.problems}
    found = [folder.located(problem) for problem in validated.problems]
    # A line that the source form refuses already is not refused again for what came of it.
    found = [problem for problem in found if (problem.place.file, problem.place.line) not in known]
    problems = tuple(ordered([*folder.problems, *found]))
    return Checked(folder, problems, None if problems else validated.bundle)


def _unreadable(folder: Folder) -> bool:
    return not folder.bundle["graph"] and bool(folder.problems)
