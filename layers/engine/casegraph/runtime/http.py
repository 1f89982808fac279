"""The HTTP API over Powertools' resolver: identity, roles, body rules and errors, each in one place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError

from casegraph.application.context import Ports
from casegraph.application.publish import ComponentSchemas
from casegraph.application.schemas import Schemas
from casegraph.errors import CallerMistake, CasegraphError, InvalidInput, NotFound, Retryable
from casegraph.limits import IDEMPOTENCY_KEY_MAX_CHARACTERS, STEP_ID_MAX_BYTES
from casegraph.runtime.access import require_role
from casegraph.runtime.deadline import LambdaContext
from casegraph.runtime.endpoint import Call, IdempotencyKey, Reply, Route
from casegraph.runtime.identity import principal_of
from casegraph.runtime.json_body import body_of
from casegraph.runtime.routes import connectors, effects, events, me, queues, reports, runs, tasks, workflows

ROUTES: tuple[Route, ...] = (
    *workflows.ROUTES,
    *queues.ROUTES,
    *connectors.ROUTES,
    *reports.ROUTES,
    *runs.ROUTES,
    *events.ROUTES,
    *tasks.ROUTES,
    *effects.ROUTES,
    *me.ROUTES,
)

# A task's id is its run's id and its step's id.
_PARAMETER_MAX_BYTES = STEP_ID_MAX_BYTES + 64
_PATH_SHOWN_CHARACTERS = 200
_NEVER_CACHED = "no-store"


class MethodNotAllowed(CallerMistake):
    """The path is one of ours, with other methods; `allowed` names them."""

    status = 405
    default_code = "method_not_allowed"


_PATHS = tuple((re.compile(re.sub(r"{\w+}", "[^/]+", route.path)), route.method) for route in ROUTES)


def allowed_methods(path: str) -> list[str]:
    """The methods that a path takes; none when it is no path of ours."""
    return sorted({method for pattern, method in _PATHS if pattern.fullmatch(path)})


class HttpApi:
    """The API of one deployment. `handle` takes an API Gateway event (HTTP API, payload 2.0)."""

    def __init__(
        self,
        ports: Ports,
        schemas: Schemas,
        components: ComponentSchemas,
        *,
        roles_claim: str,
        queues_claim: str,
    ) -> None:
        self._ports = ports
        self._schemas = schemas
        self._components = components
        self._claims = (roles_claim, queues_claim)
        self._app = APIGatewayHttpResolver()
        for route in ROUTES:
            rule = route.path.replace("{", "<").replace("}", ">")
            self._app.route(rule, method=route.method)(self._endpoint(route))
        self._app.not_found(self._no_such_route)

    def handle(self, event: Mapping[str, Any], context: LambdaContext) -> dict[str, Any]:
        """Answer one request."""
        return self._app.resolve(dict(event), context)  # type: ignore[arg-type]

    def _endpoint(self, route: Route) -> Callable[..., Response[str]]:
        def respond(**params: str) -> Response[str]:
            event = self._app.current_event.raw_event
            try:
                reply = route.run(self._call(route, event, params))
            except CasegraphError as error:
                return self._error(route.name, error)
            except Exception as error:  # noqa: BLE001 - whatever it was, the caller gets an answer of ours
                self._ports.journal.event("request_failed", route=route.name, code=type(error).__name__)
                return self._error(route.name, CasegraphError("something went wrong here; try again later"))
            self._ports.journal.event("request", route=route.name, status=reply.status)
            return self._response(reply)

        return respond

    def _call(self, route: Route, event: Mapping[str, Any], params: Mapping[str, str]) -> Call:
        """Check in this order: who, whether their role may, the path, the key, the body."""
        principal = principal_of(event, *self._claims)
        require_role(principal, route.name)
        for name, value in params.items():
            if len(value.encode()) > _PARAMETER_MAX_BYTES:
                raise NotFound(f"{name} is too long to be one of ours")
        return Call(
            ports=self._ports,
            schemas=self._schemas,
            components=self._components,
            principal=principal,
            params=params,
            query=event.get("queryStringParameters") or {},
            idempotency_key=_idempotency_key(route, event),
            json=None if route.body_max_bytes is None else body_of(event, route.body_max_bytes),
        )

    def _error(self, route: str, error: CasegraphError) -> Response[str]:
        """The one mapping of errors to answers; what is ours to repair says nothing of its insides."""
        ours = error.status == 500
        self._ports.journal.event("request_refused", route=route, status=error.status, code=error.code)
        message = "something went wrong here; try again later" if ours else error.message
        details = {} if ours else error.details
        body = {"error": {"code": error.code, "message": message, "details": details}}
        return self._response(Reply(body, error.status), retry=isinstance(error, Retryable))

    def _response(self, reply: Reply, *, retry: bool = False) -> Response[str]:
        headers: dict[str, str | list[str]] = {
            "Cache-Control": _NEVER_CACHED,
            "X-Content-Type-Options": "nosniff",
        }
        request_id = self._app.current_event.raw_event.get("requestContext", {}).get("requestId")
        if request_id:
            headers["X-Request-Id"] = str(request_id)
        if retry:
            headers["Retry-After"] = "1"
        body = json.dumps(reply.body, ensure_ascii=False, separators=(",", ":"))
        return Response(reply.status, "application/json", body, headers=headers)

    def _no_such_route(self, _: NotFoundError) -> Response[str]:
        event = self._app.current_event
        method, path = event.http_method, event.path[:_PATH_SHOWN_CHARACTERS]
        allowed = allowed_methods(event.path)
        if not allowed or method in allowed:
            return self._error("unknown", NotFound(f"there is no {method} {path}", "route_not_found"))
        text = f"{path} takes {', '.join(allowed)}, not {method}"
        answer = self._error("unknown", MethodNotAllowed(text, allowed=allowed))
        answer.headers["Allow"] = ", ".join(allowed)
        return answer


def _idempotency_key(route: Route, event: Mapping[str, Any]) -> str:
    if route.idempotency_key is IdempotencyKey.UNUSED:
        return ""
    headers = {str(name).lower(): value for name, value in (event.get("headers") or {}).items()}
    key = str(headers.get("idempotency-key", "")).strip()
    if not key and route.idempotency_key is IdempotencyKey.OPTIONAL:
        return ""
    if not key:
        raise InvalidInput(
            "the header Idempotency-Key is missing; send a fresh one with each new request, the same with a retry",
            "idempotency_key_missing",
            field="Idempotency-Key",
        )
    if len(key) > IDEMPOTENCY_KEY_MAX_CHARACTERS or not (key.isascii() and key.isprintable()):
        raise InvalidInput(
            f"Idempotency-Key must be 1 to {IDEMPOTENCY_KEY_MAX_CHARACTERS} printable ASCII characters",
            "idempotency_key_invalid",
            field="Idempotency-Key",
        )
    return key
