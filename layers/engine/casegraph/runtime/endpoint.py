"""What a route is and what its function is given: an authorised call, parsed (architecture.md 10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from pydantic import BaseModel

from casegraph.application.context import Ports
from casegraph.application.publish import ComponentSchemas
from casegraph.application.schemas import Schemas
from casegraph.errors import InvalidInput, NotFound
from casegraph.limits import BODY_MAX_BYTES
from casegraph.runtime import models
from casegraph.runtime.identity import Principal

M = TypeVar("M", bound=BaseModel)


class IdempotencyKey(Enum):
    """Whether a route takes the header `Idempotency-Key`."""

    REQUIRED = "required"
    OPTIONAL = "optional"
    UNUSED = "unused"


@dataclass(frozen=True, slots=True)
class Reply:
    """A JSON answer."""

    body: Any
    status: int = 200


@dataclass(frozen=True)
class Call:
    """One authorised request. json: the parsed body, None on routes without one."""

    ports: Ports
    schemas: Schemas
    components: ComponentSchemas
    principal: Principal
    params: Mapping[str, str]
    query: Mapping[str, str]
    json: Any = None
    idempotency_key: str = ""

    def body(self, model: type[M]) -> M:
        """The body as a model. Raises `InvalidInput("invalid_body")`."""
        return models.parse(model, self.json, code="invalid_body")

    def filters(self, model: type[M]) -> M:
        """The query as a model; unknown parameters are refused. Raises `InvalidInput("invalid_query")`."""
        return models.parse(model, self.query, code="invalid_query")

    def number(self, name: str) -> int:
        """A path parameter that is a version number."""
        text = self.params[name]
        if not (text.isascii() and text.isdigit()) or len(text) > 8:
            raise InvalidInput(f"{name} must be a number, not {text[:40]!r}", "invalid_path", field=name)
        return int(text)

    def queue_exists(self, queue_id: str | None) -> None:
        """Raise `NotFound` for a queue that the caller may not see, as for one that is not there."""
        if not self.principal.sees(queue_id):
            raise NotFound(f"there is no queue {queue_id}", "queue_not_found", queue_id=queue_id)


@dataclass(frozen=True, slots=True)
class Route:
    """A route: method, path with `{names}`, and its function.

    body_max_bytes None: the route takes no body.
    """

    method: str
    path: str
    run: Callable[[Call], Reply]
    idempotency_key: IdempotencyKey = IdempotencyKey.UNUSED
    body_max_bytes: int | None = None

    @property
    def name(self) -> str:
        """`METHOD /path`, the key of the role table."""
        return f"{self.method} {self.path}"


def get(path: str, run: Callable[[Call], Reply]) -> Route:
    """A read."""
    return Route("GET", path, run)


def post(
    path: str,
    run: Callable[[Call], Reply],
    *,
    creates: bool = False,
    key: IdempotencyKey = IdempotencyKey.UNUSED,
    max_bytes: int = BODY_MAX_BYTES,
) -> Route:
    """A change; one that creates, or that has no identity of its own, needs an `Idempotency-Key`."""
    return Route("POST", path, run, IdempotencyKey.REQUIRED if creates else key, max_bytes)
