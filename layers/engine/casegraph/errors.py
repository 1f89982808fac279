"""Errors as a tree by what must happen next; codes are short identifiers, texts say where and what to do.

CasegraphError
  CallerMistake     the caller changes the request (4xx)
  Conflict          the caller reloads and decides again (409)
  Retryable         the same call again, with jitter (503 when it does not end)
  NodeFailed        the node takes its error port, or its token stands in attention
  NeedsOperator     a person must look
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class CasegraphError(Exception):
    """The root. `details` holds identifiers, allowed values and hints, never payloads."""

    status = 500
    default_code = "internal"

    def __init__(self, message: str, code: str | None = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.details = details


class CallerMistake(CasegraphError):
    """The request is wrong as it is; nothing was stored."""

    status = 400
    default_code = "invalid_request"


class InvalidInput(CallerMistake):
    """A field, body or parameter is not what it must be; `details["problems"]` may list them with their places."""


class Unauthenticated(CallerMistake):
    """Nobody said who is calling, or not believably."""

    status = 401
    default_code = "unauthenticated"


class Forbidden(CallerMistake):
    """The caller is known and may not."""

    status = 403
    default_code = "forbidden"


class NotFound(CallerMistake):
    """There is no such thing, or the caller may not know of it."""

    status = 404
    default_code = "not_found"


class TooLarge(CallerMistake):
    """A body or payload is over its bound."""

    status = 413
    default_code = "too_large"


class UnsupportedMediaType(CallerMistake):
    """The body is not JSON."""

    status = 415
    default_code = "unsupported_media_type"


class TooMany(CallerMistake):
    """A bound on how many is reached (`inbox_full`, rates); later it may fit."""

    status = 429
    default_code = "too_many"


class Conflict(CasegraphError):
    """Someone else was first, or the state does not allow it; `details` name the winner and both states."""

    status = 409
    default_code = "conflict"


class Retryable(CasegraphError):
    """Try the same again with jitter; never to be read as busy or as nothing to do."""

    status = 503
    default_code = "try_again"


class Throttled(Retryable):
    """The store or queue asks for a slower pace; nothing was written."""

    default_code = "throttled"


class TransactionConflict(Retryable):
    """Another write was under way on one of the items; nothing was written."""

    default_code = "transaction_conflict"


class TransientFailure(Retryable):
    """A read failed on the way; it may be repeated as it is."""

    default_code = "transient_failure"


class OutcomeUnknown(Retryable):
    """A write's reply was lost or was a 5xx: it may have happened. Read back, or resend the identical body."""

    default_code = "outcome_unknown"


class StoreRefused(CasegraphError):
    """The store does not take this call as such, whatever its items hold: a bug of ours; nothing was written."""

    default_code = "store_refused"


class TokenReused(StoreRefused):
    """Another transaction was sent under a token that is still valid; a changed body takes a new token."""

    default_code = "token_reused"


class ItemTooLarge(StoreRefused):
    """An item or transaction is over what DynamoDB takes: a bug of ours, since bounds are checked before."""

    default_code = "item_too_large"


@dataclass(frozen=True, slots=True)
class ItemFailure:
    """Why one write of a call failed: the names of its rules that do not hold for the old item."""

    index: int
    rules: tuple[str, ...]
    old_item: dict[str, Any] | None


class ConditionsFailed(CasegraphError):
    """Some write's rules did not hold, so nothing was written; only the use case knows what that means."""

    default_code = "conditions_failed"

    def __init__(self, failures: Sequence[ItemFailure]) -> None:
        super().__init__("; ".join(f"write {f.index}: {', '.join(f.rules)}" for f in failures))
        self.failures = tuple(failures)

    def of(self, index: int) -> ItemFailure | None:
        """The failure of the write at `index`, or None when that one's rules held (or were not looked at)."""
        return next((f for f in self.failures if f.index == index), None)


class NodeFailed(CasegraphError):
    """A node failed with a short code; `retryable` lets its retry policy try again."""

    default_code = "node_failed"

    def __init__(self, code: str, message: str = "", *, retryable: bool = False, **details: Any) -> None:
        super().__init__(message or code, code, **details)
        self.retryable = retryable


class NeedsOperator(CasegraphError):
    """The run cannot go on by itself; `code` is its attention code."""

    default_code = "attention"
