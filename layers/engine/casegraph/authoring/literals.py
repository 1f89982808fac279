"""Values of the source form as CEL: a text that starts with `=` is an expression, anything else is a literal."""

from __future__ import annotations

import json
import math
from typing import Any

INT64_MAX = 2**63 - 1


class NoLiteral(ValueError):
    """The value cannot be written in CEL; the message says why."""


def is_expression(value: Any) -> bool:
    """Whether a value of the source form is CEL."""
    return isinstance(value, str) and value.startswith("=")


def to_cel(value: Any) -> str:
    """The CEL text of a source value. Raises `NoLiteral`."""
    if isinstance(value, str):
        return value[1:].strip() if value.startswith("=") else json.dumps(value, ensure_ascii=False)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if not -INT64_MAX - 1 <= value <= INT64_MAX:
            raise NoLiteral(f"{value} is too large for a whole number; quote it if it is text")
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NoLiteral("infinity and NaN are no values")
        return repr(value)
    if isinstance(value, list):
        return "[" + ", ".join(_inner(item) for item in value) + "]"
    if isinstance(value, dict):
        pairs = (f"{json.dumps(key, ensure_ascii=False)}: {_inner(item)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    raise NoLiteral(f"{type(value).__name__} has no form in CEL")


def from_cel(source: str) -> Any:
    """The source value that gives this CEL text: a literal where `to_cel` would write it just so, else `=` and the
    text."""
    try:
        value = json.loads(source)
        if to_cel(value) == source and not is_expression(value) and not isinstance(value, dict | list):
            return value
        if value in ([], {}):
            return value
    except (ValueError, RecursionError):
        pass
    return f"={source}"


def _inner(value: Any) -> str:
    """An expression among others stands in parentheses, on lines of its own when it may hold a comment."""
    if not is_expression(value):
        return to_cel(value)
    text = to_cel(value)
    return f"({text}\n)" if "//" in text else f"({text})"
