"""Reachability on a graph given by successor lists: strong components, ancestors, and what is needed downstream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

Successors = Sequence[Sequence[int]]


def strong_components(successors: Successors) -> list[int]:
    """The component number of each node; a component's number is higher than those that it leads to.

    Tarjan's algorithm without recursion.
    """
    count = len(successors)
    order, low, component = [-1] * count, [0] * count, [-1] * count
    stack: list[int] = []
    clock = found = 0
    for root in range(count):
        if order[root] >= 0:
            continue
        work = [(root, 0)]
        while work:
            node, at = work.pop()
            if order[node] < 0:
                order[node] = low[node] = clock
                clock += 1
                stack.append(node)
            deeper = False
            for position in range(at, len(successors[node])):
                after = successors[node][position]
                if order[after] < 0:
                    work += [(node, position), (after, 0)]
                    deeper = True
                    break
                if component[after] < 0:
                    low[node] = min(low[node], low[after])
            if deeper:
                continue
            if low[node] == order[node]:
                while True:
                    member = stack.pop()
                    component[member] = found
                    if member == node:
                        break
                found += 1
    return component


def cyclic(successors: Successors, component: Sequence[int]) -> list[bool]:
    """Whether each node lies on a cycle."""
    sizes: dict[int, int] = {}
    for number in component:
        sizes[number] = sizes.get(number, 0) + 1
    return [sizes[component[node]] > 1 or node in after for node, after in enumerate(successors)]


def predecessors(successors: Successors) -> list[list[int]]:
    """The reversed graph."""
    before: list[list[int]] = [[] for _ in successors]
    for node, after in enumerate(successors):
        for target in after:
            before[target].append(node)
    return before


def reachable(edges: Successors, roots: Iterable[int]) -> set[int]:
    """The nodes that some root leads to by at least one edge."""
    seen: set[int] = set()
    work = list(roots)
    while work:
        for after in edges[work.pop()]:
            if after not in seen:
                seen.add(after)
                work.append(after)
    return seen


def path(successors: Successors, start: int, goal: int, avoid: int) -> list[int] | None:
    """A shortest path from start to goal that does not visit `avoid`."""
    if start == avoid:
        return None
    came: dict[int, int] = {start: start}
    work = [start]
    while work and goal not in came:
        level, work = work, []
        for node in level:
            for after in successors[node]:
                if after not in came and after != avoid:
                    came[after] = node
                    work.append(after)
    if goal not in came:
        return None
    steps = [goal]
    while steps[-1] != start:
        steps.append(came[steps[-1]])
    return steps[::-1]


def downstream(successors: Successors, component: Sequence[int], own: Callable[[int], int]) -> list[int]:
    """Per component, the union of the bit sets `own(node)` over its nodes and all that they lead to."""
    members: list[list[int]] = [[] for _ in range(max(component, default=-1) + 1)]
    for node, number in enumerate(component):
        members[number].append(node)
    union = [0] * len(members)
    for number, nodes in enumerate(members):
        for node in nodes:
            union[number] |= own(node)
            for after in successors[node]:
                union[number] |= union[component[after]]
    return union
