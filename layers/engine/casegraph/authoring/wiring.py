"""`next` to edges: a name, a map by port, `"*"`, or nothing (the next node in the file).

A name, and nothing, stand for the ordinary ports: what went wrong (`EXCEPTIONAL_PORTS`) is led on only where the file
says so, and `error` also by `defaults.on_error`. A map that names only such ports leaves the ordinary ones to the next
node in the file; an empty one wires nothing. `"*"` stands for every port that the map does not name. Edges stand in
the order of the nodes and of their ports.
"""

from __future__ import annotations

import re
from typing import Any

from pydantic import ValidationError

from casegraph.authoring.files import Folder
from casegraph.authoring.places import Origin, Path
from casegraph.authoring.shorthand import EXCEPTIONAL_PORTS
from casegraph.domain.graph.parser import config_of
from casegraph.domain.nodes.human_task import PORT_PATTERN
from casegraph.domain.nodes.registry import KINDS

EVERY_PORT = "*"
# A target and the path of what says so in the source; whether that is a key.
Target = tuple[str, Path]


def wire(
    nodes: list[dict[str, Any]], source: dict[str, Any], folder: Folder, on_error: str | None
) -> list[dict[str, Any]]:
    """The edges of all nodes."""
    edges: list[dict[str, Any]] = []
    for index, node in enumerate(nodes):
        following = nodes[index + 1]["id"] if index + 1 < len(nodes) else None
        targets = _Targets(node, source.get(node["id"]), following, folder, on_error, f"/graph/nodes/{index}")
        for port, (target, path) in targets.find().items():
            where = f"/graph/edges/{len(edges)}"
            folder.places.put(where, Origin(folder.main, path, exact=True))
            folder.places.put(f"{where}/from/port", Origin(folder.main, path, at_key=True, exact=True))
            edges.append({"from": {"node": node["id"], "port": port}, "to": {"node": target}})
    return edges


def ports_of(node: dict[str, Any], bundle: dict[str, Any]) -> tuple[str, ...] | None:
    """The node's ports in order; None when its kind or configuration cannot be read."""
    kind = KINDS.get(node.get("kind", ""))
    if kind is None:
        return None
    try:
        return kind.ports(config_of(kind, node.get("config", {})), bundle)
    except (ValidationError, TypeError, ValueError):
        return None


class _Targets:
    def __init__(
        self,
        node: dict[str, Any],
        raw: Any,
        following: str | None,
        folder: Folder,
        on_error: str | None,
        where: str,
    ) -> None:
        self.node, self.raw = node, raw if isinstance(raw, dict) else {}
        self.following, self.folder, self.on_error, self.where = following, folder, on_error, where
        self.path: Path = ("nodes", node["id"])
        self.ports = ports_of(node, folder.bundle)
        self.found: dict[str, Target] = {}

    def find(self) -> dict[str, Target]:
        """Targets by port, in the order of the ports; ports that the kind has not come last."""
        ordinary = [port for port in self.ports or () if port not in EXCEPTIONAL_PORTS]
        branches = self.raw.get("branches")
        if self.node.get("kind") == "parallel" and isinstance(branches, dict):
            self._map(branches, ("branches",))
        given = self.raw.get("next")
        if isinstance(given, str):
            self._all(ordinary, given, (*self.path, "next"))
        elif isinstance(given, dict):
            self._map(given, ("next",))
            if given and set(given) <= EXCEPTIONAL_PORTS:
                self._fall_through(ordinary)
        elif given is not None:
            self.folder.places.put(f"{self.where}/next", Origin(self.folder.main, (*self.path, "next")))
            text = "`next` is a node's name, or a map of names by port"
            self.folder.problem("invalid_value", f"{self.where}/next", text, "next: {default: end}")
        elif "next" not in self.raw and self.node.get("kind") != "parallel":
            self._fall_through(ordinary)
        if self.on_error and "error" in (self.ports or ()) and self.on_error != self.node["id"]:
            self.found.setdefault("error", (self.on_error, ("defaults", "on_error")))
        order = {port: position for position, port in enumerate(self.ports or ())}
        return dict(sorted(self.found.items(), key=lambda entry: order.get(entry[0], len(order))))

    def _map(self, targets: dict[str, Any], at: Path) -> None:
        for port, target in targets.items():
            if target is not None and port != EVERY_PORT:
                self.found[port] = (str(target), (*self.path, *at, port))
        rest = targets.get(EVERY_PORT)
        if rest is not None:
            self._all(self.ports or (), str(rest), (*self.path, *at, EVERY_PORT))

    def _all(self, ports: Any, target: str, path: Path) -> None:
        for port in ports:
            if not re.fullmatch(PORT_PATTERN, port):
                continue  # the form's outcome is refused by name
            self.found.setdefault(port, (target, path))

    def _fall_through(self, ordinary: list[str]) -> None:
        if self.following is not None:
            self._all(ordinary, self.following, self.path)
