"""Records of idempotency keys for operations whose rows cannot carry the key themselves (protocol.md 1)."""

from __future__ import annotations

from typing import Any

from casegraph.application.context import Ports
from casegraph.application.persistence import patiently
from casegraph.domain import rules
from casegraph.domain.canonical import digest
from casegraph.domain.writes import Item, Key, Put, Table
from casegraph.errors import Conflict
from casegraph.limits import IDEMPOTENCY_MILLISECONDS


def record_key(operation: str, caller: str, idempotency_key: str) -> Key:
    """Where the record of a caller's key is kept: in the Catalog, whose rows may expire."""
    name = digest([operation, caller, idempotency_key]).removeprefix("sha256:")
    return Key(Table.CATALOG, f"IDEMPOTENCY#{name}", "RECORD")


def read_record(ports: Ports, key: Key, fingerprint: str) -> Item | None:
    """The record of an earlier request under this key, or None.

    Raises `Conflict("idempotency_key_reused")` when that request had another content (S23).
    """
    record = patiently(ports, lambda: ports.store.get(key))
    if record is not None:
        check_same(record["fingerprint"], fingerprint)
    return record


def check_same(stored: str, fingerprint: str) -> None:
    """Raise when a key, or an id, that was used before comes again with another content."""
    if stored != fingerprint:
        raise Conflict(
            "this Idempotency-Key was used before for a request with another content",
            "idempotency_key_reused",
            hint="send the new request under an Idempotency-Key of its own",
        )


def record_put(ports: Ports, key: Key, fingerprint: str, **answer: Any) -> Put:
    """The write that goes with the operation's own; kept for 24 h."""
    item: Item = {
        "pk": key.pk,
        "sk": key.sk,
        "fingerprint": fingerprint,
        "expires_at": (ports.clock.now() + IDEMPOTENCY_MILLISECONDS) // 1000,
        **answer,
    }
    return Put(key, item, (rules.NEW_ITEM,))
