"""Components in this process: Python callables, by entry point group `casegraph.components` or registered by hand."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Any

from casegraph.application.ports import ComponentAnswer, ComponentRequest
from casegraph.domain.canonical import NotCanonical, canonical_bytes
from casegraph.errors import NodeFailed

GROUP = "casegraph.components"

# Takes a request; answers a `ComponentAnswer`, or the bare JSON result for port `success`.
Component = Callable[[ComponentRequest], Any]


class ComponentRegistry:
    """The `Components` port. A component that is registered by hand hides the entry point of the same id."""

    def __init__(self, components: Mapping[str, Component] | None = None) -> None:
        self._components: dict[str, Component] = dict(components or {})

    def call(self, request: ComponentRequest) -> ComponentAnswer:
        """Run a component for at most its time. Raises `NodeFailed`: `component_unknown`, `component_timeout`,
        `component_failed` (whatever it raised), `component_answer_invalid`, or its own code."""
        answer = _in_time(self._find(request.component_id), request)
        if not isinstance(answer, ComponentAnswer):
            answer = ComponentAnswer(answer)
        try:
            canonical_bytes(answer.result)
        except NotCanonical as exc:
            raise NodeFailed("component_answer_invalid", exc.message) from exc
        return answer

    def output_schema(self, component_id: str) -> dict[str, Any] | None:
        """The JSON Schema of a component's result: its attribute `output_schema`, or `OUTPUT_SCHEMA` of its module.

        None when the component says nothing, or is not in this process.
        """
        try:
            component = self._find(component_id)
        except NodeFailed:
            return None
        module = sys.modules.get(getattr(component, "__module__", ""))
        schema = getattr(component, "output_schema", None) or getattr(module, "OUTPUT_SCHEMA", None)
        return schema if isinstance(schema, dict) else None

    def _find(self, component_id: str) -> Component:
        if component_id not in self._components:
            found = next(iter(entry_points(group=GROUP, name=component_id)), None)
            if found is None:
                raise NodeFailed("component_unknown", f"no component {component_id} is installed")
            self._components[component_id] = found.load()
        return self._components[component_id]


def _in_time(component: Component, request: ComponentRequest) -> Any:
    """The answer, or a failure; a component that takes too long is left behind in its thread."""
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(component(request))
        except Exception as exc:  # noqa: BLE001 - whatever it raised becomes the step's failure, with a short code
            failure.append(exc)

    thread = threading.Thread(target=run, name=f"component-{request.component_id}", daemon=True)
    thread.start()
    thread.join(request.timeout_seconds)
    if failure:
        cause = failure[0]
        if isinstance(cause, NodeFailed):
            raise cause
        raise NodeFailed("component_failed", type(cause).__name__, retryable=True) from cause
    if not outcome:
        raise NodeFailed("component_timeout", retryable=True)
    return outcome[0]
