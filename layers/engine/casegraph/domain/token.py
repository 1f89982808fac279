"""Tokens: the active points of a run's frontier, each about 24 bytes in the head (protocol.md 1)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class TokenStatus(StrEnum):
    """What a token is doing."""

    READY = "r"  # to be entered
    WAITING = "w"  # on a person, an event, an instant, an effect or a child
    BACKOFF = "b"  # to be entered again at its deadline
    ARRIVED = "a"  # at a join, counted there
    ATTENTION = "x"  # needs an operator


# Allowed sources of each status; checked when a draft changes a token (architecture.md, habits 2).
TOKEN_SOURCES: dict[TokenStatus, frozenset[TokenStatus]] = {
    TokenStatus.READY: frozenset({TokenStatus.BACKOFF, TokenStatus.ATTENTION}),
    TokenStatus.WAITING: frozenset({TokenStatus.READY, TokenStatus.BACKOFF}),
    TokenStatus.BACKOFF: frozenset({TokenStatus.READY, TokenStatus.BACKOFF}),
    TokenStatus.ARRIVED: frozenset({TokenStatus.READY}),
    TokenStatus.ATTENTION: frozenset(
        {TokenStatus.READY, TokenStatus.WAITING, TokenStatus.BACKOFF, TokenStatus.ARRIVED}
    ),
}


@dataclass(frozen=True, slots=True)
class Token:
    """One token. `deadline_at` is in epoch milliseconds: the timeout of a wait, or the end of a backoff.

    attempt: calls made so far by this step; match: hash of the correlation key that a wait listens to;
    code: why it stands in attention.
    """

    status: TokenStatus
    deadline_at: int | None = None
    attempt: int = 0
    match: str = ""
    code: str = ""


def encode(token: Token, base_at: int) -> str:
    """The stored form: `status[:deadline[:attempt[:match[:code]]]]`, deadline in base 36 ms after `base_at`."""
    deadline = "" if token.deadline_at is None else _base36(token.deadline_at - base_at)
    fields = [token.status.value, deadline, str(token.attempt or ""), token.match, token.code]
    while not fields[-1]:
        fields.pop()
    return ":".join(fields)


def decode(text: str, base_at: int) -> Token:
    """The inverse of `encode`."""
    status, deadline, attempt, match, code = [*text.split(":"), "", "", "", ""][:5]
    return Token(
        TokenStatus(status),
        base_at + int(deadline, 36) if deadline else None,
        int(attempt or 0),
        match,
        code,
    )


def _base36(number: int) -> str:
    if number < 0:
        return "-" + _base36(-number)
    digits = ""
    while True:
        number, digit = divmod(number, 36)
        digits = _DIGITS[digit] + digits
        if not number:
            return digits
