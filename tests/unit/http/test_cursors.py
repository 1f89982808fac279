"""A cursor that no list gave out is refused with 400, whatever it holds; those that were given out go on."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from casegraph.application import cursors
from casegraph.errors import InvalidInput
from tests.unit.http.harness import Api, review_bundle, waiting_bundle


def forged(listing: str, filters: dict[str, Any], position: list[Any]) -> str:
    cursor = cursors.encode(listing, filters, position)
    assert cursor is not None
    return cursor


@pytest.mark.parametrize("text", ["", "HEAD", "EFFECT", "STEP#1", "EFFECT#" + "x" * 1_100, "EFFECT#\ud800"])
def test_a_forged_position_of_the_effects_is_a_bad_cursor(text: str) -> None:
    api = Api()
    api.publish(waiting_bundle())
    run_id = api.ok("POST", "/v1/runs", {"workflow_key": "waits", "input": {}})["run_id"]
    cursor = forged("effects", {"run_id": run_id}, [text])
    answer = api.get(f"/v1/effects?run_id={run_id}&cursor={cursor}")
    assert (answer.status, answer.code) == (400, "bad_cursor")


@pytest.mark.parametrize("position", [["", "a", "b"], ["1", "", "b"], ["1" * 1_025, "a", "b"], [1, "a", "b"]])
def test_a_forged_position_of_the_tasks_is_a_bad_cursor(position: list[Any]) -> None:
    api = Api()
    api.queue("inbox", graph=review_bundle())
    cursor = forged("tasks", {"queue_id": "inbox"}, position)
    answer = api.get(f"/v1/tasks?queue_id=inbox&cursor={cursor}")
    assert (answer.status, answer.code) == (400, "bad_cursor")


@pytest.mark.parametrize("number", [-1, 1 << 54, 10**60, True, 1.5, None, "1"])
def test_a_forged_number_is_a_bad_cursor(number: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        cursors.decode("log", {}, forged("log", {}, [number]), int)
    assert caught.value.code == "bad_cursor"


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"1", b"[[[", b"\xff"])
def test_what_is_no_position_at_all_is_a_bad_cursor(body: bytes) -> None:
    with pytest.raises(InvalidInput) as caught:
        cursors.decode("log", {}, base64.urlsafe_b64encode(body).decode(), int)
    assert caught.value.code == "bad_cursor"


def test_a_position_that_was_given_out_is_read_back() -> None:
    position = [1_700_000_000_000, "RUN#r_1", "HEAD"]
    assert json.dumps(cursors.decode("runs", {"a": 1}, forged("runs", {"a": 1}, position), int, str, str))
    assert cursors.decode("effects", {}, forged("effects", {}, ["EFFECT#1"]), str, prefixes=("EFFECT#",)) == (
        "EFFECT#1",
    )
