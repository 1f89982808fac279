"""Validating and publishing workflows."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter, ValidationError

from casegraph.application import cursors, publish
from casegraph.domain.instants import rfc3339
from casegraph.domain.writes import Item
from casegraph.errors import InvalidInput
from casegraph.limits import PUBLISH_BODY_MAX_BYTES
from casegraph.runtime.endpoint import Call, Reply, get, post
from casegraph.runtime.models import Listing, WorkflowKey

_KEY: TypeAdapter[str] = TypeAdapter(WorkflowKey)


def _key(call: Call) -> str:
    try:
        return _KEY.validate_python(call.params["key"])
    except ValidationError as exc:
        raise InvalidInput(
            "a workflow's key has lower case letters, digits, _ and -, and starts with a letter",
            "invalid_path",
            field="key",
        ) from exc


def _bundle(call: Call) -> dict[str, Any]:
    if not isinstance(call.json, dict):
        raise InvalidInput("the body must be a bundle: a JSON object with graph and forms", "invalid_body")
    return call.json


def validate(call: Call) -> Reply:
    """Every problem of a bundle at once; nothing is stored."""
    problems = publish.problems_of(_bundle(call), call.components)
    return Reply({"valid": not problems, "problems": problems})


def create(call: Call) -> Reply:
    """Publish the next version."""
    made = publish.publish(
        call.ports,
        call.components,
        _key(call),
        _bundle(call),
        by=call.principal.subject,
        idempotency_key=call.idempotency_key,
    )
    body = {
        "key": made.workflow_key,
        "version": made.version,
        "digest": made.digest,
        "replayed": made.replayed,
    }
    return Reply(body, 200 if made.replayed else 201)


def index(call: Call) -> Reply:
    """The versions of a workflow, the newest first."""
    key, query = _key(call), call.filters(Listing)
    position = cursors.decode("versions", {"key": key}, query.cursor, int)
    rows, more = publish.list_versions(call.ports, key, position[0] if position else None, query.limit)
    cursor = cursors.encode("versions", {"key": key}, None if more is None else [more])
    return Reply({"items": [_view(row) for row in rows], "next_cursor": cursor})


def show(call: Call) -> Reply:
    """One version with its bundle."""
    row = publish.read_version(call.ports, _key(call), call.number("version"))
    return Reply({**_view(row), "bundle": call.ports.versions.bundle(row["digest"])})


def _view(row: Item) -> dict[str, Any]:
    names = ("version", "digest", "name", "purpose", "authority", "published_by")
    view = {name: row[name] for name in names}
    return {"key": row["workflow_key"], **view, "published_at": rfc3339(row["published_at"])}


ROUTES = (
    post("/v1/workflows/validate", validate, max_bytes=PUBLISH_BODY_MAX_BYTES),
    post("/v1/workflows/{key}/versions", create, creates=True, max_bytes=PUBLISH_BODY_MAX_BYTES),
    get("/v1/workflows/{key}/versions", index),
    get("/v1/workflows/{key}/versions/{version}", show),
)
