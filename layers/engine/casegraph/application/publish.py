"""Publishing a version: validate everything, store the bundle by digest, allocate the number (architecture.md 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from casegraph.application.context import Ports
from casegraph.application.idempotency import read_record, record_key, record_put
from casegraph.application.persistence import patiently, transact
from casegraph.application.versions import bundle_name, version_key
from casegraph.domain import rules
from casegraph.domain.graph.bundle import bundle_bytes, bundle_digest
from casegraph.domain.graph.document import Document
from casegraph.domain.graph.validation.validate import validate
from casegraph.domain.writes import Item, Put, Table
from casegraph.errors import ConditionsFailed, Conflict, InvalidInput, NotFound
from casegraph.limits import MAX_SIGNAL_TRIES

_VERSION = "VERSION#"


@dataclass(frozen=True, slots=True)
class Published:
    """A version. replayed: this very bundle was the latest version already, or this request was done before."""

    workflow_key: str
    version: int
    digest: str
    replayed: bool = False


class ComponentSchemas(Protocol):
    """What is known of components: publication copies it into the bundle, so that a version says all that it means."""

    def output_schema(self, component_id: str) -> dict[str, Any] | None:
        """JSON Schema of a component's result; None when nothing is known (its result is `dyn`)."""


def problems_of(bundle: dict[str, Any], components: ComponentSchemas) -> list[dict[str, str]]:
    """Every problem of a bundle, each with its place; empty when it may be published. Stores nothing."""
    return [problem.to_dict() for problem in validate(with_components(bundle, components)).problems]


def with_components(bundle: dict[str, Any], components: ComponentSchemas) -> dict[str, Any]:
    """The bundle with the output schemas of the components that its graph asks, as far as they are known."""
    graph = bundle.get("graph")
    nodes = graph.get("nodes") if isinstance(graph, dict) else None
    given = bundle.get("components", {})
    if not isinstance(nodes, list) or not isinstance(given, dict):
        return bundle  # validation says what is wrong with it
    configs = [node.get("config") for node in nodes if isinstance(node, dict)]
    ids = [config.get("component_id") for config in configs if isinstance(config, dict)]
    known = {name: components.output_schema(name) for name in ids if isinstance(name, str)}
    copied = {name: {"output_schema": schema} for name, schema in known.items() if schema is not None}
    return {**bundle, "components": {**given, **copied}}


def publish(
    ports: Ports,
    components: ComponentSchemas,
    workflow_key: str,
    bundle: dict[str, Any],
    *,
    by: str,
    idempotency_key: str,
) -> Published:
    """Publish a bundle as the next version of its workflow. The same bundle as the latest version is that version.

    Raises `InvalidInput("graph_invalid")` with every problem at once, `InvalidInput("workflow_key_mismatch")`,
    `Conflict("idempotency_key_reused")`.
    """
    validated = validate(with_components(bundle, components))
    document, stored = validated.document, validated.bundle
    if document is None or stored is None:
        problems = [problem.to_dict() for problem in validated.problems]
        raise InvalidInput(_summary(problems), "graph_invalid", problems=problems)
    if document.key != workflow_key:
        raise InvalidInput(
            f"the graph's key is {document.key!r}, the path says {workflow_key!r}; publish it under its own key",
            "workflow_key_mismatch",
            pointer="/graph/key",
            allowed=[document.key],
        )
    return _store(ports, document, stored, by, idempotency_key)


def _summary(problems: list[dict[str, str]]) -> str:
    first = problems[0]
    more = f" (and {len(problems) - 1} more, see details.problems)" if len(problems) > 1 else ""
    return f"{first['pointer'] or '/'}: {first['message']}{more}"


def _store(
    ports: Ports, document: Document, bundle: dict[str, Any], by: str, idempotency_key: str
) -> Published:
    workflow_key, digest = document.key, bundle_digest(bundle)
    record = record_key(f"publish {workflow_key}", by, idempotency_key)
    body = bundle_bytes(bundle)
    patiently(ports, lambda: ports.blobs.put(bundle_name(digest), body))
    for _ in range(MAX_SIGNAL_TRIES):
        known = read_record(ports, record, digest)
        if known is not None:
            return Published(workflow_key, known["version"], digest, replayed=True)
        latest = _latest_row(ports, workflow_key)
        if latest is not None and latest["digest"] == digest:
            return Published(workflow_key, latest["version"], digest, replayed=True)
        number = 1 if latest is None else latest["version"] + 1
        row = _version_row(ports, document, digest, number, by)
        put = Put(version_key(workflow_key, number), row, (rules.NEW_ITEM,))
        try:
            transact(ports, [put, record_put(ports, record, digest, version=number)])
        except ConditionsFailed:
            continue
        return Published(workflow_key, number, digest)
    raise Conflict(f"{workflow_key} is being published by others; try again", "publish_busy")


def _version_row(ports: Ports, document: Document, digest: str, number: int, by: str) -> Item:
    key = version_key(document.key, number)
    return {
        "pk": key.pk,
        "sk": key.sk,
        "installation_id": ports.installation_id,
        "workflow_key": document.key,
        "version": number,
        "digest": digest,
        "name": document.name or document.key,
        "purpose": document.purpose,
        "authority": document.authority,
        "published_by": by,
        "published_at": ports.clock.now(),
    }


def _latest_row(ports: Ports, workflow_key: str) -> Item | None:
    pk = version_key(workflow_key, 0).pk
    page = patiently(
        ports,
        lambda: ports.store.query(Table.CATALOG, pk, prefix=_VERSION, limit=1, newest_first=True),
    )
    return page.items[0] if page.items else None


def read_version(ports: Ports, workflow_key: str, version: int | None) -> Item:
    """The row of a version, or of the latest (None). Raises `NotFound`."""
    if version is None:
        row = _latest_row(ports, workflow_key)
        if row is None:
            raise NotFound(
                f"no version of {workflow_key} is published", "workflow_not_found", workflow_key=workflow_key
            )
        return row
    key = version_key(workflow_key, version)
    row = patiently(ports, lambda: ports.store.get(key))
    if row is None:
        raise NotFound(
            f"there is no version {version} of {workflow_key}",
            "version_not_found",
            workflow_key=workflow_key,
            version=version,
        )
    return row


def list_versions(
    ports: Ports, workflow_key: str, before: int | None, limit: int
) -> tuple[list[Item], int | None]:
    """Version rows, the newest first, and the number to go on from."""
    pk = version_key(workflow_key, 0).pk
    after = None if before is None else version_key(workflow_key, before).sk
    page = patiently(
        ports,
        lambda: ports.store.query(
            Table.CATALOG, pk, prefix=_VERSION, after=after, limit=limit, newest_first=True
        ),
    )
    more = page.next_after is not None and page.items
    return page.items, page.items[-1]["version"] if more else None
