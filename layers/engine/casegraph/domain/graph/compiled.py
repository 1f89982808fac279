"""What the kernel reads of a version: nodes by ordinal, successors, reachability, programs.

Ordinals are positions in the document; they stand in the head's token keys, which is why a run keeps its version.
Programs are compiled when a node is first visited.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from casegraph.domain.expressions import Program, compile_program
from casegraph.domain.graph.bundle import bundle_digest
from casegraph.domain.graph.document import Document, Node
from casegraph.domain.graph.parser import config_of
from casegraph.domain.graph.reach import (
    cyclic,
    downstream,
    predecessors,
    reachable,
    strong_components,
)
from casegraph.domain.nodes.kind import NodeKind
from casegraph.domain.nodes.registry import KINDS
from casegraph.errors import InvalidInput


@dataclass(frozen=True)
class CompiledNode:
    """One node. ports: in the order that branch indexes follow."""

    ordinal: int
    id: str
    kind: NodeKind
    config: Any
    node: Node
    ports: tuple[str, ...]
    schemas: Mapping[str, Any] = field(repr=False)

    @cached_property
    def mapping(self) -> dict[str, Program]:
        """The programs of `input_mapping`, by name."""
        return {name: self.program(source) for name, source in self.node.input_mapping.items()}

    @cached_property
    def _programs(self) -> dict[str, Program]:
        return {}

    def program(self, source: str) -> Program:
        """The program of an expression of this node. Raises `ExpressionInvalid`."""
        found = self._programs.get(source)
        if found is None:
            found = self._programs[source] = compile_program(source, self.schemas)
        return found

    @property
    def sources(self) -> tuple[str, ...]:
        """Every expression of the node."""
        return (*self.node.input_mapping.values(), *(u.source for u in self.kind.expressions(self.config)))

    @cached_property
    def reads(self) -> frozenset[str]:
        """The ids of the nodes whose outputs its expressions read."""
        # A source without the word cannot name the root: most need no compilation here.
        programs = (self.program(source) for source in self.sources if "nodes" in source)
        return frozenset(a.path[0] for p in programs for a in p.accesses if a.root == "nodes" and a.steps)

    @cached_property
    def uses(self) -> frozenset[str]:
        """The context roots that its expressions read."""
        return frozenset(root for source in self.sources for root in self.program(source).roots)


class CompiledGraph:
    """A version ready to run; cached by digest, shared by runs, never changed."""

    def __init__(self, bundle: Mapping[str, Any], document: Document, digest: str) -> None:
        self.digest = digest
        self.document = document
        self.bundle = bundle
        self._ordinals = {node.id: ordinal for ordinal, node in enumerate(document.nodes)}
        schemas = {
            "input": document.input_schema,
            "nodes": {"properties": _Outputs(self, bundle)},
        }
        self.nodes = tuple(_compile(i, n, bundle, schemas) for i, n in enumerate(document.nodes))
        self._next: list[dict[str, int]] = [{} for _ in self.nodes]
        for edge in document.edges:
            self._next[self._ordinals[edge.from_.node]][edge.from_.port] = self._ordinals[edge.to.node]
        self._successors = [list(dict.fromkeys(ports.values())) for ports in self._next]
        self._component = strong_components(self._successors)
        self._cyclic = cyclic(self._successors, self._component)
        self._ancestors: dict[int, set[int]] = {}
        self._references: dict[int, frozenset[int]] = {}
        self._needed: dict[frozenset[int], frozenset[int]] = {}

    @property
    def key(self) -> str:
        """The workflow's key."""
        return self.document.key

    @cached_property
    def start(self) -> int:
        """The ordinal of the start node."""
        return next(node.ordinal for node in self.nodes if node.kind.name == "start")

    def ordinal(self, node_id: str) -> int:
        """The ordinal of a node id. Raises KeyError."""
        return self._ordinals[node_id]

    def successor(self, ordinal: int, port: str) -> int | None:
        """Where the edge of a port leads; None when it has none."""
        return self._next[ordinal].get(port)

    def in_cycle(self, ordinal: int) -> bool:
        """Whether a token can come back to this node."""
        return self._cyclic[ordinal]

    def can_reach(self, a: int, b: int) -> bool:
        """Whether b is reached from a by at least one edge."""
        if b not in self._ancestors:
            self._ancestors[b] = reachable(self._predecessors, [b])
        return a in self._ancestors[b]

    def near(self, ordinals: Iterable[int]) -> frozenset[int]:
        """These nodes and those that a token moving from them may enter in the same burst: as far as the next waits."""
        seen: set[int] = set()
        front = list(ordinals)
        starts = set(front)
        while front:
            ordinal = front.pop()
            if ordinal in seen:
                continue
            seen.add(ordinal)
            if ordinal in starts or not self.nodes[ordinal].kind.waits:
                front.extend(self._successors[ordinal])
        return frozenset(seen)

    def references(self, ordinal: int) -> frozenset[int]:
        """The nodes whose outputs this node's expressions read."""
        if ordinal not in self._references:
            known = (self._ordinals.get(name) for name in self.nodes[ordinal].reads)
            self._references[ordinal] = frozenset(o for o in known if o is not None)
        return self._references[ordinal]

    def uses(self, ordinal: int) -> frozenset[str]:
        """The context roots (`input`, `report`, `nodes`...) that this node's expressions read."""
        return self.nodes[ordinal].uses

    def needed_from(self, ordinals: Iterable[int]) -> frozenset[int]:
        """The nodes that an expression of any of these nodes, or of one that they lead to, still reads."""
        components = frozenset(self._component[o] for o in ordinals)
        if components not in self._needed:
            bits = 0
            for number in components:
                bits |= self._downstream[number]
            if len(self._needed) > 1_000:
                self._needed.clear()
            self._needed[components] = frozenset(self._referenced[i] for i in _ones(bits))
        return self._needed[components]

    @cached_property
    def _predecessors(self) -> list[list[int]]:
        return predecessors(self._successors)

    @cached_property
    def _referenced(self) -> list[int]:
        return sorted({o for node in self.nodes for o in self.references(node.ordinal)})

    @cached_property
    def _downstream(self) -> list[int]:
        bit = {ordinal: 1 << position for position, ordinal in enumerate(self._referenced)}

        def own(node: int) -> int:
            total = 0
            for ordinal in self.references(node):
                total |= bit[ordinal]
            return total

        return downstream(self._successors, self._component, own)


