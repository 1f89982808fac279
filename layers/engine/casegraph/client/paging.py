"""Walking over a list of the API: opaque cursors, 1 to 100 entries a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from casegraph.client.transport import Json, Transport
from casegraph.limits import PAGE_MAX_ITEMS


def pages(transport: Transport, path: str, **filters: Any) -> Iterator[Json]:
    """All entries (`items`) of a list, page by page; filters that are None are left out."""
    for page in whole_pages(transport, path, **filters):
        yield from page["items"]


def whole_pages(transport: Transport, path: str, **filters: Any) -> Iterator[Json]:
    """The pages of a list, for lists that say more than their entries."""
    cursor: str | None = None
    while True:
        page = transport.get(path, {"limit": PAGE_MAX_ITEMS, **filters, "cursor": cursor})
        yield page
        cursor = page.get("next_cursor")
        if not cursor:
            return
