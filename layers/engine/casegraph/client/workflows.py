"""Workflows: validate, publish, list versions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from casegraph.client.paging import pages
from casegraph.client.transport import Json, Transport, segment


class Workflows:
    """Versions of workflows. A bundle is `{graph, forms, schemas, messages, ...}` (docs/reference/graph.md)."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def validate(self, bundle: Mapping[str, Any]) -> Json:
        """`{"valid": bool, "problems": [...]}`; nothing is stored."""
        return self._transport.post("/workflows/validate", bundle, safe=True)

    def publish(self, key: str, bundle: Mapping[str, Any], *, idempotency_key: str | None = None) -> Json:
        """Publish a version: `{"key", "version", "digest", "replayed"}`; the same bundle again is the same version.

        Raises `InvalidInput` with every problem in `details["problems"]`."""
        key_of_request = idempotency_key or self._transport.new_key()
        return self._transport.post(
            f"/workflows/{segment(key)}/versions", bundle, idempotency_key=key_of_request
        )

    def versions(self, key: str) -> Iterator[Json]:
        """The published versions, the newest first."""
        return pages(self._transport, f"/workflows/{segment(key)}/versions")

    def version(self, key: str, version: int) -> Json:
        """One version with its bundle."""
        return self._transport.get(f"/workflows/{segment(key)}/versions/{version}")
