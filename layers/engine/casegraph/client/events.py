"""Events: what came from outside, for one run or for whichever run waits for its key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from casegraph.client.transport import Json, Transport, segment


class Events:
    """Sending events. `event_id` is the sender's own id of the event: the same one again changes nothing."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def to_run(
        self,
        run_id: str,
        type: str,
        payload: Mapping[str, Any],
        *,
        event_id: str | None = None,
        key: str | None = None,
    ) -> Json:
        """Send an event to one run; it is stored also when nothing waits for it yet."""
        return self._send(f"/runs/{segment(run_id)}/events", type, payload, event_id, key)

    def by_key(self, type: str, key: str, payload: Mapping[str, Any], *, event_id: str | None = None) -> Json:
        """Send an event to the run that waits, or will wait, for this type and correlation key."""
        return self._send("/events", type, payload, event_id, key)

    def _send(
        self, path: str, type: str, payload: Mapping[str, Any], event_id: str | None, key: str | None
    ) -> Json:
        event_id = event_id or self._transport.new_key()
        body: Json = {"type": type, "event_id": event_id, "payload": dict(payload)}
        if key is not None:
            body["key"] = key
        return self._transport.post(path, body, idempotency_key=event_id)
