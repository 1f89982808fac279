"""What expressions read from other nodes and from the input: does it exist when the expression runs?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from casegraph.domain.expression_tree import Access, guards
from casegraph.domain.graph.problem import Problem
from casegraph.domain.graph.validation.branches import Branches
from casegraph.domain.graph.validation.outputs_at import OutputsAt, outputs_at, variant_of
from casegraph.domain.graph.validation.subject import Subject, Use

# Keys that an output has only after its timeout or error port.
_OTHER_PORTS = ("timed_out", "error")
# Bounds the memory of the data flow: four bits for each of these at each node.
_NODES_PER_FLOW = 2_000
Guards = frozenset[tuple[str, ...]]


def references(subject: Subject, branches: Branches) -> Iterator[Problem]:
    """References to nodes that cannot or may not have run, and keys that may be missing. Needs a complete subject."""
    reads: dict[int, list[tuple[Use, Access, Guards]]] = defaultdict(list)
    for use in subject.uses:
        tested = guards(use.program.tree) if use.program else frozenset()
        for access in use.program.accesses if use.program else ():
            if access.root == "input":
                yield from _missing_keys(use, access, subject.graph.get("input_schema"), 0, tested)
            elif access.root == "nodes" and access.path and access.path[0] in subject.number:
                reads[subject.number[access.path[0]]].append((use, access, tested))
    referenced = sorted(reads)
    for first in range(0, len(referenced), _NODES_PER_FLOW):
        part = referenced[first : first + _NODES_PER_FLOW]
        flow = outputs_at(subject, branches, part)
        for read in part:
            for use, access, tested in reads[read]:
                yield from _reference(subject, flow, use, access, read, tested)


def _reference(
    subject: Subject, flow: OutputsAt, use: Use, access: Access, read: int, tested: Guards
) -> Iterator[Problem]:
    name, reader = subject.id(read), subject.id(use.node)
    if subject.output(read) is None:
        return
    if not flow.variants(use.node, read):
        text = f"{name!r} can never have run before {reader!r}"
        yield Problem("reference_never_run", use.pointer, text, "read a node that comes before")
        return
    optional = (
        access.steps[0].optional or _tested(access, 1, tested) or (access.tested and len(access.path) == 1)
    )
    if not optional and not flow.has_run(use.node, read):
        way = subject.walk(subject.start or 0, use.node, read)
        text = f"{name!r} may not have run before {reader!r}" + (f": {way}" if way else "")
        hint = f"write nodes.?{name}{_rest(access)}.orValue(...)"
        yield Problem("reference_may_not_have_run", use.pointer, text, hint)
        return
    yield from _variants(subject, flow, use, access, read, tested)


def _rest(access: Access) -> str:
    return "".join(f".?{name}" for name in access.path[1:])


def _variants(
    subject: Subject, flow: OutputsAt, use: Use, access: Access, read: int, tested: Guards
) -> Iterator[Problem]:
    """The output differs by the port: a field must be there after each by which the node can have been left."""
    for variant in flow.variants(use.node, read):
        port = None if variant == "regular" else variant
        found = list(
            _missing_keys(use, access, subject.output(read, port), 1, tested, exact=port is not None)
        )
        if found and port is not None:
            way = _way_from_port(subject, read, variant, use.node)
            text = f"{found[0].message} when {subject.id(read)!r} ended by {variant!r}" + (
                f": {way}" if way else ""
            )
            yield Problem("missing_key_risk", use.pointer, text, found[0].hint)
            return
        yield from found
        if found:
            return


def _way_from_port(subject: Subject, read: int, variant: str, goal: int) -> str:
    for port, target in subject.next[read].items():
        if variant_of(subject, read, port) == variant:
            way = subject.walk(target, goal, read)
            if way:
                return f"{subject.id(read)} > {way}"
    return ""


def _missing_keys(
    use: Use, access: Access, schema: Any, done: int, tested: Guards, *, exact: bool = False
) -> Iterator[Problem]:
    """Walk a path along a schema: a key that is not required and not read as optional may be missing. exact: a key
    that the schema does not know is missing for certain (else the type check has said so)."""
    for index in range(done, len(access.steps)):
        if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict):
            return
        step, properties = access.steps[index], schema["properties"]
        last_tested = access.tested and index == len(access.steps) - 1
        if step.optional or last_tested or _tested(access, index + 1, tested):
            return
        required = schema.get("required")
        unknown = exact or (done == index == 1 and step.name in _OTHER_PORTS)
        optional_key = not isinstance(required, list) or step.name not in required
        if optional_key if step.name in properties else unknown:
            path = ".".join((access.root, *access.path[: index + 1]))
            optional = ".".join((access.root, *access.path[:index])) + "".join(
                f".?{n}" for n in access.path[index:]
            )
            yield Problem(
                "missing_key_risk", use.pointer, f"{path} may be missing", f"write {optional}.orValue(...)"
            )
            return
        schema = properties.get(step.name)


def _tested(access: Access, count: int, tested: Guards) -> bool:
    return (access.root, *access.path[:count]) in tested
