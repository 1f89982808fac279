"""The bundle: a version of a workflow and all that it says, pinned by one digest.

`{graph, forms, schemas, messages, policies, components}`: the canonical document; forms and schemas as JSON Schema by
name; message templates `{subject, body, language}`; policy texts; and the output schemas of the components that the
graph asks, as they were at publication.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from casegraph.domain.canonical import NotCanonical, canonical_bytes, digest
from casegraph.domain.graph.document import Document
from casegraph.domain.graph.parser import config_of, load
from casegraph.domain.nodes.registry import KINDS
from casegraph.errors import NeedsOperator

SECTIONS = ("graph", "forms", "schemas", "messages", "policies", "components")


def bundle_digest(bundle: Mapping[str, Any]) -> str:
    """`sha256:<hex>` of the canonical bytes of the whole bundle."""
    return digest(dict(bundle))


def publishable(document: Document, bundle: Mapping[str, Any]) -> dict[str, Any]:
    """The bundle in its one stored form: every section there, defaults left out, so that what means the same has the
    same digest. Components that the graph does not ask are left out."""
    graph = document.to_dict()
    for raw, node in zip(graph["nodes"], document.nodes, strict=True):
        config = config_of(KINDS[node.kind], node.config)
        plain = config.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        raw.pop("config", None)
        if plain:
            raw["config"] = plain
    asked = {node.config.get("component_id") for node in document.nodes}
    components = {k: v for k, v in bundle.get("components", {}).items() if k in asked}
    sections = {name: bundle.get(name, {}) for name in SECTIONS}
    return {**sections, "graph": graph, "components": components}


def bundle_bytes(bundle: Mapping[str, Any]) -> bytes:
    """What is stored: the canonical bytes, whose SHA-256 is the digest."""
    return canonical_bytes(dict(bundle))


def load_bundle(body: bytes, expected_digest: str) -> dict[str, Any]:
    """The stored bundle, verified. Raises `NeedsOperator("definition_changed")` when it is not what was pinned."""
    bundle, problems = load(body)
    try:
        found = bundle_digest(bundle) if isinstance(bundle, dict) and not problems else None
    except NotCanonical:
        found = None
    if found != expected_digest:
        raise NeedsOperator(
            f"the stored bundle is not {expected_digest}", "definition_changed", digest=expected_digest
        )
    return bundle  # type: ignore[no-any-return]
