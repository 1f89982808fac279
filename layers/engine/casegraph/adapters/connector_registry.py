"""Connectors by id: their settings stand in the Catalog, each kind is made by one line of a table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from casegraph.adapters.recorder_connector import RecorderConnector
from casegraph.application.connectors import connector_key
from casegraph.application.ports import Clock, Connector, ItemStore
from casegraph.errors import NodeFailed

# protocol.md 4: what an operator changes about a connector is seen after this.
_CACHED_MILLISECONDS = 5_000

Settings = Mapping[str, Any]


class ConnectorRegistry:
    """The `Connectors` port over the Catalog.

    allowed_hosts: hosts that HTTP connectors may call although they are not public. fallback: the settings of a
    connector that nobody has put (the local run records what it would send); None: such a connector is unknown.
    """

    def __init__(
        self,
        store: ItemStore,
        clock: Clock,
        *,
        allowed_hosts: Iterable[str] = (),
        fallback: Settings | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._allowed_hosts = frozenset(allowed_hosts)
        self._fallback = fallback
        self._kinds: dict[str, Callable[[Settings], Connector]] = {
            "recorder": lambda settings: RecorderConnector(store, clock),
            "http": self._http,
        }
        self._made: dict[str, tuple[Settings, Connector]] = {}
        self._read_at: dict[str, int] = {}

    def get(self, connector_id: str) -> Connector:
        """The connector. Raises `NodeFailed("connector_unknown")`, and the store's errors."""
        now = self._clock.now()
        made = self._made.get(connector_id)
        if made is not None and now - self._read_at[connector_id] < _CACHED_MILLISECONDS:
            return made[1]
        settings = self._settings(connector_id)
        if made is None or made[0] != settings:
            made = (settings, self._kinds[settings["kind"]](settings))
        self._made[connector_id], self._read_at[connector_id] = made, now
        return made[1]

    def _settings(self, connector_id: str) -> Settings:
        row = self._store.get(connector_key(connector_id))
        settings: Settings | None = self._fallback if row is None else row["settings"]
        if settings is None or settings["kind"] not in self._kinds:
            raise NodeFailed("connector_unknown", f"there is no connector {connector_id}")
        return settings

    def _http(self, settings: Settings) -> Connector:
        # Imported here: most functions, and most deployments, send nothing over HTTP.
        from casegraph.adapters.http_connector import HttpConnector

        return HttpConnector(
            settings["url"],
            allowed_hosts=self._allowed_hosts,
            visibility_seconds=settings.get("visibility_seconds", 60),
        )
