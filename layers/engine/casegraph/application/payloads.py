"""Payloads over the inline bound: kept by digest beside the run, written before the commit (protocol.md 1).

A field `x` of a row is stored inline as `x`, its canonical JSON text, or, over 4 KB, as `x_elsewhere: true`; `x_digest`
stands there always. As text a payload keeps what DynamoDB's own types would change or refuse: numbers over 38 digits,
the difference of 1e20 and its digits, empty names, depth.
"""

from __future__ import annotations

import json
from typing import Any

from casegraph.application.context import Ports
from casegraph.application.persistence import patiently
from casegraph.domain.canonical import canonical_bytes, digest_of_bytes
from casegraph.domain.writes import Item
from casegraph.errors import NeedsOperator, TooLarge
from casegraph.limits import BODY_MAX_BYTES, PAYLOAD_INLINE_MAX_BYTES


def blob_name(run_id: str, payload_digest: str) -> str:
    """Where a payload of a run over the inline bound is kept; removed with its run."""
    return f"runs/{run_id}/{payload_digest.removeprefix('sha256:')}"


def stored(ports: Ports, run_id: str, name: str, value: Any) -> Item:
    """The attributes that hold `value` under `name`; a large one is put into the blob store first.

    Raises `TooLarge` over the hard bound.
    """
    body = canonical_bytes(value)
    if len(body) > BODY_MAX_BYTES:
        raise TooLarge(
            f"{name} has {len(body)} bytes; at most {BODY_MAX_BYTES}", "payload_too_large", field=name
        )
    value_digest = digest_of_bytes(body)
    if len(body) <= PAYLOAD_INLINE_MAX_BYTES:
        return {name: body.decode(), f"{name}_digest": value_digest}
    put(ports, run_id, value_digest, body)
    return {f"{name}_digest": value_digest, f"{name}_elsewhere": True}


def put(ports: Ports, run_id: str, payload_digest: str, body: bytes) -> None:
    """Keep a payload beside its run."""
    patiently(ports, lambda: ports.blobs.put(blob_name(run_id, payload_digest), body))


def read(ports: Ports, run_id: str, payload_digest: str) -> Any:
    """A payload, checked against its digest. Raises `NeedsOperator("payload_missing")`."""
    body = patiently(ports, lambda: ports.blobs.get(blob_name(run_id, payload_digest)))
    if body is None:
        raise NeedsOperator(f"payload {payload_digest} of {run_id} is missing", "payload_missing")
    if digest_of_bytes(body) != payload_digest:
        raise NeedsOperator(f"payload {payload_digest} of {run_id} was changed", "payload_missing")
    return json.loads(body)


def field(ports: Ports, row: Item, name: str) -> Any:
    """The value of a field that `stored` made, wherever it is; None when the row has none."""
    if row.get(f"{name}_elsewhere"):
        return read(ports, row["run_id"], row[f"{name}_digest"])
    return json.loads(row[name]) if name in row else None
