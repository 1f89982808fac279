"""Connectors: where effects go."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, RootModel, StringConstraints, TypeAdapter, ValidationError

from casegraph.application import connectors
from casegraph.errors import InvalidInput
from casegraph.limits import BODY_MAX_BYTES
from casegraph.runtime.endpoint import Call, IdempotencyKey, Reply, Route, get
from casegraph.runtime.models import Body, ObjectId

_ID: TypeAdapter[str] = TypeAdapter(ObjectId)


def _web_address(text: str) -> str:
    scheme, _, rest = text.partition("://")
    if scheme not in ("http", "https") or not rest or "@" in rest.partition("/")[0]:
        raise ValueError("must be an http or https address without user or password")
    return text


Url = Annotated[str, StringConstraints(max_length=2_048), AfterValidator(_web_address)]


class RecorderBody(Body):
    """Records what it is given, in this installation."""

    kind: Literal["recorder"]


class HttpBody(Body):
    """POSTs to an address. visibility_seconds: how long the receiver takes to know what it was sent."""

    kind: Literal["http"]
    url: Url
    visibility_seconds: Annotated[int, Field(ge=0, le=86_400)] = 60


class ConnectorBody(RootModel[Annotated[RecorderBody | HttpBody, Field(discriminator="kind")]]):
    """PUT of a connector."""


def put(call: Call) -> Reply:
    """Create or change a connector."""
    connector_id = call.params["connector_id"]
    try:
        _ID.validate_python(connector_id)
    except ValidationError as exc:
        raise InvalidInput(
            "a connector's id has letters, digits, _, - and ., and starts with a letter or digit",
            "invalid_path",
            field="connector_id",
        ) from exc
    settings = call.body(ConnectorBody).root.model_dump()
    return Reply(connectors.put_connector(call.ports, connector_id, settings, call.principal.subject))


def show(call: Call) -> Reply:
    """A connector's settings."""
    return Reply(connectors.read_connector(call.ports, call.params["connector_id"]))


ROUTES = (
    Route("PUT", "/v1/connectors/{connector_id}", put, IdempotencyKey.UNUSED, BODY_MAX_BYTES),
    get("/v1/connectors/{connector_id}", show),
)
