"""Everything that is wrong with a bundle, at once, each problem with its place (architecture.md 6.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from casegraph.domain.canonical import NotCanonical, canonical_bytes
from casegraph.domain.graph.bundle import SECTIONS, publishable
from casegraph.domain.graph.document import Document
from casegraph.domain.graph.parser import depth_of, load, parse
from casegraph.domain.graph.problem import Problem, did_you_mean, pointer
from casegraph.domain.graph.validation.branches import branches
from casegraph.domain.graph.validation.expressions import expressions
from casegraph.domain.graph.validation.joins import joins
from casegraph.domain.graph.validation.ports import ports
from casegraph.domain.graph.validation.reachability import reachability
from casegraph.domain.graph.validation.references import references
from casegraph.domain.graph.validation.schemas import readable
from casegraph.domain.graph.validation.structure import structure
from casegraph.domain.graph.validation.subject import Subject
from casegraph.limits import BODY_MAX_DEPTH


@dataclass(frozen=True)
class Validated:
    """document: None unless the graph could be read whole; problems: empty when the bundle may be published;
    bundle: its one stored form (`publishable`), when there are no problems."""

    document: Document | None
    problems: tuple[Problem, ...]
    bundle: dict[str, Any] | None = None


def validate(bundle: Any) -> Validated:
    """Validate a bundle, given as JSON values (dict) or JSON text (bytes or str). Never raises for its content."""
    if isinstance(bundle, bytes | str):
        bundle, problems = load(bundle)
        if problems:
            return Validated(None, tuple(problems))
    problems = list(_outline(bundle))
    if problems:
        return Validated(None, tuple(problems))
    parsed = parse(bundle["graph"])
    problems = [*parsed.problems]
    if isinstance(bundle["graph"], dict):
        clean, faults = readable(bundle)
        problems += faults
        problems += _checks(Subject(parsed, clean, clean["graph"]))
    problems = list(dict.fromkeys(problems))
    stored = publishable(parsed.document, bundle) if parsed.document and not problems else None
    return Validated(parsed.document, tuple(problems), stored)


def _checks(subject: Subject) -> Iterator[Problem]:
    yield from structure(subject)
    yield from ports(subject)
    yield from expressions(subject)
    # Paths through a graph of which parts are unknown would only give problems that are none.
    if subject.complete and subject.start is not None:
        yield from reachability(subject)
        found = branches(subject)
        yield from joins(subject, found)
        yield from references(subject, found)


def _outline(bundle: Any) -> Iterator[Problem]:
    if not isinstance(bundle, Mapping):
        yield Problem("not_an_object", "", "a bundle is a JSON object", f"with: {', '.join(SECTIONS)}")
        return
    for name in bundle:
        if name not in SECTIONS:
            text = f"a bundle has no section {name!r}"
            yield Problem("unknown_field", pointer(name), text, did_you_mean(str(name), SECTIONS))
    if "graph" not in bundle:
        yield Problem("missing_field", "", "field 'graph' is missing")
    for name in SECTIONS[1:]:
        if not isinstance(bundle.get(name, {}), dict):
            yield Problem("not_an_object", pointer(name), f"{name} is a JSON object, by name")
    if not depth_of(dict(bundle), BODY_MAX_DEPTH):
        yield Problem("too_deep", "", f"nested deeper than {BODY_MAX_DEPTH} levels")
        return
    try:
        canonical_bytes(dict(bundle))
    except NotCanonical as exc:
        yield Problem("not_json", "", exc.message)
