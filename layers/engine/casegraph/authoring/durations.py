"""Durations as people write them: `7d`, `24h`, `90s`, `1h30m`."""

from __future__ import annotations

import re
from fractions import Fraction

_SECONDS: dict[str, int | Fraction] = {
    "w": 604_800,
    "d": 86_400,
    "h": 3_600,
    "m": 60,
    "s": 1,
    "ms": Fraction(1, 1000),
}
_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|[wdhms])")


def seconds_of(text: str) -> int | float | None:
    """The seconds of a duration; None when it is none."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    total = sum((Fraction(number) * _SECONDS[unit] for number, unit in parts), Fraction(0))
    return int(total) if total.denominator == 1 else float(total)


def written(seconds: float) -> str:
    """The shortest way to write so many seconds: one unit, the largest that gives a whole number."""
    exact = Fraction(seconds).limit_denominator(1_000_000)
    for unit in ("d", "h", "m", "s", "ms"):
        amount = exact / _SECONDS[unit]
        if amount.denominator == 1 and amount != 0:
            return f"{amount}{unit}"
    return f"{seconds!r}s" if seconds_of(f"{seconds!r}s") == seconds else f"{float(exact):f}s"
