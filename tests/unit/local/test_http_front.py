"""The HTTP front does what API Gateway does: token first, then the event that the function gets on AWS."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx
import pytest

from casegraph.errors import Unauthenticated
from casegraph.local.api_event import claims_as_strings, from_response, to_event
from casegraph.local.http_front import GATEWAY_BODY_MAX_BYTES, HttpFront, _Handler

Event = dict[str, Any]


class Echo:
    """An api function that answers with the event that it got."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.inside = 0
        self.most_inside = 0
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> Event:
        with self._lock:
            self.inside += 1
            self.most_inside = max(self.most_inside, self.inside)
            self.events.append(event)
        threading.Event().wait(0.01)
        with self._lock:
            self.inside -= 1
        return {"statusCode": 201, "headers": {"X-Own": "1"}, "body": '{"ok": true}'}


def verify(token: str) -> Mapping[str, Any]:
    if token != "good":
        raise Unauthenticated("the token is not one of ours")
    return {"sub": "reviewer-1", "casegraph_roles": ["reviewer", "viewer"]}


@pytest.fixture
def echo() -> Echo:
    return Echo()


@pytest.fixture
def front(echo: Echo) -> Iterator[HttpFront]:
    served = HttpFront(echo, verify)
    served.start()
    yield served
    served.stop()


@pytest.fixture
def call(front: HttpFront) -> Iterator[Callable[..., httpx.Response]]:
    with httpx.Client(
        base_url=front.url, headers={"Authorization": "Bearer good"}, trust_env=False
    ) as client:
        yield client.request


def test_a_request_becomes_an_event_and_the_answer_comes_back(
    call: Callable[..., httpx.Response], echo: Echo
) -> None:
    answer = call("POST", "/v1/runs/r%201?state=a&state=b&x=", json={"a": 1}, headers={"X-Two": "2"})
    assert (answer.status_code, answer.json(), answer.headers["X-Own"]) == (201, {"ok": True}, "1")
    (event,) = echo.events
    assert event["version"] == "2.0"
    assert event["rawPath"] == "/v1/runs/r 1"
    assert event["queryStringParameters"] == {"state": "a,b", "x": ""}
    assert event["body"] == '{"a":1}'
    assert event["headers"]["x-two"] == "2"
    assert event["requestContext"]["http"]["method"] == "POST"


def test_list_claims_reach_the_function_as_strings_as_on_aws(
    call: Callable[..., httpx.Response], echo: Echo
) -> None:
    call("GET", "/v1/me")
    claims = echo.events[0]["requestContext"]["authorizer"]["jwt"]["claims"]
    assert claims == {"sub": "reviewer-1", "casegraph_roles": "[reviewer viewer]"}


@pytest.mark.parametrize(
    "header",
    [{}, {"Authorization": "good"}, {"Authorization": "Bearer bad"}, {"Authorization": "Basic good"}],
)
def test_without_a_good_token_the_function_is_not_called(
    front: HttpFront, echo: Echo, header: dict[str, str]
) -> None:
    answer = httpx.get(f"{front.url}/v1/me", headers=header, trust_env=False)
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "unauthenticated"
    assert echo.events == []


def test_the_authorizer_context_of_the_caller_is_not_believed(
    call: Callable[..., httpx.Response], echo: Echo
) -> None:
    call("POST", "/v1/me", json={"requestContext": {"authorizer": {"jwt": {"claims": {"sub": "admin"}}}}})
    assert echo.events[0]["requestContext"]["authorizer"]["jwt"]["claims"]["sub"] == "reviewer-1"


def test_a_body_over_the_gateways_bound_is_refused_unread(front: HttpFront, echo: Echo) -> None:
    with socket.create_connection(("127.0.0.1", int(front.url.rpartition(":")[2]))) as connection:
        head = "POST /v1/reports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good\r\n"
        head += f"Content-Length: {GATEWAY_BODY_MAX_BYTES + 1}\r\n\r\n"
        connection.sendall(head.encode())
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    assert answer.startswith(b"HTTP/1.1 413")
    assert b"too_large" in answer
    assert echo.events == []


def test_a_body_without_a_length_is_refused(front: HttpFront, echo: Echo) -> None:
    answer = httpx.post(
        f"{front.url}/v1/reports",
        content=iter([b"{}"]),
        headers={"Authorization": "Bearer good"},
        trust_env=False,
    )
    assert answer.json()["error"]["code"] == "length_required"
    assert echo.events == []


