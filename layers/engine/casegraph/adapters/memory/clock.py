"""A clock that stands until it is moved, and ids that a seed decides."""

from __future__ import annotations

import random  # noqa: TID251 -- seeded: the same seed gives the same ids


class ManualClock:
    """The `Clock` port for tests and simulations: `sleep` moves it at once. Instants are epoch milliseconds."""

    def __init__(self, now: int = 0) -> None:
        self._now = now

    def now(self) -> int:
        """Epoch milliseconds."""
        return self._now

    def sleep(self, milliseconds: int) -> None:
        """Nobody waits: the time has passed."""
        self._now += milliseconds

    def advance(self, milliseconds: int) -> None:
        """Let time pass."""
        self._now += milliseconds

    def set(self, now: int) -> None:
        """Jump to an instant."""
        self._now = now


class SeededIds:
    """The `Ids` port from a seed: the same seed and calls give the same answers."""

    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)

    def new(self) -> str:
        """An id of 32 hex characters."""
        return f"{self._random.getrandbits(128):032x}"

    def jitter(self, low: int, high: int) -> int:
        """A uniform integer, low <= n <= high."""
        return self._random.randint(low, high)
