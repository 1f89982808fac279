"""Exit codes: 0 done, 1 refused, 2 usage, 3 not reached in time, 4 no connection. One place turns errors into them."""

from __future__ import annotations

import json
import sys
from enum import IntEnum
from typing import Any

import typer
from typer.core import TyperGroup

from casegraph.client.errors import NoConnection
from casegraph.errors import CasegraphError


class Exit(IntEnum):
    """What the shell sees."""

    DONE = 0
    REFUSED = 1
    USAGE = 2
    NOT_REACHED = 3
    NO_CONNECTION = 4


# Where a command's `--json` is remembered (output.AsJson), so that its errors are JSON too.
AS_JSON = "casegraph.as_json"


class NotReached(CasegraphError):
    """What was waited for did not come in time."""

    default_code = "not_reached"


class Group(TyperGroup):
    """A command group whose commands' errors become a line (or JSON) on standard error and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except CasegraphError as error:
            report(error, as_json=ctx.meta.get(AS_JSON, False))
            raise typer.Exit(code_of(error)) from error


def code_of(error: CasegraphError) -> Exit:
    """The exit code of an error."""
    if isinstance(error, NoConnection):
        return Exit.NO_CONNECTION
    if isinstance(error, NotReached):
        return Exit.NOT_REACHED
    return Exit.REFUSED


def report(error: CasegraphError, *, as_json: bool) -> None:
    """Say what went wrong, where, and what to do."""
    if as_json:
        body = {"code": error.code, "message": error.message, "details": error.details}
        print(json.dumps({"error": body}), file=sys.stderr)
        return
    print(f"{error.code}: {error.message}", file=sys.stderr)
    for problem in error.details.get("problems", []):
        print(f"  {_problem(problem)}", file=sys.stderr)
    for name in ("hint", "allowed", "current_state", "who"):
        if name in error.details:
            print(f"  {name.replace('_', ' ')}: {_plain(error.details[name])}", file=sys.stderr)


def _problem(problem: Any) -> str:
    if not isinstance(problem, dict):
        return str(problem)
    place = problem.get("file") or ""
    if place and "line" in problem:
        place = f"{place}:{problem['line']}:{problem['column']}"
    pointer = problem.get("pointer", "")
    hint = f" ({problem['hint']})" if problem.get("hint") else ""
    return f"{place}{'#' if place else ''}{pointer}: {problem.get('message', problem.get('code', ''))}{hint}"


def _plain(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
