"""Joins that can be satisfied: under a fork, by as many of its branches as they need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from casegraph.domain.graph.problem import Problem
from casegraph.domain.graph.validation.branches import Branches
from casegraph.domain.graph.validation.subject import Subject
from casegraph.limits import MAX_BRANCH_DEPTH


def joins(subject: Subject, branches: Branches) -> Iterator[Problem]:
    """Problems of joins and of the nesting of forks. Needs a complete subject."""
    for fork in sorted(branches.too_deep):
        text = (
            f"forks nest deeper than {MAX_BRANCH_DEPTH}: {subject.id(fork)!r} is reached again inside itself"
        )
        hint = "join the branches before the next fork"
        yield Problem("branch_path_too_deep", subject.nodes[fork].pointer, text, hint)
    if branches.entangled:
        text = "tokens can take too many different branch paths to be checked"
        yield Problem("forks_entangled", "/graph/nodes", text, "join branches before they fork again")
        return
    for number, node in enumerate(subject.nodes):
        if node.node.kind == "join" and branches.paths[number]:
            yield from _join(subject, branches, number)


def _join(subject: Subject, branches: Branches, number: int) -> Iterator[Problem]:
    node = subject.nodes[number]
    if () in branches.paths[number]:
        text = f"join {node.node.id!r} can be reached outside of any fork, where there is nothing to wait for"
        start = subject.start or 0
        way = subject.walk(start, number, -1)
        yield Problem("join_outside_fork", node.pointer, text, f"path: {way}")
    arriving: dict[int, set[int]] = defaultdict(set)
    for path in branches.paths[number]:
        if path:
            arriving[path[-1][0]].add(path[-1][1])
    for fork, found in sorted(arriving.items()):
        yield from _satisfiable(subject, number, fork, found)


def _satisfiable(subject: Subject, number: int, fork: int, arriving: set[int]) -> Iterator[Problem]:
    node, ports = subject.nodes[number], subject.ports[fork] or ()
    config = node.config
    needed = {"all": len(ports), "any": 1}.get(config.mode, config.n or len(ports))
    if needed <= len(arriving):
        return
    missing = [port for index, port in enumerate(ports) if index not in arriving]
    text = (
        f"join {node.node.id!r} waits for {needed} of the {len(ports)} branches of {subject.id(fork)!r}, "
        f"but only {len(arriving)} can arrive"
    )
    hint = f"branches that never arrive: {', '.join(missing)}" if missing else "lower n"
    yield Problem("join_unsatisfiable", f"{node.pointer}/config", text, hint)
