"""The registry of connectors: which kind each is and where it leads; secrets by reference only (architecture.md 10)."""

from __future__ import annotations

from typing import Any

from casegraph.application.context import Ports
from casegraph.application.persistence import patiently, write
from casegraph.domain.writes import Item, Key, Put, Table
from casegraph.errors import NotFound

KINDS = ("recorder", "http")


def connector_key(connector_id: str) -> Key:
    """Catalogue row of a connector."""
    return Key(Table.CATALOG, f"CONNECTOR#{connector_id}", "CONNECTOR")


def put_connector(ports: Ports, connector_id: str, settings: dict[str, Any], by: str) -> dict[str, Any]:
    """Create or change a connector; running processes see it within seconds."""
    key = connector_key(connector_id)
    item: Item = {
        "pk": key.pk,
        "sk": key.sk,
        "connector_id": connector_id,
        "settings": settings,
        "updated_by": by,
        "updated_at": ports.clock.now(),
    }
    write(ports, Put(key, item, ()))
    return {"connector_id": connector_id, **settings}


def read_connector(ports: Ports, connector_id: str) -> dict[str, Any]:
    """A connector's settings. Raises `NotFound("connector_not_found")`."""
    row = patiently(ports, lambda: ports.store.get(connector_key(connector_id)))
    if row is None:
        raise NotFound(
            f"there is no connector {connector_id}", "connector_not_found", connector_id=connector_id
        )
    return {"connector_id": connector_id, **row["settings"]}
