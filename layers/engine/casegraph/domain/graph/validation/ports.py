"""Edges and ports: every edge starts at a port that exists and ends at a node; every port that must have one does."""

from __future__ import annotations

from collections.abc import Iterator

from casegraph.domain.graph.document import Edge
from casegraph.domain.graph.parser import GRAPH, ParsedNode
from casegraph.domain.graph.problem import Problem, did_you_mean
from casegraph.domain.graph.validation.subject import Subject


def ports(subject: Subject) -> Iterator[Problem]:
    """Problems of edges, then unwired ports node by node."""
    seen: dict[tuple[str, str], int] = {}
    for index, edge in subject.parsed.edges:
        yield from _edge(subject, index, edge)
        place = (edge.from_.node, edge.from_.port)
        if place in seen:
            text = f"port {place[1]!r} of {place[0]!r} has an edge already, at {GRAPH}/edges/{seen[place]}"
            hint = "one edge per port; use a parallel to go two ways"
            yield Problem("duplicate_edge", f"{GRAPH}/edges/{index}/from", text, hint)
        seen.setdefault(place, index)
    for number, node in enumerate(subject.nodes):
        yield from _unwired(subject, number, node, seen)


def _edge(subject: Subject, index: int, edge: Edge) -> Iterator[Problem]:
    where = f"{GRAPH}/edges/{index}"
    for end, name in (("from", edge.from_.node), ("to", edge.to.node)):
        if name not in subject.raw_ids:
            text = f"there is no node {name!r}"
            hint = did_you_mean(name, subject.raw_ids)
            yield Problem("unknown_node", f"{where}/{end}/node", text, hint)
    target = subject.number.get(edge.to.node)
    if target is not None and subject.nodes[target].node.kind == "start":
        yield Problem("edge_to_start", f"{where}/to/node", "no edge leads to the start")
    source = subject.number.get(edge.from_.node)
    known = None if source is None else subject.ports[source]
    if known is not None and edge.from_.port not in known:
        text = f"{edge.from_.node!r} has no port {edge.from_.port!r}"
        hint = did_you_mean(edge.from_.port, known) or "no edge leaves an end"
        yield Problem("unknown_port", f"{where}/from/port", text, hint)


def _unwired(
    subject: Subject, number: int, node: ParsedNode, wired: dict[tuple[str, str], int]
) -> Iterator[Problem]:
    if node.kind is None or node.config is None or subject.number[node.node.id] != number:
        return
    for port in node.kind.required_ports(node.config, subject.bundle):
        if (node.node.id, port) in wired:
            continue
        if port == "timeout" and node.kind.times_out(node.config):
            text = f"{node.node.id!r} has no timeout edge, so its wait would end nowhere"
            yield Problem(
                "wait_without_timeout_edge", node.pointer, text, "add an edge from its port 'timeout'"
            )
        else:
            text = f"port {port!r} of {node.node.id!r} leads nowhere"
            yield Problem("unwired_port", node.pointer, text, f"add an edge from {node.node.id}.{port}")
