"""The numbers of protocol.md: the other tests take them from limits.py, this one says what they are."""

from __future__ import annotations

import pytest

from casegraph import limits

MINUTE = 60_000
NUMBERS = {
    "CLOCK_SKEW_MILLISECONDS": 2_000,
    "PAYLOAD_INLINE_MAX_BYTES": 4_096,
    "LATEST_INLINE_MAX_BYTES": 2_048,
    "IDEMPOTENCY_MILLISECONDS": 24 * 60 * MINUTE,
    "MAX_PENDING_EVENTS": 32,
    "RETRY_JITTER_MILLISECONDS": (20, 400),
    "PENALTY_STEP_MILLISECONDS": 2 * MINUTE,
    "MAX_CLAIM_ATTEMPTS": 8,
    "MAX_IDLE_COMMITS": 3,
    "COMMIT_MAX_ITEMS": 90,
    "COMMIT_MAX_BYTES": 3 * 1_048_576,
    "STORE_TOKEN_VALID_MILLISECONDS": 10 * MINUTE,
    "INDEX_SHARDS": 64,
    "JOB_HOLD_MILLISECONDS": 2 * MINUTE,
    "JOB_MAX_DELAY_MILLISECONDS": 15 * MINUTE,
    "SWEEP_OVERDUE_MILLISECONDS": MINUTE,
    "PAUSED_RECHECK_MILLISECONDS": MINUTE,
    "MAX_EFFECT_ATTEMPTS": 8,
    "EFFECT_BACKOFF_MILLISECONDS": (5_000, 15 * MINUTE),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_of_the_protocol_is_the_one_in_limits(name: str) -> None:
    assert getattr(limits, name) == NUMBERS[name]
