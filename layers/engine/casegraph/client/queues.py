"""Queues: what they merge, where they route, which workflow is pinned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from casegraph.client.transport import Json, Transport, segment


class Queues:
    """Queues and their pins."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self, queue_id: str) -> Json:
        """The queue with its pins."""
        return self._transport.get(f"/queues/{segment(queue_id)}")

    def put(self, queue_id: str, settings: Mapping[str, Any]) -> Json:
        """Create or change: `{"name", "merge": "none" | "subject", ...}`."""
        return self._transport.put(f"/queues/{segment(queue_id)}", dict(settings))

    def pin(self, queue_id: str, workflow_key: str, version: int) -> Json:
        """Let reports of this queue start runs of this version (its primary pin)."""
        body = {"workflow_key": workflow_key, "version": version}
        return self._transport.post(
            f"/queues/{segment(queue_id)}/pins", body, idempotency_key=self._transport.new_key()
        )

    def unpin(self, queue_id: str) -> Json:
        """Reports of this queue start nothing any more."""
        return self._transport.delete(f"/queues/{segment(queue_id)}/pins")
