"""Opaque cursors of lists: where the next page starts, bound to the list and its filters (architecture.md 10)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from casegraph.domain.canonical import digest
from casegraph.errors import InvalidInput

_MAX_CHARACTERS = 2_048
# What a key of the store may be: a position outside of it is none that a list gave out.
_MAX_KEY_BYTES = 1_024
_MAX_NUMBER = 1 << 53


def encode(listing: str, filters: Mapping[str, Any], position: list[str | int] | None) -> str | None:
    """The cursor of a position in a list; None at its end."""
    if position is None:
        return None
    body = json.dumps([_bound_to(listing, filters), *position], separators=(",", ":"))
    return base64.urlsafe_b64encode(body.encode()).decode().rstrip("=")


def decode(
    listing: str, filters: Mapping[str, Any], cursor: str | None, *kinds: type, prefixes: tuple[str, ...] = ()
) -> tuple[Any, ...] | None:
    """The position of a cursor, its parts of these types; None for the first page.

    prefixes: with what each text of the position begins, by part (`""`: anything): a list goes on inside its own rows.

    Raises `InvalidInput("bad_cursor")` for anything that this very list, with these filters, did not give out.
    """
    if cursor is None:
        return None
    parts = _parts(cursor)
    fits = parts is not None and len(parts) == len(kinds) + 1 and parts[0] == _bound_to(listing, filters)
    if (
        parts is None
        or not fits
        or not all(_plausible(part, kind) for part, kind in zip(parts[1:], kinds, strict=True))
        or not all(part.startswith(start) for part, start in zip(parts[1:], prefixes, strict=False) if start)
    ):
        raise InvalidInput(
            "the cursor is not one that this list gave out for these filters; start again without a cursor",
            "bad_cursor",
            field="cursor",
        )
    return tuple(parts[1:])


def _plausible(part: Any, kind: type) -> bool:
    if type(part) is not kind:
        return False
    if isinstance(part, str):
        return 0 < len(part.encode("utf-8", "surrogatepass")) <= _MAX_KEY_BYTES and _is_text(part)
    return isinstance(part, int) and 0 <= part <= _MAX_NUMBER


def _is_text(part: str) -> bool:
    try:
        part.encode()
    except UnicodeEncodeError:
        return False
    return True


def _bound_to(listing: str, filters: Mapping[str, Any]) -> str:
    given = {name: value for name, value in filters.items() if value is not None}
    return digest([listing, given]).removeprefix("sha256:")[:12]


def _parts(cursor: str) -> list[Any] | None:
    if len(cursor) > _MAX_CHARACTERS:
        return None
    try:
        padded = cursor.encode("ascii") + b"=" * (-len(cursor) % 4)
        parts = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError):
        return None
    return parts if isinstance(parts, list) else None
