"""Regular expressions of JSON Schemas, on RE2: linear in the text, so that none can keep a function busy.

What RE2 has not (lookaround, back references) is refused when a version is published.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

from casegraph.limits import PATTERN_MAX_BYTES, PATTERN_MAX_LENGTH


def fault(pattern: str) -> str | None:
    """Why a pattern may not stand in a schema; None when it may."""
    if len(pattern) > PATTERN_MAX_LENGTH:
        return f"longer than {PATTERN_MAX_LENGTH} characters"
    try:
        _compiled(pattern)
    except re2.error as exc:
        why = exc.args[0] if exc.args else "it cannot be read"
        return why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
    return None


def found(pattern: str, text: str) -> bool:
    """Whether the pattern is found in the text. False for a pattern that has a `fault`."""
    try:
        return _compiled(pattern).search(text.encode("utf-8", "replace")) is not None
    except re2.error:
        return False


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    options = re2.Options()
    options.max_mem = PATTERN_MAX_BYTES
    options.log_errors = False
    return re2.compile(pattern.encode("utf-8", "replace"), options)