def test_one_request_at_a_time_reaches_the_handler(call: Callable[..., httpx.Response], echo: Echo) -> None:
    threads = [threading.Thread(target=call, args=("GET", "/v1/me")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(echo.events) == 8
    assert echo.most_inside == 1


def test_a_binary_body_is_base64() -> None:
    event = to_event("POST", "/v1/x", [], b"\xff\xfe", {}, "127.0.0.1")
    assert (event["body"], event["isBase64Encoded"]) == ("//4=", True)


def test_a_base64_answer_is_decoded() -> None:
    assert from_response({"statusCode": 200, "body": "//4=", "isBase64Encoded": True})[2] == b"\xff\xfe"


def test_numbers_and_booleans_of_claims_are_strings() -> None:
    assert claims_as_strings({"exp": 17, "admin": True, "none": []}) == {
        "exp": "17",
        "admin": "true",
        "none": "[]",
    }


def test_a_function_that_raises_is_a_500_that_tells_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(event: Event) -> Event:
        raise ValueError("a secret")

    front = HttpFront(broken, verify)
    front.start()
    answer = httpx.get(f"{front.url}/v1/me", headers={"Authorization": "Bearer good"}, trust_env=False)
    front.stop()
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "function_failed")
    assert "a secret" not in answer.text
    assert "a secret" in caplog.text


def exchange(front: HttpFront, request: bytes, *, half_close: bool = False) -> tuple[int, Any]:
    """The raw answer to a raw request: status and body."""
    with socket.create_connection(("127.0.0.1", int(front.url.rpartition(":")[2])), timeout=5) as connection:
        connection.sendall(request)
        if half_close:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"application/json" in head
    return int(head.split(b" ")[1]), json.loads(body)


HEAD = "Host: x\r\nConnection: close\r\nAuthorization: Bearer good\r\n"


@pytest.mark.parametrize(
    ("request_line", "header", "status", "code"),
    [
        ("POST /v1/x HTTP/1.1", "Content-Length: \u00b2", 400, "malformed_length"),
        ("POST /v1/x HTTP/1.1", "Content-Length: -1", 400, "malformed_length"),
        ("POST /v1/x HTTP/1.1", "Content-Length: 1x", 400, "malformed_length"),
        ("POST /v1/x HTTP/1.1", "Content-Length: " + "9" * 5_000, 413, "too_large"),
        ("POST /v1/x HTTP/1.1", "Content-Length: 0\r\nContent-Length: 1", 413, "length_required"),
        ("GET http://[bad HTTP/1.1", "X: 1", 400, "malformed_target"),
        ("BREW /v1/x HTTP/1.1", "X: 1", 501, "method_unknown"),
        ("GET /v1/x HTTP/7.1", "X: 1", 505, "http_version_unknown"),
        ("GET /v1/x y z HTTP/1.1", "X: 1", 400, "malformed_request"),
        ("GET /" + "x" * 70_000 + " HTTP/1.1", "X: 1", 414, "target_too_long"),
        ("GET /v1/x HTTP/1.1", "X: " + "x" * 70_000, 431, "headers_too_large"),
    ],
)
def test_what_is_no_good_http_is_refused_as_json(
    front: HttpFront, echo: Echo, request_line: str, header: str, status: int, code: str
) -> None:
    answered, body = exchange(front, f"{request_line}\r\n{HEAD}{header}\r\n\r\n".encode("latin-1"))
    assert (answered, body["error"]["code"], set(body["error"])) == (
        status,
        code,
        {"code", "message", "details"},
    )
    assert echo.events == []


def test_a_body_that_ends_early_is_refused(front: HttpFront, echo: Echo) -> None:
    request = f"POST /v1/x HTTP/1.1\r\n{HEAD}Content-Length: 10\r\n\r\n{{}}".encode()
    assert exchange(front, request, half_close=True)[1]["error"]["code"] == "body_incomplete"
    assert echo.events == []


def test_a_client_that_stops_in_the_middle_is_told_so(
    front: HttpFront, echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Handler, "timeout", 0.2)
    request = f"POST /v1/x HTTP/1.1\r\n{HEAD}Content-Length: 10\r\n\r\n{{}}".encode()
    assert exchange(front, request)[0] == 408
    assert echo.events == []


def test_a_client_that_resets_its_connection_leaves_no_traceback(
    front: HttpFront, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    for request in (b"GET /v1", f"POST /v1/x HTTP/1.1\r\n{HEAD}Content-Length: 10\r\n\r\n{{}}".encode()):
        connection = socket.create_connection(("127.0.0.1", int(front.url.rpartition(":")[2])))
        connection.sendall(request)
        threading.Event().wait(0.05)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    assert httpx.get(f"{front.url}/healthz", trust_env=False).status_code == 200
    threading.Event().wait(0.1)
    assert "Traceback" not in capfd.readouterr().err + caplog.text
