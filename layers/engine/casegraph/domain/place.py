"""Where a token stands: node, branch path and occurrence; its short key in the head and its readable step id.

A branch path names each fork with its own occurrence, so that a join inside a loop counts the tokens of its own pass
and nested loops never share a step id (protocol.md 1). Short key: `fork.occurrence.branch/.../node.occurrence` with
node ordinals; readable step id: `fork#2/left/review#1`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from casegraph.domain.graph.compiled import CompiledGraph


@dataclass(frozen=True, slots=True, order=True)
class Level:
    """One fork on the way: its node ordinal, the occurrence of that fork, and the branch index taken."""

    fork: int
    occurrence: int
    branch: int


Branch = tuple[Level, ...]


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """One visit of a node: a step."""

    branch: Branch
    node: int
    occurrence: int

    @property
    def key(self) -> str:
        """The token's key in the head, e.g. `3.2.0/14.1`."""
        return branch_key(self.branch) + f"{self.node}.{self.occurrence}"


def branch_key(branch: Branch) -> str:
    """`3.2.0/` per level; empty at the root."""
    return "".join(f"{level.fork}.{level.occurrence}.{level.branch}/" for level in branch)


def parse_branch(text: str) -> Branch:
    """The inverse of `branch_key`."""
    return tuple(Level(*map(int, part.split("."))) for part in text.split("/") if part)


def parse_key(key: str) -> Place:
    """The inverse of `Place.key`."""
    path, _, last = key.rpartition("/")
    node, occurrence = last.split(".")
    return Place(parse_branch(path), int(node), int(occurrence))


def step_id(place: Place, graph: CompiledGraph) -> str:
    """The readable id of the step at `place`; row keys, logs and the API use it."""
    return branch_name(place.branch, graph) + f"{graph.nodes[place.node].id}#{place.occurrence}"


def branch_name(branch: Branch, graph: CompiledGraph) -> str:
    """`fork#2/left/` per level; empty at the root."""
    parts = []
    for level in branch:
        fork = graph.nodes[level.fork]
        parts.append(f"{fork.id}#{level.occurrence}/{fork.ports[level.branch]}/")
    return "".join(parts)


def parse_step_id(text: str, graph: CompiledGraph) -> Place | None:
    """The place of a readable step id in this graph; None when the graph has no such place."""
    parts = text.split("/")
    levels = []
    try:
        for fork_text, branch in zip(parts[:-1:2], parts[1::2], strict=True):
            fork_id, _, occurrence = fork_text.partition("#")
            fork = graph.nodes[graph.ordinal(fork_id)]
            levels.append(Level(fork.ordinal, int(occurrence), fork.ports.index(branch)))
        node_id, _, occurrence = parts[-1].partition("#")
        return Place(tuple(levels), graph.ordinal(node_id), int(occurrence))
    except (ValueError, KeyError):
        return None


def node_of(step: str) -> str:
    """The node id at the end of a readable step id."""
    return step.rpartition("/")[2].partition("#")[0]
