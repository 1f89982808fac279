"""Reachability agrees with its plain definition on every small graph."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from casegraph.domain.graph.reach import cyclic, downstream, path, predecessors, reachable, strong_components

GRAPHS = st.integers(1, 7).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=3, unique=True), min_size=n, max_size=n)
)


def closure(graph: list[list[int]]) -> list[set[int]]:
    """By repetition: what each node leads to by at least one edge."""
    found = [set(after) for after in graph]
    for _ in graph:
        for node, after in enumerate(found):
            found[node] = after.union(*(found[a] for a in after)) if after else after
    return found


@given(GRAPHS)
def test_components_are_the_nodes_that_lead_to_each_other(graph: list[list[int]]) -> None:
    leads, component = closure(graph), strong_components(graph)
    for a in range(len(graph)):
        for b in range(len(graph)):
            together = a == b or (b in leads[a] and a in leads[b])
            assert (component[a] == component[b]) == together
            if b in leads[a] and not together:
                assert component[a] > component[b]


@given(GRAPHS)
def test_cycles_and_reach_follow_the_definition(graph: list[list[int]]) -> None:
    leads, backward = closure(graph), predecessors(graph)
    assert cyclic(graph, strong_components(graph)) == [node in leads[node] for node in range(len(graph))]
    for node in range(len(graph)):
        assert reachable(graph, [node]) == leads[node]
        assert reachable(backward, [node]) == {a for a in range(len(graph)) if node in leads[a]}


@given(GRAPHS)
def test_downstream_is_the_union_over_what_is_reached(graph: list[list[int]]) -> None:
    leads, component = closure(graph), strong_components(graph)
    union = downstream(graph, component, lambda node: 1 << node)
    for node in range(len(graph)):
        assert union[component[node]] == sum(1 << other for other in leads[node] | {node})


@given(GRAPHS, st.data())
def test_a_path_follows_edges_and_avoids_the_node(graph: list[list[int]], data: st.DataObject) -> None:
    nodes = st.integers(0, len(graph) - 1)
    start, goal, avoid = data.draw(nodes), data.draw(nodes), data.draw(st.integers(-1, len(graph) - 1))
    steps = path(graph, start, goal, avoid)
    without = [[a for a in after if a != avoid] for after in graph]
    exists = start != avoid and (goal == start or goal in closure(without)[start])
    assert (steps is not None) == exists
    if steps is not None:
        assert (steps[0], steps[-1]) == (start, goal)
        assert avoid not in steps
        assert all(b in graph[a] for a, b in pairwise(steps))
