"""Virtual time and seeded identities: the test world's only clock and only randomness."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")


def milliseconds(duration: str | int | float | timedelta) -> int:
    """A duration in milliseconds: `"3d"`, `"1h30m"`, `"500ms"`, seconds as a number, or a timedelta."""
    if isinstance(duration, timedelta):
        return round(duration.total_seconds() * 1000)
    if isinstance(duration, int | float):
        return round(duration * 1000)
    parts = _PART.findall(duration)
    if not parts or "".join(number + unit for number, unit in parts) != duration:
        raise ValueError(f"a duration is written like 3d, 1h30m or 500ms, not {duration!r}")
    return round(sum(float(number) * _UNITS[unit] for number, unit in parts))


def epoch_milliseconds(instant: str) -> int:
    """An RFC 3339 instant as epoch milliseconds."""
    parsed = datetime.fromisoformat(instant.replace("Z", "+00:00"))
    if parsed.tzinfo is None:
        raise ValueError(f"{instant!r} names no zone; write it with Z")
    return round(parsed.astimezone(UTC).timestamp() * 1000)


@dataclass
class VirtualTime:
    """The true instant of a test world (epoch ms); it only goes forward, and only when it is told to."""

    at: int

    def to(self, instant: int) -> None:
        """Go forward to an instant; an earlier one changes nothing."""
        self.at = max(self.at, instant)


class SkewedClock:
    """One worker's clock: the true time and a constant error. Its sleep is the scheduler's to carry out."""

    def __init__(self, time: VirtualTime, skew: int = 0, sleep: Callable[[int], None] | None = None) -> None:
        self._time = time
        self._skew = skew
        self._sleep = sleep or (lambda span: time.to(time.at + span))

    def now(self) -> int:
        """Epoch milliseconds, as this worker believes."""
        return self._time.at + self._skew

    def sleep(self, milliseconds: int) -> None:
        """Let so much virtual time pass."""
        self._sleep(milliseconds)


@dataclass(frozen=True)
class Invocation:
    """The deadline of one invocation, on true time (the platform's, not the worker's clock)."""

    time: VirtualTime
    ends_at: int

    def remaining_milliseconds(self) -> int:
        """Milliseconds until the platform would stop this invocation; negative once it should have."""
        return self.ends_at - self.time.at
