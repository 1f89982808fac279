"""Which edges of a graph its cases took, and which none did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from casegraph.authoring.files import Folder

Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Untaken:
    """An edge that no case takes, and where the source says it."""

    node: str
    port: str
    target: str
    place: str

    def __str__(self) -> str:
        return f"{self.node}.{self.port} > {self.target}"


@dataclass(frozen=True)
class Coverage:
    """Edges of the graph: how many there are, and those that no case takes."""

    edges: int
    untaken: tuple[Untaken, ...]

    @property
    def taken(self) -> int:
        """Edges that a case takes."""
        return self.edges - len(self.untaken)

    @property
    def percent(self) -> float:
        """Share of the edges that a case takes, 0 to 100; a graph without edges is covered."""
        return 100.0 * self.taken / self.edges if self.edges else 100.0


def coverage(graph: Mapping[str, Any], taken: Iterable[Edge], folder: Folder) -> Coverage:
    """Compare the graph's edges with those (node, port) that the cases took."""
    seen = set(taken)
    edges = graph.get("edges", [])
    untaken = [
        Untaken(node, port, edge["to"]["node"], str(folder.places.find(f"/graph/edges/{index}/from/port")))
        for index, edge in enumerate(edges)
        for node, port in [(edge["from"]["node"], edge["from"]["port"])]
        if (node, port) not in seen
    ]
    return Coverage(len(edges), tuple(untaken))
