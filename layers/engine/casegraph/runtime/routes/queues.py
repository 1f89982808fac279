"""Queues and their pins."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from casegraph.application import queues
from casegraph.errors import InvalidInput
from casegraph.limits import BODY_MAX_BYTES
from casegraph.runtime.endpoint import Call, IdempotencyKey, Reply, Route, get, post
from casegraph.runtime.models import Body, ObjectId, Title, WorkflowKey

_ID: TypeAdapter[str] = TypeAdapter(ObjectId)


class QueueBody(Body):
    """PUT of a queue. default: reports that name no queue come here."""

    name: Title
    merge: Literal["none", "subject"] = "none"
    default: bool = False


class PinBody(Body):
    """POST of a pin: the version whose runs the queue's reports start."""

    workflow_key: WorkflowKey
    version: Annotated[int, Field(ge=1)]
    mode: Literal["primary"] = "primary"


def _queue_id(call: Call) -> str:
    queue_id = call.params["queue_id"]
    call.queue_exists(queue_id)
    return queue_id


def put(call: Call) -> Reply:
    """Create or change a queue."""
    queue_id = _queue_id(call)
    try:
        _ID.validate_python(queue_id)
    except ValidationError as exc:
        raise InvalidInput(
            "a queue's id has letters, digits, _, - and ., and starts with a letter or digit",
            "invalid_path",
            field="queue_id",
        ) from exc
    body = call.body(QueueBody)
    sees = call.principal.sees
    queue = queues.put_queue(call.ports, queue_id, body.name, body.merge, default=body.default, sees=sees)
    return Reply(queues.queue_view(call.ports, queue))


def show(call: Call) -> Reply:
    """A queue with its pins."""
    return Reply(queues.queue_view(call.ports, queues.read_queue(call.ports, _queue_id(call))))


def pin(call: Call) -> Reply:
    """Pin a published version."""
    queue_id, body = _queue_id(call), call.body(PinBody)
    by = call.principal.subject
    queue = queues.pin_version(call.ports, queue_id, body.workflow_key, body.version, by)
    return Reply(queues.queue_view(call.ports, queue))


def unpin(call: Call) -> Reply:
    """Take the primary pin away."""
    return Reply(queues.queue_view(call.ports, queues.unpin(call.ports, _queue_id(call))))


ROUTES = (
    Route("PUT", "/v1/queues/{queue_id}", put, IdempotencyKey.UNUSED, BODY_MAX_BYTES),
    get("/v1/queues/{queue_id}", show),
    post("/v1/queues/{queue_id}/pins", pin),
    Route("DELETE", "/v1/queues/{queue_id}/pins", unpin),
)
