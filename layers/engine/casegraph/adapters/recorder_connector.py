"""The connector `recorder`, for local use: it writes what it was given into a ledger instead of sending it anywhere.

One row for each operation key, as a receiver that deduplicates would keep; `calls` counts how often it was asked,
`payload` is JSON text.
"""

from __future__ import annotations

from casegraph.application.ports import (
    Applied,
    Clock,
    EffectRequest,
    ItemStore,
    NotFoundThere,
    Outcome,
    Rejected,
    Unknown,
)
from casegraph.domain import rules
from casegraph.domain.canonical import canonical_bytes
from casegraph.domain.writes import Item, Key, Put, Table, Update
from casegraph.errors import ConditionsFailed, Retryable


def ledger_pk(connector_id: str) -> str:
    """Partition of a recorder's ledger in the Catalog table."""
    return f"RECORDER#{connector_id}"


class RecorderConnector:
    """The `Connector` port over a ledger of rows."""

    visibility_seconds = 0

    def __init__(self, store: ItemStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def deliver(self, request: EffectRequest) -> Outcome:
        """Write the operation down once; asked again under the same key, count it and answer as before."""
        key = self._key(request)
        item: Item = {
            "pk": key.pk,
            "sk": key.sk,
            "effect_id": request.effect_id,
            "operation": request.operation,
            "payload": canonical_bytes(request.payload).decode(),
            "recorded_at": self._clock.now(),
            "calls": 1,
        }
        try:
            self._store.write(Put(key, item, (rules.NEW_ITEM,)))
        except ConditionsFailed:
            return self._again(key, request)
        except Retryable as failure:
            return Unknown(failure.code)
        return _receipt(request)

    def _again(self, key: Key, request: EffectRequest) -> Outcome:
        try:
            self._store.write(Update(key, (rules.ITEM_EXISTS,), add={("calls",): 1}))
        except Retryable as failure:
            return Unknown(failure.code)
        return _receipt(request)

    def look_up(self, request: EffectRequest) -> Applied | Rejected | NotFoundThere | Unknown:
        """Whether the operation stands in the ledger."""
        try:
            found = self._store.get(self._key(request))
        except Retryable as failure:
            return Unknown(failure.code)
        return NotFoundThere() if found is None else _receipt(request)

    def _key(self, request: EffectRequest) -> Key:
        return Key(Table.CATALOG, ledger_pk(request.connector_id), request.operation_key)


def _receipt(request: EffectRequest) -> Applied:
    return Applied({"receipt": request.operation_key})
