"""Reading heads: strongly, with the row of latest outputs where it stands apart."""

from __future__ import annotations

from dataclasses import replace

from casegraph.application.context import Ports
from casegraph.application.persistence import patiently
from casegraph.domain.head import LATEST_SK, Head, from_item, head_key, row_key
from casegraph.domain.writes import Item
from casegraph.errors import NotFound


def read_head(ports: Ports, run_id: str) -> Head:
    """The head as it is now. Raises `NotFound("run_not_found")`."""
    item = patiently(ports, lambda: ports.store.get(head_key(run_id)))
    if item is None:
        raise NotFound(f"there is no run {run_id}", "run_not_found", run_id=run_id)
    return head_of(ports, item)


def head_of(ports: Ports, item: Item) -> Head:
    """A head from its row, completed with the row of latest outputs when that stands apart."""
    head = from_item(item)
    if not head.latest_elsewhere:
        return head
    key = row_key(head.run_id, LATEST_SK)
    latest = patiently(ports, lambda: ports.store.get(key))
    return replace(head, latest=(latest or {}).get("latest", {}))
