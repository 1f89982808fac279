"""Reports: take in, look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from casegraph.client.paging import pages
from casegraph.client.transport import Json, Transport, segment


class Reports:
    """Reports about subjects."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def send(self, report: Mapping[str, Any], *, idempotency_key: str | None = None) -> Json:
        """Take in a report: `{"report_id", "run_id", "merged"}`; the same key again gives the same answer."""
        return self._transport.post(
            "/reports", dict(report), idempotency_key=idempotency_key or self._transport.new_key()
        )

    def get(self, report_id: str) -> Json:
        """One report."""
        return self._transport.get(f"/reports/{segment(report_id)}")

    def list(self, queue_id: str) -> Iterator[Json]:
        """Reports of a queue, the newest first."""
        return pages(self._transport, "/reports", queue_id=queue_id)
