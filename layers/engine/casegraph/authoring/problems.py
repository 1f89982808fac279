"""What is wrong in a workflow folder: every problem at once, each with `file:line:col`, pointer and hint."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from casegraph.authoring.places import Place, Places
from casegraph.domain.graph.problem import Problem

_IN_EXPRESSION = re.compile(r"line (\d+), column (\d+): ")


@dataclass(frozen=True, slots=True)
class SourceProblem:
    """A problem in a file. pointer: JSON pointer of the canonical bundle (`/graph/nodes/3/config`), empty where the
    file could not be read that far."""

    code: str
    place: Place
    message: str
    hint: str = ""
    pointer: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As `--json` prints it."""
        return {
            "code": self.code,
            "file": self.place.file,
            "line": self.place.line,
            "column": self.place.column,
            "pointer": self.pointer,
            "message": self.message,
            "hint": self.hint,
        }

    def __str__(self) -> str:
        pointer = f" [{self.pointer}]" if self.pointer else ""
        hint = f"\n    {self.hint}" if self.hint else ""
        return f"{self.place}: {self.message} ({self.code}){pointer}{hint}"


def ordered(problems: Iterable[SourceProblem]) -> list[SourceProblem]:
    """Once each (the same place may be reached over several edges), by file and place."""
    once = {(p.code, p.place, p.message): p for p in reversed(list(problems))}
    return sorted(once.values(), key=lambda p: (p.place, p.code, p.message))


def placed(problem: Problem, places: Places, main_file: str) -> SourceProblem:
    """A problem of the bundle with its place in the source, in the source form's words."""
    message, column = problem.message, None
    found = _IN_EXPRESSION.match(message)
    if found is not None and found[1] == "1":
        column = int(found[2])
        message = message[found.end() :]
    at_key = problem.code in ("unknown_field", "unexpected_field")
    place = places.find(problem.pointer, at_key=at_key, column=column) or Place(main_file, 1, 1)
    hint = problem.hint
    if not main_file.endswith(".json"):
        message, hint = _in_source_words(message), _in_source_words(_hint(problem))
    return SourceProblem(problem.code, place, message, hint, problem.pointer)


# The validator speaks of the canonical form; these say the same for the form that people write.
_SOURCE_HINTS = {
    "wait_without_deadline": "give it `timeout: 24h` and a `next` for its port `timeout`",
    "wait_without_timeout_edge": "add `next: {timeout: NODE}`",
    "start_missing": "leave the start out: it is added",
    "end_missing": "add `end: {kind: end}`, or lead a node to `end`",
    "authority_not_supported": "write `authority: assist`",
    "duplicate_edge": "one target per port; use a `parallel` to go two ways",
}
_IN_SOURCE = {
    "input_mapping": "`with`",
    "timeout_seconds": "`timeout`",
    "due_seconds": "`due`",
    "for_seconds": "`for`",
}
_NAME_PATTERN = "'^[a-z][a-z0-9_]{0,99}$'"
_NAME_HINT = "lower case letters, digits and _, starting with a letter, at most 100 characters"


def _hint(problem: Problem) -> str:
    hint = _SOURCE_HINTS.get(problem.code, problem.hint)
    if problem.code == "unwired_port" and hint.startswith("add an edge from "):
        hint = f"add `next: {{{hint.rpartition('.')[2]}: NODE}}`"
    return hint or (_NAME_HINT if _NAME_PATTERN in problem.message else "")


def _in_source_words(text: str) -> str:
    for canonical, source in _IN_SOURCE.items():
        text = text.replace(canonical, source)
    return text
