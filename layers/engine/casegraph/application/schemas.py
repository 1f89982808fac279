"""Checking JSON values against JSON Schemas: a port, since the library for it belongs to the API edge only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from casegraph.errors import InvalidInput

Problem = dict[str, str]


class Schemas(Protocol):
    """A JSON Schema checker (runtime/json_schemas.py)."""

    def problems(self, schema: Mapping[str, Any], value: Any) -> list[Problem]:
        """`{"pointer", "message"}` of everything in `value` that the schema does not allow; messages hold no values."""


def require_valid(
    schemas: Schemas, schema: Mapping[str, Any], value: Any, *, what: str, code: str, at: str
) -> None:
    """Raise `InvalidInput(code)` with every problem, pointers starting at `at`, unless the value fits the schema."""
    found = schemas.problems(schema, value)
    if not found:
        return
    problems = [{**problem, "pointer": at + problem["pointer"]} for problem in found]
    first = problems[0]
    raise InvalidInput(f"{what}: {first['pointer']}: {first['message']}", code, problems=problems)
