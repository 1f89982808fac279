"""Components in this process: found by entry point, bounded in time, and every failure has a short code."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from casegraph.adapters.component_registry import ComponentRegistry
from casegraph.application.ports import ComponentAnswer, ComponentRequest
from casegraph.errors import NodeFailed


def call(component: Callable[[ComponentRequest], Any], seconds: float = 5.0) -> ComponentAnswer:
    registry = ComponentRegistry({"mine": component})
    return registry.call(ComponentRequest("mine", "run-1", "load#1", {"a": 1}, seconds))


def code_of(component: Callable[[ComponentRequest], Any], seconds: float = 5.0) -> tuple[str, bool]:
    with pytest.raises(NodeFailed) as caught:
        call(component, seconds)
    return caught.value.code, caught.value.retryable


def test_a_bare_result_leaves_by_success() -> None:
    assert call(lambda request: {"seen": dict(request.input)}) == ComponentAnswer(
        {"seen": {"a": 1}}, "success"
    )


def test_an_answer_may_name_its_port() -> None:
    assert call(lambda _: ComponentAnswer({"n": 1}, "suspicious")).port == "suspicious"


def test_a_failure_of_its_own_keeps_its_code() -> None:
    def refuses(_: ComponentRequest) -> None:
        raise NodeFailed("subject_unreadable", retryable=False)

    assert code_of(refuses) == ("subject_unreadable", False)


def test_an_exception_is_a_failure_that_may_be_tried_again_and_says_nothing_of_its_text() -> None:
    def breaks(_: ComponentRequest) -> None:
        raise RuntimeError("private words")

    with pytest.raises(NodeFailed) as caught:
        call(breaks)
    assert (caught.value.code, caught.value.retryable) == ("component_failed", True)
    assert "private words" not in caught.value.message


def test_a_component_that_takes_too_long_is_left_behind() -> None:
    released = threading.Event()
    try:
        assert code_of(lambda _: released.wait(5), 0.05) == ("component_timeout", True)
    finally:
        released.set()


@pytest.mark.parametrize("result", [{"n": float("nan")}, {1: 2}, object(), {"s": {1, 2}}, "\ud800"])
def test_an_answer_that_is_no_json_is_a_failure(result: Any) -> None:
    assert code_of(lambda _: result)[0] == "component_answer_invalid"


def test_an_unknown_component_is_a_failure_with_that_code() -> None:
    with pytest.raises(NodeFailed) as caught:
        ComponentRegistry().call(ComponentRequest("nobody", "run-1", "load#1", {}, 1.0))
    assert caught.value.code == "component_unknown"


def test_an_installed_component_is_found_with_its_output_schema() -> None:
    registry = ComponentRegistry()
    schema = registry.output_schema("subject-and-history")
    assert schema is not None
    assert "history" in schema["properties"]
    request = ComponentRequest("subject-and-history", "r", "s", {"subject": {"did": "did:example:a"}}, 5.0)
    assert registry.call(request).result["account"]["did"] == "did:example:a"
    assert registry.output_schema("nobody") is None
