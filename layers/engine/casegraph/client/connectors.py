"""Connectors: where messages go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from casegraph.client.transport import Json, Transport, segment


class Connectors:
    """The registry of connectors."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def get(self, connector_id: str) -> Json:
        """One connector's settings; secrets are named, never shown."""
        return self._transport.get(f"/connectors/{segment(connector_id)}")

    def put(self, connector_id: str, settings: Mapping[str, Any]) -> Json:
        """Create or change: `{"kind": "recorder"}`, `{"kind": "http", "url": ...}`."""
        return self._transport.put(f"/connectors/{segment(connector_id)}", dict(settings))
