"""Publishing a version: validate everything, store the bundle by digest, allocate the number (architecture.md 6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from casegraph.application.context import Ports
from casegraph.application.idempotency import read_record, record_key, record_put
from casegraph.application.persistence import patiently, transact
from casegraph.application.versions import bundle_name, version_key
from casegraph.domain import rules
from casegraph.domain.canonical import canonical_bytes
from casegraph.domain.graph.bundle import bundle_digest
from casegraph.domain.graph.validation import Problem, validate
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


def problems_of(bundle: dict[str, Any]) -> list[dict[str, Any]]:
    """Every problem of a bundle, each with its place; empty when it may be published. Stores nothing."""
    return [_problem(problem) for problem in validate(bundle).problems]


def _problem(problem: Problem) -> dict[str, Any]:
    view = {"code": problem.code, "pointer": problem.pointer, "message": problem.message}
    if problem.hint:
        view["hint"] = problem.hint
    return view


def publish(
    ports: Ports, workflow_key: str, bundle: dict[str, Any], *, by: str, idempotency_key: str
) -> Published:
    """Publish a bundle as the next version of its workflow. The same bundle as the latest version is that version.

    Raises `InvalidInput("graph_invalid")` with every problem at once, `InvalidInput("workflow_key_mismatch")`,
    `Conflict("idempotency_key_reused")`.
    """
    problems = problems_of(bundle)
    if problems:
        raise InvalidInput(_summary(problems), "graph_invalid", problems=problems)
    own_key = bundle["graph"]["key"]
    if own_key != workflow_key:
        raise InvalidInput(
            f"the graph's key is {own_key!r}, the path says {workflow_key!r}; publish it under its own key",
            "workflow_key_mismatch",
            pointer="/graph/key",
            allowed=[own_key],
        )
    return _store(ports, workflow_key, bundle, by, idempotency_key)


def _summary(problems: list[dict[str, Any]]) -> str:
    first = problems[0]
    more = f" (and {len(problems) - 1} more, see details.problems)" if len(problems) > 1 else ""
    return f"{first['pointer'] or '/'}: {first['message']}{more}"


def _store(
    ports: Ports, workflow_key: str, bundle: dict[str, Any], by: str, idempotency_key: str
) -> Published:
    digest = bundle_digest(bundle)
    record = record_key(f"publish {workflow_key}", by, idempotency_key)
    body = canonical_bytes(bundle)
    patiently(ports, lambda: ports.blobs.put(bundle_name(digest), body))
    for _ in range(MAX_SIGNAL_TRIES):
        known = read_record(ports, record, digest)
        if known is not None:
            return Published(workflow_key, known["version"], digest, replayed=True)
        latest = _latest_row(ports, workflow_key)
        if latest is not None and latest["digest"] == digest:
            return Published(workflow_key, latest["version"], digest, replayed=True)
        number = 1 if latest is None else latest["version"] + 1
        row = _version_row(ports, bundle["graph"], digest, number, by)
        put = Put(version_key(workflow_key, number), row, (rules.NEW_ITEM,))
        try:
            transact(ports, [put, record_put(ports, record, digest, version=number)])
        except ConditionsFailed:
            continue
        return Published(workflow_key, number, digest)
    raise Conflict(f"{workflow_key} is being published by others; try again", "publish_busy")


def _version_row(ports: Ports, graph: dict[str, Any], digest: str, number: int, by: str) -> Item:
    key = version_key(graph["key"], number)
    return {
        "pk": key.pk,
        "sk": key.sk,
        "installation_id": ports.installation_id,
        "workflow_key": graph["key"],
        "version": number,
        "digest": digest,
        "name": graph.get("name", graph["key"]),
        "purpose": graph.get("purpose", "report"),
        "authority": graph.get("authority", "assist"),
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
