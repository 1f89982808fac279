"""The real clock and the real randomness: the only module that may read them."""

from __future__ import annotations

import secrets
import time
import uuid


class SystemClock:
    """The `Clock` port on this machine's clock."""

    def now(self) -> int:
        """Epoch milliseconds."""
        return time.time_ns() // 1_000_000

    def sleep(self, milliseconds: int) -> None:
        """Wait for real."""
        time.sleep(milliseconds / 1000)


class RandomIds:
    """The `Ids` port on the operating system's randomness."""

    def new(self) -> str:
        """A fresh id of 32 hex characters."""
        return uuid.uuid4().hex

    def jitter(self, low: int, high: int) -> int:
        """A uniform integer, low <= n <= high."""
        return low + secrets.randbelow(high - low + 1)
