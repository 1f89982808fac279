"""Who is calling: claims of the sign-in token, parsed exactly and in this one place (architecture.md 10, S42).

API Gateway hands an array claim over as one string, `[a b]`. It is taken apart into whole words and compared as whole
words; a claim that is not exactly of a known form grants nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from casegraph.errors import Unauthenticated

ROLES = frozenset({"viewer", "reviewer", "approver", "operator", "publisher", "auditor", "admin"})
ALL_QUEUES = "*"

_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/-]{0,127}", re.ASCII)
_SUBJECT_MAX_CHARACTERS = 256


@dataclass(frozen=True, slots=True)
class Principal:
    """A caller. queues: the ids it may see, or `{"*"}` for all of them."""

    subject: str
    roles: frozenset[str]
    queues: frozenset[str]

    def sees(self, queue_id: str | None) -> bool:
        """Whether things in this queue exist for the caller; what is in no queue is seen by role alone."""
        return queue_id is None or ALL_QUEUES in self.queues or queue_id in self.queues


def principal_of(event: Mapping[str, Any], roles_claim: str, queues_claim: str) -> Principal:
    """The caller of an API Gateway event (HTTP API, payload 2.0, JWT authorizer).

    Raises `Unauthenticated` when no authorizer has let anybody in, or its token names no subject.
    """
    claims = _claims(event)
    subject = claims.get("sub")
    if (
        not isinstance(subject, str)
        or not 0 < len(subject) <= _SUBJECT_MAX_CHARACTERS
        or not subject.isprintable()
    ):
        raise Unauthenticated("the token names nobody (claim sub); sign in again")
    roles = words(claims.get(roles_claim)) or frozenset()
    return Principal(subject, roles & ROLES, _queues(claims.get(queues_claim)))


def _claims(event: Mapping[str, Any]) -> Mapping[str, Any]:
    node: Any = event
    for name in ("requestContext", "authorizer", "jwt", "claims"):
        node = node.get(name) if isinstance(node, Mapping) else None
    if not isinstance(node, Mapping):
        raise Unauthenticated("no sign-in token was accepted; send Authorization: Bearer <token>")
    return node


def _queues(claim: Any) -> frozenset[str]:
    if claim in (ALL_QUEUES, f"[{ALL_QUEUES}]", [ALL_QUEUES]):
        return frozenset({ALL_QUEUES})
    return words(claim) or frozenset()


def words(claim: Any) -> frozenset[str] | None:
    """The words of a list claim: a list, `[a b]`, or one plain word; None when it is none of these."""
    if isinstance(claim, list):
        found = claim
    elif isinstance(claim, str) and claim.startswith("[") and claim.endswith("]"):
        found = claim[1:-1].split(" ") if len(claim) > 2 else []
    elif isinstance(claim, str):
        found = [claim]
    else:
        return None
    if all(isinstance(word, str) and _WORD.fullmatch(word) for word in found):
        return frozenset(found)
    return None
