"""Walking over a list of the API: opaque cursors, 1 to 100 entries a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from casegraph.client.transport import Json, Transport
from casegraph.limits import PAGE_MAX_ITEMS


def pages(transport: Transport, path: str, **filters: Any) -> Iterator[Json]:
    """All entries (`items`) of a list, page by page; filters that are None are left out."""
    cursor: str | None = None
    while True:
        page = transport.get(path, {"limit": PAGE_MAX_ITEMS, **filters, "cursor": cursor})
        yield from page["items"]
        cursor = page.get("next_cursor")
        if not cursor:
            return
