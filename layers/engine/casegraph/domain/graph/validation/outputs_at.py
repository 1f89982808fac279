"""Which outputs exist when a token arrives at a node: a forward data flow over the graph.

`must`: the nodes that have certainly run, on every path (through a join of all branches: on every path of some branch).
`may`: for each node, the ports by which it can have been left last, as far as their outputs differ.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from casegraph.domain.graph.validation.branches import Branches
from casegraph.domain.graph.validation.subject import Subject

# Outputs differ by how a step ended (architecture.md 6.1).
VARIANTS = ("regular", "timeout", "error")


@dataclass
class OutputsAt:
    """Bit sets by node number; the bit of a referenced node is its position in `referenced`."""

    position: dict[int, int]
    must: list[int]
    may: list[int]

    def has_run(self, node: int, referenced: int) -> bool:
        """Whether `referenced` has certainly run when a token arrives at `node`."""
        return bool(self.must[node] >> self.position[referenced] & 1)

    def variants(self, node: int, referenced: int) -> list[str]:
        """How `referenced` can have ended last when a token arrives at `node`."""
        bits = self.may[node] >> (len(VARIANTS) * self.position[referenced])
        return [name for index, name in enumerate(VARIANTS) if bits >> index & 1]


def outputs_at(subject: Subject, branches: Branches, referenced: Iterable[int]) -> OutputsAt:
    """Solve the data flow for the referenced nodes. Needs a complete subject."""
    return _Flow(subject, branches, sorted(set(referenced))).solve()


class _Flow:
    def __init__(self, subject: Subject, branches: Branches, referenced: list[int]) -> None:
        self.subject = subject
        self.branches = branches
        self.position = {node: index for index, node in enumerate(referenced)}
        self.everything = (1 << len(referenced)) - 1
        count = len(subject.nodes)
        self.must = [self.everything] * count
        self.may = [0] * count
        self.incoming: list[list[tuple[int, str]]] = [[] for _ in range(count)]
        for node, ports in enumerate(subject.next):
            for port, target in ports.items():
                self.incoming[target].append((node, port))

    def solve(self) -> OutputsAt:
        order = list(_reverse_postorder(self.subject))
        if self.subject.start is not None:
            self.must[self.subject.start] = 0
        known = set(order)
        self.incoming = [[(n, p) for n, p in before if n in known] for before in self.incoming]
        changed = True
        while changed:
            changed = False
            for node in order:
                if node == self.subject.start:
                    continue
                must, may = self._must_in(node), self._may_in(node)
                if (must, may) != (self.must[node], self.may[node]):
                    self.must[node], self.may[node] = must, may
                    changed = True
        return OutputsAt(self.position, self.must, self.may)

    def _must_in(self, node: int) -> int:
        return self._meet(self._must_out(*edge) for edge in self.incoming[node])

    def _meet(self, sets: Iterable[int]) -> int:
        met = self.everything
        for bits in sets:
            met &= bits
        return met

    def _must_out(self, node: int, port: str) -> int:
        bits = self.must[node]
        if port == "success" and self.subject.nodes[node].node.kind == "join":
            bits = self._after_join(node)
        position = self.position.get(node)
        return bits if position is None else bits | 1 << position

    def _after_join(self, join: int) -> int:
        """Where every branch must arrive, what is certain in some branch is certain behind the join."""
        arriving: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for node, port in self.incoming[join]:
            for fork, branch in self._branches_of(node, port):
                arriving[fork][branch].append(self._must_out(node, port))
        totals = []
        for fork, by_branch in arriving.items():
            if not self._needs_all(join, fork):
                return self.must[join]
            total = 0
            for sets in by_branch.values():
                total |= self._meet(sets)
            totals.append(total)
        return self._meet(totals) if totals else self.must[join]

    def _needs_all(self, join: int, fork: int) -> bool:
        config = self.subject.nodes[join].config
        return bool(config.mode == "all" or config.n == len(self.subject.ports[fork] or ()))

    def _branches_of(self, node: int, port: str) -> set[tuple[int, int]]:
        if self.subject.nodes[node].node.kind == "parallel":
            ports = self.subject.ports[node] or ()
            return {(node, ports.index(port))} if port in ports else set()
        paths = self.branches.paths[node]
        if self.subject.nodes[node].node.kind == "join":
            paths = {path[:-1] for path in paths}
        return {path[-1] for path in paths if path}

    def _may_in(self, node: int) -> int:
        total = 0
        for source, port in self.incoming[node]:
            total |= self._may_out(source, port)
        return total

    def _may_out(self, node: int, port: str) -> int:
        bits, position = self.may[node], self.position.get(node)
        if position is None:
            return bits
        shift = len(VARIANTS) * position
        own = VARIANTS.index(variant_of(self.subject, node, port))
        return bits & ~(0b111 << shift) | 1 << (shift + own)


def variant_of(subject: Subject, node: int, port: str) -> str:
    """Which variant of a node's output goes with leaving by `port`."""
    kind = subject.nodes[node].kind
    config = subject.nodes[node].config
    if kind is not None and port == "timeout" and kind.times_out(config):
        return "timeout"
    return "error" if kind is not None and port == "error" and "error" in kind.optional_ports else "regular"


def _reverse_postorder(subject: Subject) -> Iterator[int]:
    if subject.start is None:
        return
    seen = {subject.start}
    finished: list[int] = []
    work = [(subject.start, iter(subject.successors[subject.start]))]
    while work:
        node, after = work[-1]
        target = next((t for t in after if t not in seen), None)
        if target is None:
            finished.append(node)
            work.pop()
        else:
            seen.add(target)
            work.append((target, iter(subject.successors[target])))
    yield from reversed(finished)
