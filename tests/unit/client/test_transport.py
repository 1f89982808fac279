"""The client's one way to the API: what it repeats, under which key, and which error an answer becomes."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx
import pytest

from casegraph import errors
from casegraph.client.client import CasegraphClient
from casegraph.client.errors import NoConnection, UnexpectedAnswer
from casegraph.client.transport import Transport

Answer = Callable[[httpx.Request], httpx.Response]


class Api:
    """Answers one after the other, the last one for ever, and remembers the requests."""

    def __init__(self, *answers: Answer | httpx.Response) -> None:
        self._answers = list(answers)
        self.requests: list[httpx.Request] = []
        self.pauses: list[int] = []

    def transport(self) -> Transport:
        http = httpx.Client(transport=httpx.MockTransport(self._answer))
        return Transport("http://api.test/", "a-token", http=http, sleep=self.pauses.append)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        return answer(request) if callable(answer) else answer


def lost(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("gone", request=request)


def ok(body: object = None) -> httpx.Response:
    return httpx.Response(200, json=body if body is not None else {"done": True})


def refused(status: int, code: str = "some_code") -> httpx.Response:
    return httpx.Response(status, json={"error": {"code": code, "message": "why", "details": {"hint": "do"}}})


def test_a_request_carries_the_token_and_the_version_prefix() -> None:
    api = Api(ok())
    assert api.transport().get("/me") == {"done": True}
    assert str(api.requests[0].url) == "http://api.test/v1/me"
    assert api.requests[0].headers["Authorization"] == "Bearer a-token"


def test_a_read_is_repeated_after_a_lost_connection() -> None:
    api = Api(lost, ok())
    assert api.transport().get("/me") == {"done": True}
    assert len(api.requests) == 2
    assert len(api.pauses) == 1


def test_a_mutation_with_a_key_is_repeated_under_the_same_key_and_body() -> None:
    api = Api(lost, refused(503), ok())
    api.transport().post("/reports", {"a": 1}, idempotency_key="key-1")
    assert [r.headers["Idempotency-Key"] for r in api.requests] == ["key-1"] * 3
    assert {r.content for r in api.requests} == {json.dumps({"a": 1}, separators=(",", ":")).encode()}


def test_a_mutation_without_a_key_is_never_repeated() -> None:
    api = Api(lost)
    with pytest.raises(NoConnection):
        api.transport().post("/reports", {})
    assert len(api.requests) == 1


def test_patience_ends() -> None:
    api = Api(lost)
    with pytest.raises(NoConnection, match="casegraph dev"):
        api.transport().get("/me")
    assert len(api.requests) == 4


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, errors.InvalidInput),
        (401, errors.Unauthenticated),
        (403, errors.Forbidden),
        (404, errors.NotFound),
        (409, errors.Conflict),
        (413, errors.TooLarge),
        (415, errors.UnsupportedMediaType),
        (418, errors.CallerMistake),
        (429, errors.TooMany),
        (500, UnexpectedAnswer),
    ],
)
def test_a_refusal_is_the_error_of_its_status_and_is_not_repeated(
    status: int, expected: type[errors.CasegraphError]
) -> None:
    api = Api(refused(status))
    with pytest.raises(expected) as caught:
        api.transport().get("/runs/r1")
    assert type(caught.value) is expected
    assert (caught.value.code, caught.value.message, caught.value.details) == (
        "some_code",
        "why",
        {"hint": "do"},
    )
    assert len(api.requests) == 1


def test_an_answer_that_is_no_json_is_an_unexpected_answer() -> None:
    with pytest.raises(UnexpectedAnswer, match="JSON"):
        Api(httpx.Response(200, text="<html>")).transport().get("/me")


def test_an_error_page_of_another_server_still_names_its_status() -> None:
    with pytest.raises(errors.NotFound, match="404"):
        Api(httpx.Response(404, text="nothing here")).transport().get("/me")


def test_ids_are_one_segment_of_the_path() -> None:
    api = Api(ok({"items": []}))
    client = CasegraphClient(
        "http://api.test", "t", http=httpx.Client(transport=httpx.MockTransport(api._answer))
    )
    client.runs.get("../reports?x=1#y")
    assert api.requests[0].url.raw_path == b"/v1/runs/..%2Freports%3Fx%3D1%23y"


def test_a_list_is_walked_page_by_page() -> None:
    api = Api(ok({"items": [{"n": 1}], "next_cursor": "c1"}), ok({"items": [{"n": 2}], "next_cursor": None}))
    client = CasegraphClient(
        "http://api.test", "t", http=httpx.Client(transport=httpx.MockTransport(api._answer))
    )
    assert [run["n"] for run in client.runs.list(state="waiting")] == [1, 2]
    assert dict(api.requests[1].url.params) == {"limit": "100", "state": "waiting", "cursor": "c1"}


def test_each_report_gets_a_key_of_its_own_unless_one_is_given() -> None:
    api = Api(ok())
    client = CasegraphClient(
        "http://api.test", "t", http=httpx.Client(transport=httpx.MockTransport(api._answer))
    )
    client.reports.send({})
    client.reports.send({})
    client.reports.send({}, idempotency_key="mine")
    keys = [request.headers["Idempotency-Key"] for request in api.requests]
    assert len(set(keys)) == 3
    assert keys[2] == "mine"