class _Outputs(Mapping[str, Any]):
    """Output schemas by node id, made when asked: most are never read."""

    def __init__(self, graph: CompiledGraph, bundle: Mapping[str, Any]) -> None:
        self._graph = graph
        self._bundle = bundle
        self._made: dict[str, Any] = {}

    def __getitem__(self, node_id: str) -> Any:
        if node_id not in self._made:
            node = self._graph.nodes[self._graph.ordinal(node_id)]
            self._made[node_id] = node.kind.output_schema(node.config, self._bundle) or {}
        return self._made[node_id]

    def __iter__(self) -> Iterator[str]:
        return (node.id for node in self._graph.nodes)

    def __len__(self) -> int:
        return len(self._graph.nodes)


def compile_bundle(bundle: Mapping[str, Any]) -> CompiledGraph:
    """Compile a bundle that validation accepted. Raises `InvalidInput` when its graph is no document at all."""
    try:
        document = Document.model_validate_json(json.dumps(bundle["graph"]))
        return CompiledGraph(bundle, document, bundle_digest(bundle))
    except (ValidationError, KeyError) as exc:
        raise InvalidInput(
            "the bundle holds no valid graph; validate it to see why", "invalid_graph"
        ) from exc


def _compile(ordinal: int, node: Node, bundle: Mapping[str, Any], schemas: Mapping[str, Any]) -> CompiledNode:
    kind = KINDS[node.kind]
    config = config_of(kind, node.config)
    return CompiledNode(ordinal, node.id, kind, config, node, kind.ports(config, bundle), schemas)


def _ones(bits: int) -> Iterator[int]:
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low
