"""Each wrong graph gives exactly the problems that stand at its end: place, code, pointer, message, hint.

A line there reads `# [file:]line:column code pointer | message | hint`, for files beside the graph in `wrong/beside`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from casegraph.authoring.check import check
from casegraph.authoring.problems import SourceProblem

WRONG = Path(__file__).parent / "wrong"
GRAPHS = sorted(WRONG.glob("*.yaml"))


def as_line(problem: SourceProblem, folder: Path) -> str:
    place, message = problem.place, problem.message.replace(str(folder), "FOLDER")
    file = "" if place.file == "workflow.yaml" else f"{place.file}:"
    pointer = problem.pointer or "-"
    line = f"# {file}{place.line}:{place.column} {problem.code} {pointer} | {message} | {problem.hint}"
    return line.rstrip()


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda path: path.stem)
def test_a_wrong_graph_gives_exactly_these_problems(graph: Path, tmp_path: Path) -> None:
    source, _, expected = graph.read_text().partition("# expected:\n")
    folder = tmp_path / "flow"
    shutil.copytree(WRONG / "beside", folder)
    (folder / "workflow.yaml").write_text(source)
    checked = check(folder)
    assert expected.splitlines() == [as_line(problem, folder) for problem in checked.problems]
    assert checked.bundle is None


def test_there_are_at_least_forty_of_them() -> None:
    assert len(GRAPHS) >= 40
