"""The graph under validation: what could be read of it, by id, with its edges resolved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from casegraph.domain.expressions import ExpressionInvalid, Program, compile_program
from casegraph.domain.graph.parser import Parsed, ParsedNode
from casegraph.domain.graph.reach import path, predecessors
from casegraph.domain.nodes.kind import Expected, Input, Schema


@dataclass(frozen=True)
class Use:
    """An expression of a node, with its program (None when it does not compile) and the roots of its own place."""

    node: int
    pointer: str
    source: str
    expected: Expected
    roots: tuple[str, ...]
    program: Program | None


class Subject:
    """A graph as far as it could be read. Node numbers are positions in `nodes`, not in the document."""

    def __init__(self, parsed: Parsed, bundle: Mapping[str, Any], graph: Mapping[str, Any]) -> None:
        self.parsed = parsed
        self.bundle = bundle
        self.graph = graph
        self.nodes = parsed.nodes
        self.number: dict[str, int] = {}
        for number, node in enumerate(parsed.nodes):
            self.number.setdefault(node.node.id, number)

    def raw(self, name: str) -> list[Any]:
        """The nodes or edges as they were given."""
        value = self.graph.get(name)
        return value if isinstance(value, list) else []

    @cached_property
    def raw_ids(self) -> set[str]:
        """Ids of all nodes, also of those that could not be read."""
        return {n["id"] for n in self.raw("nodes") if isinstance(n, dict) and isinstance(n.get("id"), str)}

    @cached_property
    def complete(self) -> bool:
        """Whether every node and edge could be read: only then do paths and reachability mean anything."""
        read = len(self.nodes) == len(self.raw("nodes"))
        read = read and len(self.parsed.edges) == len(self.raw("edges"))
        return read and len(self.number) == len(self.nodes) and all(n.config is not None for n in self.nodes)

    @cached_property
    def start(self) -> int | None:
        """The start node."""
        return next((i for i, n in enumerate(self.nodes) if n.node.kind == "start"), None)

    def id(self, number: int) -> str:
        """A node's id."""
        return self.nodes[number].node.id

    @cached_property
    def ports(self) -> list[tuple[str, ...] | None]:
        """Ports per node; None where the configuration could not be read."""
        return [
            n.kind.ports(n.config, self.bundle) if n.kind and n.config is not None else None
            for n in self.nodes
        ]

    @cached_property
    def next(self) -> list[dict[str, int]]:
        """Target by port, per node; only edges between nodes that were read."""
        found: list[dict[str, int]] = [{} for _ in self.nodes]
        for _, edge in self.parsed.edges:
            source, target = self.number.get(edge.from_.node), self.number.get(edge.to.node)
            if source is not None and target is not None:
                found[source].setdefault(edge.from_.port, target)
        return found

    @cached_property
    def successors(self) -> list[list[int]]:
        """Successors per node."""
        return [list(dict.fromkeys(ports.values())) for ports in self.next]

    @cached_property
    def predecessors(self) -> list[list[int]]:
        """Predecessors per node."""
        return predecessors(self.successors)

    def walk(self, start: int, goal: int, avoid: int) -> str:
        """A path in words (`a > b > c`), or nothing."""
        steps = path(self.successors, start, goal, avoid)
        if steps is None:
            return ""
        names = [self.id(step) for step in steps]
        return " > ".join(names if len(names) <= 12 else [*names[:6], "…", *names[-5:]])

    @cached_property
    def uses(self) -> list[Use]:
        """Every expression of every node."""
        return [use for number, node in enumerate(self.nodes) for use in self._uses(number, node)]

    def _uses(self, number: int, node: ParsedNode) -> Iterator[Use]:
        for name, source in node.node.input_mapping.items():
            expected = self._expected_input(node, name)
            yield _use(number, f"{node.pointer}/input_mapping/{name}", source, expected, ())
        if node.kind is not None and node.config is not None:
            for use in node.kind.expressions(node.config):
                yield _use(number, node.pointer + use.pointer, use.source, use.expected, use.roots)

    def inputs(self, node: ParsedNode) -> tuple[Input, ...] | None:
        """The names that a node's kind reads from `input_mapping`; None: any."""
        if node.kind is None or node.config is None:
            return None
        return node.kind.inputs(node.config, self.bundle)

    def _expected_input(self, node: ParsedNode, name: str) -> Expected:
        declared = {i.name: i.expected for i in self.inputs(node) or ()}
        return declared.get(name, "any")

    def output(self, number: int, port: str | None = None) -> Schema | None:
        """Output schema of a node (after a port, or after an ordinary one); {} when it could not be read."""
        node = self.nodes[number]
        if node.kind is None or node.config is None:
            return {}
        if port is None:
            return node.kind.output_schema(node.config, self.bundle)
        return node.kind.port_output(node.config, self.bundle, port)


def _use(number: int, pointer: str, source: str, expected: Expected, roots: tuple[str, ...]) -> Use:
    try:
        program = compile_program(source)
    except ExpressionInvalid:
        program = None
    return Use(number, pointer, source, expected, roots, program)
