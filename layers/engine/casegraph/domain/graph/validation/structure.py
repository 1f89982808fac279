"""Nodes by themselves: ids, kinds' own rules, the fields that a kind takes, what stands beside the graph."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from casegraph.domain.expressions import RESERVED_WORDS
from casegraph.domain.graph.parser import GRAPH, ParsedNode
from casegraph.domain.graph.problem import Problem, did_you_mean, pointer
from casegraph.domain.graph.validation.subject import Subject
from casegraph.domain.nodes import send_message
from casegraph.limits import CALL_MAX_SECONDS

_MAPPING_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")
_TEMPLATE_FIELDS = ("subject", "body", "language")


def structure(subject: Subject) -> Iterator[Problem]:
    """Problems of nodes by themselves, of their order, and of message templates."""
    yield from _ids(subject)
    yield from _start_and_end(subject)
    yield from _authority(subject)
    yield from _schema_references(subject)
    for node in subject.nodes:
        yield from _fields(node)
        yield from _inputs(subject, node)
        if node.kind is not None and node.config is not None:
            for problem in node.kind.problems(node.config, subject.bundle):
                place = node.pointer + problem.pointer
                yield Problem(problem.code, place, problem.message, problem.hint)
    yield from _templates(subject)


def _ids(subject: Subject) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for node in subject.nodes:
        where, name = f"{node.pointer}/id", node.node.id
        if name in RESERVED_WORDS:
            text = f"{name!r} is a reserved word of CEL, so no expression could read this node"
            yield Problem("reserved_id", where, text, f"call it {name}_node")
        if name in seen:
            yield Problem("duplicate_id", where, f"node {name!r} stands at /graph/nodes/{seen[name]} already")
        seen.setdefault(name, node.index)


def _start_and_end(subject: Subject) -> Iterator[Problem]:
    kinds = [n.node.kind for n in subject.nodes]
    for node in [n for n in subject.nodes if n.node.kind == "start"][1:]:
        yield Problem("second_start", f"{node.pointer}/kind", "a graph has exactly one start")
    if not kinds or len(kinds) != len(subject.raw("nodes")):
        return
    if "start" not in kinds:
        yield Problem(
            "start_missing", f"{GRAPH}/nodes", "a graph has exactly one start", "add one as first node"
        )
    elif kinds[0] != "start":
        yield Problem("start_not_first", f"{GRAPH}/nodes/0", "the start stands first")
    if "end" not in kinds:
        yield Problem("end_missing", f"{GRAPH}/nodes", "a graph has at least one end", "add one as last node")
    elif kinds[-1] != "end":
        yield Problem("end_not_last", f"{GRAPH}/nodes/{len(kinds) - 1}", "an end stands last")


def _authority(subject: Subject) -> Iterator[Problem]:
    authority = subject.graph.get("authority")
    if authority in ("off", "shadow", "bounded_auto"):
        text = f"authority {authority!r} is not supported yet; only 'assist' is"
        yield Problem("authority_not_supported", f"{GRAPH}/authority", text, 'set "authority": "assist"')


def _schema_references(subject: Subject) -> Iterator[Problem]:
    """A bundle is the version: what a `$ref` would fetch from elsewhere has to be in it."""
    places: list[tuple[str, Any]] = [(f"{GRAPH}/input_schema", subject.graph.get("input_schema"))]
    for part, where in ((subject.graph, f"{GRAPH}/event_schemas"), (subject.bundle, "/forms")):
        named = part.get(where.rpartition("/")[2])
        if isinstance(named, dict):
            places += [(where + pointer(name), schema) for name, schema in named.items()]
    for where, schema in places:
        for target in _external(schema):
            text = f"$ref {target!r} leads out of the bundle"
            yield Problem("unresolved_ref", where, text, "inline the schema; `#/...` inside one is allowed")


def _external(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        target = schema.get("$ref")
        if isinstance(target, str) and not target.startswith("#"):
            yield target
        for inner in schema.values():
            yield from _external(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _external(inner)


def _fields(node: ParsedNode) -> Iterator[Problem]:
    kind, fields = node.kind, node.node
    if kind is None:
        return
    times_out = kind.times_out(node.config)
    if times_out and fields.timeout_seconds is None:
        text = f"{fields.kind} {fields.id!r} may wait for ever"
        yield Problem(
            "wait_without_deadline", node.pointer, text, "give it timeout_seconds and a timeout edge"
        )
    calls = kind.name == "enrichment"
    if fields.timeout_seconds is not None and not (times_out or calls):
        yield _unexpected(node, "timeout_seconds")
    if calls and (fields.timeout_seconds or 0) > CALL_MAX_SECONDS:
        text = f"a call may take {CALL_MAX_SECONDS} s: it happens inside one invocation"
        hint = "let the component start the work, and wait for an event"
        yield Problem("call_too_long", f"{node.pointer}/timeout_seconds", text, hint)
    if fields.due_seconds is not None and not kind.needs_timeout:
        yield _unexpected(node, "due_seconds")
    elif (fields.due_seconds or 0) > (fields.timeout_seconds or float("inf")):
        text = "the target due_seconds lies after timeout_seconds"
        yield Problem("due_after_timeout", f"{node.pointer}/due_seconds", text)
    if fields.retry is not None and not kind.retries:
        yield _unexpected(node, "retry")
    if fields.retry and fields.retry.max_backoff_seconds < fields.retry.initial_backoff_seconds:
        text = "max_backoff_seconds is below initial_backoff_seconds"
        yield Problem("invalid_value", f"{node.pointer}/retry/max_backoff_seconds", text)


def _unexpected(node: ParsedNode, name: str) -> Problem:
    text = f"{name} has no meaning for the kind {node.node.kind}"
    return Problem("unexpected_field", f"{node.pointer}/{name}", text, "remove it")


def _inputs(subject: Subject, node: ParsedNode) -> Iterator[Problem]:
    where = f"{node.pointer}/input_mapping"
    for name in node.node.input_mapping:
        if not _MAPPING_NAME.match(name) or name in RESERVED_WORDS:
            text = f"{name!r} is no name that an expression or a template could read"
            yield Problem("invalid_value", where + pointer(name), text, "letters, digits and _")
    declared = subject.inputs(node)
    if declared is None:
        return
    known = {i.name for i in declared}
    for name in node.node.input_mapping:
        if name not in known:
            text = f"{node.node.kind} reads no input {name!r}"
            yield Problem("unknown_field", where + pointer(name), text, did_you_mean(name, known))
    for needed in declared:
        if needed.required and needed.name not in node.node.input_mapping:
            text = f"{node.node.kind} {node.node.id!r} needs {needed.name!r} in its input_mapping"
            yield Problem("missing_field", where, text)


def _templates(subject: Subject) -> Iterator[Problem]:
    messages = subject.bundle.get("messages")
    for name, template in messages.items() if isinstance(messages, dict) else ():
        where = pointer("messages", name)
        if not isinstance(template, dict):
            yield Problem("invalid_value", where, "a message template is {subject, body, language}")
            continue
        for field, text in template.items():
            if field not in _TEMPLATE_FIELDS:
                hint = did_you_mean(field, _TEMPLATE_FIELDS)
                yield Problem(
                    "unknown_field", where + pointer(field), f"there is no field {field!r} here", hint
                )
            elif not isinstance(text, str):
                yield Problem("invalid_value", where + pointer(field), f"{field} is text")
        if "body" not in template:
            yield Problem("missing_field", where, "field 'body' is missing")
    for node in subject.nodes:
        if isinstance(node.config, send_message.Config):
            yield from _placeholders(subject, node)


def _placeholders(subject: Subject, node: ParsedNode) -> Iterator[Problem]:
    template = send_message.template_of(node.config, subject.bundle)
    for name in send_message.placeholders(template) if template else ():
        if name not in node.node.input_mapping:
            text = f"template {node.config.template!r} asks for {{{{{name}}}}}, which {node.node.id!r} does not map"
            hint = did_you_mean(name, node.node.input_mapping) or f"add {name!r} to input_mapping"
            yield Problem("template_input_missing", f"{node.pointer}/input_mapping", text, hint)
