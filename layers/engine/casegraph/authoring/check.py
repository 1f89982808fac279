"""A workflow folder checked whole: what its files say wrongly and what the graph does, each with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from casegraph.authoring.files import Folder
from casegraph.authoring.folder import read_folder
from casegraph.authoring.problems import SourceProblem, ordered
from casegraph.domain.graph.bundle import bundle_digest
from casegraph.domain.graph.problem import Problem
from casegraph.domain.graph.validation.validate import validate
from casegraph.errors import InvalidInput


@dataclass(frozen=True)
class Checked:
    """bundle: the canonical bundle in its one stored form; None while there are problems."""

    folder: Folder
    problems: tuple[SourceProblem, ...]
    bundle: dict[str, Any] | None

    @property
    def digest(self) -> str:
        """The digest of the folder: a version has the same unless the installation knows other output schemas of the
        `components_asked`, since publication copies those into the version."""
        return bundle_digest(self.required())

    @property
    def components_asked(self) -> tuple[str, ...]:
        """The components that the graph asks."""
        configs = [node.get("config", {}) for node in self.required()["graph"]["nodes"]]
        return tuple(sorted({config["component_id"] for config in configs if "component_id" in config}))

    def required(self) -> dict[str, Any]:
        """The bundle. Raises `InvalidInput("workflow_invalid")` with every problem."""
        if self.bundle is not None:
            return self.bundle
        raise InvalidInput(
            f"{self.folder.path}: {len(self.problems)} problem(s)",
            "workflow_invalid",
            problems=[problem.to_dict() for problem in self.problems],
        )


# A part that cannot be read, or an edge that leads nowhere, is one fault; that nothing comes after it is the same one.
_CUTS = frozenset(
    {
        "unknown_node",
        "unknown_port",
        "form_missing",
        "form_without_outcome",
        "outcome_not_a_name",
        "file_missing",
    }
)
_FOLLOW_FROM_CUTS = frozenset(
    {"unreachable_node", "no_way_to_end", "unwired_port", "wait_without_timeout_edge", "unresolved_ref"}
)
# What the source form refuses in a node is missing from its canonical form.
_REFUSED_FIELDS = frozenset({"unknown_field", "duration_invalid", "expression_not_allowed", "invalid_value"})
_FOLLOW_FROM_FIELDS = frozenset({"wait_without_deadline", "delay_without_time", "missing_field"})
_NODE = re.compile(r"/graph/nodes/\d+")


def check(path: Path) -> Checked:
    """Read and validate a folder (or its file). Every problem at once, but none that is there only for another; a file
    that cannot be read hides the problems of the graph."""
    folder = read_folder(path)
    if not folder.bundle.get("graph"):
        return Checked(folder, tuple(folder.problems), None)
    validated = validate(folder.bundle)
    found = [folder.located(problem) for problem in _causes(folder.problems, validated.problems)]
    known = {problem.place for problem in folder.problems}
    problems = tuple(ordered([*folder.problems, *(p for p in found if p.place not in known)]))
    return Checked(folder, problems, None if problems else validated.bundle)


def _causes(read: Iterable[SourceProblem], graph: Iterable[Problem]) -> Iterator[Problem]:
    found, said = list(graph), list(read)
    codes = {problem.code for problem in said} | {problem.code for problem in found}
    cut = not _CUTS.isdisjoint(codes)
    refused = {_node(problem.pointer) for problem in said if problem.code in _REFUSED_FIELDS}
    bad_ids = any(_of_id(problem) for problem in found)
    for problem in found:
        follows = (
            (cut and problem.code in _FOLLOW_FROM_CUTS)
            or (problem.code in _FOLLOW_FROM_FIELDS and _node(problem.pointer) in refused - {""})
            or (bad_ids and (problem.code == "unwired_port" or problem.pointer.startswith("/graph/edges/")))
        )
        if not follows:
            yield problem


def _of_id(problem: Problem) -> bool:
    return problem.code == "invalid_value" and bool(re.fullmatch(_NODE.pattern + "/id", problem.pointer))


def _node(pointer: str) -> str:
    found = _NODE.match(pointer)
    return found[0] if found else ""
