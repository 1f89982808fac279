"""Every node can be reached from the start, and can reach an end."""

from __future__ import annotations

from collections.abc import Iterator

from casegraph.domain.graph.problem import Problem
from casegraph.domain.graph.reach import reachable
from casegraph.domain.graph.validation.subject import Subject


def reachability(subject: Subject) -> Iterator[Problem]:
    """Unreachable nodes, and nodes from which no end can be reached. Needs a complete subject."""
    if subject.start is None:
        return
    forward = reachable(subject.successors, [subject.start]) | {subject.start}
    ends = [i for i, n in enumerate(subject.nodes) if n.node.kind == "end"]
    backward = reachable(subject.predecessors, ends) | set(ends)
    for number, node in enumerate(subject.nodes):
        if number not in forward:
            text = f"nothing leads from the start to {node.node.id!r}"
            yield Problem("unreachable_node", node.pointer, text, "wire it, or remove it")
        elif ends and number not in backward:
            text = f"no end can be reached from {node.node.id!r}"
            yield Problem("no_way_to_end", node.pointer, text, "give the loop a way out")
