"""Instants: epoch milliseconds inside, RFC 3339 at the edges."""

from __future__ import annotations

from datetime import UTC, datetime

# The last instant that RFC 3339 can write: its years have four digits.
_LAST = 253_402_300_799_999


def rfc3339(instant: int) -> str:
    """An epoch-milliseconds instant as RFC 3339 in UTC."""
    return (
        datetime.fromtimestamp(instant / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


def parse_instant(value: object) -> int | None:
    """Epoch milliseconds of an RFC 3339 text with an offset; None when it is none, or no instant in UTC."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    instant = round(moment.timestamp() * 1000)
    return instant if instant <= _LAST else None
