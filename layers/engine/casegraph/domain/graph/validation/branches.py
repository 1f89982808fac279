"""Which forks a node stands under: the branch paths with which tokens can arrive at it."""

from __future__ import annotations

from dataclasses import dataclass, field

from casegraph.domain.graph.validation.subject import Subject
from casegraph.limits import MAX_BRANCH_DEPTH

# (fork, branch index) from the outermost fork inwards.
BranchPath = tuple[tuple[int, int], ...]
# Tokens of very many branch paths at one node: such graphs cannot be explained to anybody.
_MAX_STATES = 400_000


@dataclass
class Branches:
    """paths: branch paths per node; too_deep: forks that would nest deeper than allowed; entangled: gave up."""

    paths: list[set[BranchPath]]
    too_deep: set[int] = field(default_factory=set)
    entangled: bool = False


def branches(subject: Subject) -> Branches:
    """Follow tokens from the start through forks and joins, without regard to what happens at run time."""
    found = Branches([set() for _ in subject.nodes])
    work: list[tuple[int, BranchPath]] = []
    states = 0

    def reach(node: int, path: BranchPath) -> None:
        if path not in found.paths[node]:
            found.paths[node].add(path)
            work.append((node, path))

    if subject.start is not None:
        reach(subject.start, ())
    while work:
        node, path = work.pop()
        states += 1
        if states > _MAX_STATES:
            found.entangled = True
            return found
        kind = subject.nodes[node].node.kind
        if kind == "parallel" and len(path) >= MAX_BRANCH_DEPTH:
            found.too_deep.add(node)
            continue
        for index, port in enumerate(subject.ports[node] or ()):
            target = subject.next[node].get(port)
            if target is not None:
                reach(target, _after(kind, node, index, path))
    return found


def _after(kind: str, node: int, index: int, path: BranchPath) -> BranchPath:
    if kind == "parallel":
        return (*path, (node, index))
    return path[:-1] if kind == "join" else path
