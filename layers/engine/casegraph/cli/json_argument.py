"""JSON on the command line: `'{"a": 1}'`, or `@file.json`, or `-` for standard input."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from casegraph.errors import InvalidInput


def json_object(argument: str, name: str) -> dict[str, Any]:
    """The JSON object that an argument gives. Raises `InvalidInput` with line and column."""
    value = json_value(argument, name)
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} must be a JSON object", "not_an_object")
    return value


def json_value(argument: str, name: str) -> Any:
    """The JSON value that an argument gives. Raises `InvalidInput` with line and column."""
    text = _text(argument, name)
    try:
        return json.loads(text)
    except json.JSONDecodeError as exc:
        raise InvalidInput(
            f"{name} is not JSON: {exc.msg} at line {exc.lineno}, column {exc.colno}", "malformed_json"
        ) from exc


def _text(argument: str, name: str) -> str:
    if argument == "-":
        return sys.stdin.read()
    if not argument.startswith("@"):
        return argument
    path = Path(argument[1:])
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidInput(
            f"{name}: {path} cannot be read ({type(exc).__name__})", "unreadable_file"
        ) from exc
