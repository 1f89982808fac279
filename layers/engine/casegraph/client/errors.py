"""What an answer of the API becomes: the same tree of errors as the engine's (casegraph/errors.py), by status.

`message`, `code` and `details` are the API's own (`{"error": {"code", "message", "details"}}`, architecture.md 10).
"""

from __future__ import annotations

from typing import Any

import httpx

from casegraph.errors import (
    CallerMistake,
    CasegraphError,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    Retryable,
    TooLarge,
    TooMany,
    Unauthenticated,
    UnsupportedMediaType,
)

_BY_STATUS: dict[int, type[CasegraphError]] = {
    400: InvalidInput,
    401: Unauthenticated,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    413: TooLarge,
    415: UnsupportedMediaType,
    422: InvalidInput,
    429: TooMany,
    502: Retryable,
    503: Retryable,
    504: Retryable,
}


class NoConnection(Retryable):
    """Nothing answers at the address; nothing is known of what was asked."""

    default_code = "no_connection"


class UnexpectedAnswer(CasegraphError):
    """The answer is not one of Casegraph's: another server listens there, or it failed (5xx)."""

    default_code = "unexpected_answer"


def error_of(response: httpx.Response) -> CasegraphError:
    """The typed error of an answer with status 400 or above."""
    body = _error_body(response)
    kind = _BY_STATUS.get(response.status_code)
    if kind is None:
        kind = CallerMistake if 400 <= response.status_code < 500 else UnexpectedAnswer
    if body is None:
        return kind(f"{response.request.url} answered {response.status_code} without an error of Casegraph's")
    details = body.get("details")
    error = kind(str(body.get("message", "")), str(body.get("code", kind.default_code)))
    error.details = details if isinstance(details, dict) else {}
    return error


def _error_body(response: httpx.Response) -> dict[str, Any] | None:
    try:
        body = response.json()
    except ValueError:
        return None
    error = body.get("error") if isinstance(body, dict) else None
    return error if isinstance(error, dict) else None
