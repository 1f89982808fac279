"""The HTTP API on a test world: requests as API Gateway events, answers as status and JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from casegraph.adapters.component_registry import ComponentRegistry
from casegraph.application.context import Ports
from casegraph.local.api_event import to_event
from casegraph.local.lambda_context import LambdaContext
from casegraph.runtime.http import HttpApi
from casegraph.runtime.json_schemas import JsonSchemas
from casegraph.testing.bundles import bundle, form, node
from casegraph.testing.world import World

Json = dict[str, Any]

ADMIN = {"sub": "admin", "casegraph_roles": ["admin"], "casegraph_queues": ["*"]}
ANNA = {"sub": "anna", "casegraph_roles": ["reviewer"], "casegraph_queues": ["inbox"]}
BEN = {"sub": "ben", "casegraph_roles": ["reviewer"], "casegraph_queues": ["inbox"]}
CARL = {"sub": "carl", "casegraph_roles": ["reviewer"], "casegraph_queues": ["elsewhere"]}


@dataclass(frozen=True)
class Answer:
    """A response: status, parsed body, headers."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """The error's code."""
        return str(self.body["error"]["code"])

    @property
    def details(self) -> Json:
        """The error's details."""
        details: Json = self.body["error"]["details"]
        return details


class Api:
    """An installation with its API; `world` moves its clock and runs its jobs."""

    def __init__(self, seed: object = 1) -> None:
        self.world = World(seed=seed)
        self.ports = self.world.site.worker("api")
        self.api = HttpApi(
            self.ports,
            JsonSchemas(),
            ComponentRegistry(),
            roles_claim="casegraph_roles",
            queues_claim="casegraph_queues",
        )
        self._keys = 0

    def raw(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes,
        claims: Mapping[str, Any] | None,
    ) -> Answer:
        """One request as it is."""
        event = to_event(method, target, headers.items(), body, claims or {}, "127.0.0.1")
        if claims is None:
            del event["requestContext"]["authorizer"]
        answer = self.api.handle(event, LambdaContext("api", 29))
        found = answer.get("multiValueHeaders") or answer.get("headers") or {}
        return Answer(
            answer["statusCode"], json.loads(answer["body"]), {k.lower(): v for k, v in found.items()}
        )

    def call(
        self,
        method: str,
        target: str,
        body: Any = None,
        *,
        by: Mapping[str, Any] | None = ADMIN,
        key: str | None = None,
    ) -> Answer:
        """One request in good form; key: Idempotency-Key (a fresh one if None)."""
        self._keys += 1
        headers = {"Content-Type": "application/json", "Idempotency-Key": key or f"key-{self._keys}"}
        raw = b"" if body is None else json.dumps(body).encode()
        return self.raw(method, target, headers, raw, by)

    def get(self, target: str, *, by: Mapping[str, Any] | None = ADMIN) -> Answer:
        """A read."""
        return self.call("GET", target, by=by)

    def post(
        self, target: str, body: Any, *, by: Mapping[str, Any] | None = ADMIN, key: str | None = None
    ) -> Answer:
        """A change."""
        return self.call("POST", target, body, by=by, key=key)

    def ok(self, method: str, target: str, body: Any = None, **more: Any) -> Json:
        """A request that must succeed: its body."""
        answer = self.call(method, target, body, **more)
        assert answer.status < 300, answer.body
        found: Json = answer.body
        return found

    def publish(self, graph: Json) -> int:
        """Publish a bundle; its version."""
        version: int = self.ok("POST", f"/v1/workflows/{graph['graph']['key']}/versions", graph)["version"]
        return version

    def queue(self, queue_id: str, *, merge: str = "none", graph: Json | None = None) -> None:
        """A queue with its pinned workflow."""
        self.ok("PUT", f"/v1/queues/{queue_id}", {"name": queue_id, "merge": merge})
        if graph is not None:
            body = {"workflow_key": graph["graph"]["key"], "version": self.publish(graph)}
            self.ok("POST", f"/v1/queues/{queue_id}/pins", body)

    def report(self, queue_id: str, subject: str, *, key: str | None = None, **content: Any) -> Json:
        """Take a report in."""
        body = {"queue_id": queue_id, "subject_key": subject, "content": content}
        return self.ok("POST", "/v1/reports", body, key=key)

    @property
    def stored(self) -> tuple[int, int]:
        """How many changes of items and how many blobs there were: a refused request adds none."""
        return len(self.world.site.history.changes), len(self.world.site.blobs.names())


class Meanwhile:
    """A store that lets something happen between what a use case has read and its first transaction."""

    def __init__(self, inner: Any, interruption: Callable[[], object]) -> None:
        self._inner = inner
        self._interruption: Callable[[], object] | None = interruption

    @classmethod
    def on(cls, ports: Ports, interruption: Callable[[], object]) -> Ports:
        """These ports, with that interruption."""
        return replace(ports, store=cls(ports.store, interruption))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def transact(self, writes: Any, token: str) -> None:
        """Interrupt once, then do it."""
        interruption, self._interruption = self._interruption, None
        if interruption is not None:
            interruption()
        self._inner.transact(writes, token)


def review_bundle(key: str = "review_only", queue_id: str = "inbox", **document: Any) -> Json:
    """start -> review (remove, none) -> end."""
    return bundle(
        key,
        [
            node("start", "start"),
            node("review", "human_task", {"queue_id": queue_id, "form": "review"}, timeout_seconds=86_400),
            node("end", "end"),
        ],
        ["start.success > review", "review.remove > end", "review.none > end", "review.timeout > end"],
        forms={"review": form("remove", "none")},
        **document,
    )


def waiting_bundle(key: str = "waits") -> Json:
    """start -> wait for notice.completed -> end."""
    return bundle(
        key,
        [
            node("start", "start"),
            node("await_it", "wait_for_event", {"event_types": ["notice.completed"]}, timeout_seconds=86_400),
            node("end", "end"),
        ],
        ["start.success > await_it", "await_it.received > end", "await_it.timeout > end"],
        event_schemas={
            "notice.completed": {
                "type": "object",
                "required": ["explanation"],
                "properties": {"explanation": {"type": "string"}},
            }
        },
    )
