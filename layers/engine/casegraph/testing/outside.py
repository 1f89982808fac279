"""The outside of a test world: scripted components and connectors, and a receiver that remembers what it applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from casegraph.application.ports import (
    Applied,
    ComponentAnswer,
    ComponentRequest,
    Connector,
    EffectRequest,
    NotFoundThere,
    Outcome,
    Rejected,
    RetryLater,
    Unknown,
)
from casegraph.errors import NodeFailed
from casegraph.testing.timeline import VirtualTime

Answer = Callable[[Mapping[str, Any]], Any]
Scripted = Outcome | Exception | Callable[[EffectRequest], Outcome]


@dataclass(frozen=True, slots=True)
class Received:
    """One call as the receiver saw it; applied: whether it did it now (a repeated key is answered, not applied)."""

    at: int
    connector_id: str
    effect_id: str
    operation_key: str
    attempt: int
    payload: Any
    applied: bool


class ScriptedComponents:
    """Components by id: a function of the mapped input that returns a JSON result, a `ComponentAnswer`, or raises."""

    def __init__(self) -> None:
        self._answers: dict[str, Answer] = {}
        self.calls: list[ComponentRequest] = []

    def register(self, component_id: str, answer: Answer) -> None:
        """Let a component answer this way from now on."""
        self._answers[component_id] = answer

    def call(self, request: ComponentRequest) -> ComponentAnswer:
        """See `Components.call`."""
        self.calls.append(request)
        if request.component_id not in self._answers:
            raise NodeFailed("component_unknown", f"the world has no component {request.component_id!r}")
        answer = self._answers[request.component_id](request.input)
        return answer if isinstance(answer, ComponentAnswer) else ComponentAnswer(answer)


@dataclass
class ScriptedConnector:
    """A connector whose outcomes are told in advance; the last one is repeated.

    Its receiver deduplicates by operation key when `deduplicates` (the `idempotent` class), and can be asked.
    received: every call; applied: result by operation key; times: how often each key was applied.
    An `Unknown` outcome reaches the receiver or not: `unknown_applies`.
    """

    connector_id: str
    time: VirtualTime
    outcomes: list[Scripted] = field(default_factory=lambda: [Applied()])
    visibility_seconds: int = 0
    deduplicates: bool = True
    unknown_applies: bool = True
    received: list[Received] = field(default_factory=list)
    applied: dict[str, Any] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)

    def deliver(self, request: EffectRequest) -> Outcome:
        """See `Connector.deliver`."""
        scripted = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
        if isinstance(scripted, Exception):
            self._receive(request, self.unknown_applies, None)
            raise scripted
        outcome = scripted(request) if callable(scripted) else scripted
        match outcome:
            case Applied():
                return Applied(self._receive(request, True, outcome.result))
            case Unknown():
                self._receive(request, self.unknown_applies, None)
            case Rejected() | RetryLater():
                self._receive(request, False, None)
        return outcome

    def look_up(self, request: EffectRequest) -> Applied | Rejected | NotFoundThere | Unknown:
        """See `Connector.look_up`."""
        if request.operation_key in self.applied:
            return Applied(self.applied[request.operation_key])
        return NotFoundThere()

    def _receive(self, request: EffectRequest, applies: bool, result: Any) -> Any:
        known = self.deduplicates and request.operation_key in self.applied
        applied = applies and not known
        if applied:
            self.applied[request.operation_key] = result
            self.times[request.operation_key] = self.times.get(request.operation_key, 0) + 1
        self.received.append(
            Received(
                self.time.at, self.connector_id, request.effect_id, request.operation_key, request.attempt,
                request.payload, applied,
            )
        )  # fmt: skip
        return self.applied.get(request.operation_key, result)


class ScriptedConnectors:
    """Connectors by id."""

    def __init__(self) -> None:
        self._connectors: dict[str, Connector] = {}

    def register(self, connector_id: str, connector: Connector) -> None:
        """Let a connector be found under this id."""
        self._connectors[connector_id] = connector

    def get(self, connector_id: str) -> Connector:
        """See `Connectors.get`."""
        if connector_id not in self._connectors:
            raise NodeFailed("connector_unknown", f"the world has no connector {connector_id!r}")
        return self._connectors[connector_id]

    def all(self) -> Iterable[Connector]:
        """Every connector."""
        return self._connectors.values()


@dataclass
class Notes:
    """The journal of a world: log events and counters, kept for assertions."""

    events: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def event(self, name: str, **fields: str | int | bool | None) -> None:
        """See `Journal.event`."""
        self.events.append((name, fields))

    def count(self, name: str, value: int = 1) -> None:
        """See `Journal.count`."""
        self.counts[name] = self.counts.get(name, 0) + value
