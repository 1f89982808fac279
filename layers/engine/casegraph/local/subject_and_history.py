"""The example component `subject-and-history`: what is known of a reported subject.

It stands in for a platform's own lookup and is deterministic: the same subject always has the same account and history,
derived from its did, so that demos and tests can be repeated. No real account is behind it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from casegraph.application.ports import ComponentAnswer, ComponentRequest
from casegraph.errors import NodeFailed

DEFAULT_LIMIT = 20
_VERDICTS = ("none", "label", "none", "remove")

OUTPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["account", "history", "kind"],
    "properties": {
        "kind": {"type": "string", "enum": ["account", "record"]},
        "account": {
            "type": "object",
            "required": ["did", "age_days", "followers"],
            "properties": {
                "did": {"type": "string"},
                "age_days": {"type": "integer"},
                "followers": {"type": "integer"},
            },
        },
        "history": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["days_ago", "decision"],
                "properties": {"days_ago": {"type": "integer"}, "decision": {"type": "string"}},
            },
        },
    },
}


def subject_and_history(request: ComponentRequest) -> ComponentAnswer:
    """`{subject, limit?}` -> `{kind, account, history}`; subject is `{did}` or `{uri, cid}` (createReport's shape).

    Raises `NodeFailed("subject_unreadable")`, which is not retryable."""
    subject = request.input.get("subject")
    if not isinstance(subject, Mapping):
        raise NodeFailed("subject_unreadable")
    did = _did(subject)
    limit = request.input.get("limit", DEFAULT_LIMIT)
    number = int.from_bytes(hashlib.sha256(did.encode()).digest()[:8])
    entries = [
        {"days_ago": 7 + 30 * index, "decision": _VERDICTS[(number + index) % len(_VERDICTS)]}
        for index in range(number % 4)
    ]
    account = {"did": did, "age_days": 30 + number % 2_000, "followers": number % 500}
    kind = "record" if "uri" in subject else "account"
    return ComponentAnswer({"kind": kind, "account": account, "history": entries[: int(limit)]})


def _did(subject: Mapping[str, Any]) -> str:
    """The account of a subject: its did, or the authority of its record's address (`at://<did>/...`)."""
    did = subject.get("did")
    if isinstance(did, str) and did:
        return did
    uri = subject.get("uri")
    if isinstance(uri, str) and uri.startswith("at://"):
        return uri.removeprefix("at://").partition("/")[0]
    raise NodeFailed("subject_unreadable")
