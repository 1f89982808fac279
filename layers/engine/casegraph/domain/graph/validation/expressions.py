"""Expressions by themselves: syntax, names, types, what they give, and which roots they may read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from casegraph.domain.expression_types import Checker
from casegraph.domain.graph.problem import Problem, did_you_mean
from casegraph.domain.graph.validation.subject import Subject, Use
from casegraph.domain.nodes.kind import FAILED, TIMED_OUT, Schema

AVAILABLE = ("input", "report", "reports", "run", "nodes", "branch", "now")
_ACCEPTED = {
    "bool": ("BOOL",),
    "string": ("STRING",),
    "number": ("INT", "UINT", "DOUBLE"),
    "timestamp": ("TIMESTAMP", "STRING"),
    "list": ("LIST",),
}
_NOT_JSON = ("BYTES", "TYPE")
# A protobuf message has room for some thousand fields, and a smaller one checks faster.
_NODES_PER_CHECKER = 250


def expressions(subject: Subject) -> Iterator[Problem]:
    """Faults of every expression, with line and column."""
    for checker, use in _checked(subject):
        result, faults = checker.check(use.source)
        for fault in faults:
            yield _of_nodes(subject, use, fault) or Problem(
                fault.code,
                use.pointer,
                f"line {fault.line}, column {fault.column}: {fault.message}",
                fault.hint,
            )
        if result is None:
            continue
        if use.program is None:
            text = "loops are nested too deeply, or a value is built that is no plain JSON"
            hint = "loops in loops at most a few deep; lists, objects, text and numbers"
            yield Problem("expression_invalid", use.pointer, text, hint)
            continue
        yield from _roots(use)
        yield from _result(use, result)


def _checked(subject: Subject) -> Iterator[tuple[Checker, Use]]:
    """Each use with a checker that knows the nodes that it reads."""
    batch: list[Use] = []
    read: set[str] = set()
    for use in subject.uses:
        batch.append(use)
        read |= _read(subject, use)
        if len(read) >= _NODES_PER_CHECKER:
            yield from _with_checker(subject, batch, read)
            batch, read = [], set()
    yield from _with_checker(subject, batch, read)


def _read(subject: Subject, use: Use) -> set[str]:
    found = use.program.accesses if use.program else ()
    return {a.path[0] for a in found if a.root == "nodes" and a.path} & subject.number.keys()


def _with_checker(subject: Subject, batch: list[Use], read: set[str]) -> Iterator[tuple[Checker, Use]]:
    outputs = {name: output_of_any_port(subject, subject.number[name]) for name in sorted(read)}
    known = {name: schema for name, schema in outputs.items() if schema is not None}
    checker = Checker(subject.graph.get("input_schema"), known)
    for use in batch:
        yield checker, use


def output_of_any_port(subject: Subject, number: int) -> Schema | None:
    """The output schema with what a timeout or an error puts there instead."""
    schema, ports = subject.output(number), subject.ports[number] or ()
    if schema is None or not isinstance(schema.get("properties"), dict):
        return schema
    extra: dict[str, Any] = {}
    for port in ports:
        own = subject.output(number, port)
        if own is TIMED_OUT or own is FAILED:
            extra.update(own["properties"])
    return {**schema, "properties": {**schema["properties"], **extra}}


def _of_nodes(subject: Subject, use: Use, fault: Any) -> Problem | None:
    """A wrong name right under `nodes` is about a node, not about a field."""
    if fault.code != "expression_unknown_field" or not fault.message.startswith("nodes has no "):
        return None
    name = fault.message.removeprefix("nodes has no ").strip("'")
    place = f"line {fault.line}, column {fault.column}: "
    if name in subject.raw_ids:
        number = subject.number.get(name)
        kind = "node" if number is None else subject.nodes[number].node.kind
        text = f"{place}{kind} {name!r} has no output that could be read"
        return Problem("reference_without_output", use.pointer, text)
    text = f"{place}there is no node {name!r}"
    return Problem("reference_unknown_node", use.pointer, text, did_you_mean(name, subject.raw_ids))


def _roots(use: Use) -> Iterator[Problem]:
    assert use.program is not None
    available = (*AVAILABLE, *use.roots)
    for root in sorted(use.program.roots - set(available)):
        text = f"{root!r} has no value here"
        yield Problem("expression_root_unavailable", use.pointer, text, f"here are: {', '.join(available)}")
    if any(a.root == "nodes" and not a.steps for a in use.program.accesses):
        text = "`nodes` as a whole is no value"
        yield Problem("expression_nodes_as_value", use.pointer, text, "name the node: nodes.review")


def _result(use: Use, result: str) -> Iterator[Problem]:
    plain = result.partition("<")[0].partition("(")[0]
    if plain.lower().startswith("optional_type"):
        text = "the expression gives an optional, which is no JSON value"
        yield Problem("expression_result_type", use.pointer, text, "end it with .orValue(...)")
    elif plain in _NOT_JSON:
        text = f"the expression gives a {plain.lower()}, which is no JSON value"
        yield Problem("expression_result_type", use.pointer, text)
    elif plain != "DYN" and plain not in _ACCEPTED.get(use.expected, (plain,)):
        shown = "object" if plain.startswith("casegraph") or plain == "MAP" else plain.lower()
        text = f"the expression must give a {use.expected}; it gives a {shown}"
        yield Problem("expression_result_type", use.pointer, text)
