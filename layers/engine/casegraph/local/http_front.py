"""The HTTP front of the local run: what API Gateway does on AWS, on 127.0.0.1.

It verifies the token as the JWT authorizer would, turns the request into the event that the api function gets, and
calls the real handler in this process. One request at a time reaches the handler, as in one Lambda environment.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

from casegraph.errors import CallerMistake, CasegraphError, InvalidInput, TooLarge, Unauthenticated
from casegraph.local.api_event import from_response, to_event
from casegraph.local.aws_process import HOST

# API Gateway takes 10 MB; the function's own bounds are lower and answer for themselves.
GATEWAY_BODY_MAX_BYTES = 10 * 1024 * 1024
_LENGTH_MAX_DIGITS = 18
# A client that stops in the middle of a request must not keep a thread.
SOCKET_SECONDS = 30
# How often the server looks whether it shall stop.
STOP_POLL_SECONDS = 0.05
# The status page is for people who open the address in a browser; it says nothing that needs a sign-in.
HEALTH_PATH = "/healthz"

LOGGER = logging.getLogger("casegraph.local")

Verify = Callable[[str], Mapping[str, Any]]
Invoke = Callable[[dict[str, Any]], Mapping[str, Any]]


# What the standard library refuses by itself, by status: code and text. Its own texts repeat what was sent.
_REFUSALS = {
    400: ("malformed_request", "this is no HTTP/1.1 request"),
    414: ("target_too_long", "the request line is too long"),
    431: ("headers_too_large", "the headers are too many or too long"),
    501: ("method_unknown", "this method is not one of HTTP's; see docs/reference/http-api.md"),
    505: ("http_version_unknown", "speak HTTP/1.1"),
}


class RequestTimeout(CallerMistake):
    """The client stopped in the middle of its request."""

    status = 408
    default_code = "request_timeout"


class FunctionFailed(CasegraphError):
    """The function raised, or answered with what is no HTTP answer."""

    default_code = "function_failed"


class HttpFront:
    """An HTTP server on 127.0.0.1 in threads of its own."""

    def __init__(self, invoke: Invoke, verify: Verify, *, port: int = 0) -> None:
        """invoke: calls the api function with an event. verify: the claims of a bearer token, or raises
        `Unauthenticated`. port: 0 takes a free one."""
        handler = type("Handler", (_Handler,), {"gateway": _Gateway(invoke, verify)})
        self._server = _Server((HOST, port), handler)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(STOP_POLL_SECONDS,), name="http", daemon=True
        )

    @property
    def url(self) -> str:
        """The address, without `/v1`."""
        return f"http://{HOST}:{self._server.server_address[1]}"

    def start(self) -> None:
        """Serve from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Take no more requests."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # A busy laptop: reviewers, notifiers and the demo connect at the same moment.
    request_queue_size = 64

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is no error of ours; what else it is stands in the log."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            LOGGER.exception("a connection failed")


class _Gateway:
    """Authorizer and integration."""

    def __init__(self, invoke: Invoke, verify: Verify) -> None:
        self._invoke = invoke
        self._verify = verify
        # Powertools keeps the current event on the resolver: two at once would answer each other's requests.
        self._one_at_a_time = threading.Lock()

    def answer(
        self, method: str, target: str, headers: list[tuple[str, str]], body: bytes, source_ip: str
    ) -> tuple[int, dict[str, str], bytes]:
        claims = self._claims({name.lower(): value for name, value in headers})
        try:
            event = to_event(method, target, headers, body, claims, source_ip)
        except ValueError as failure:
            raise InvalidInput("the request's target is no URL", "malformed_target") from failure
        try:
            with self._one_at_a_time:
                return from_response(self._invoke(event))
        except Exception as failure:
            # As API Gateway does when the function failed: the caller learns nothing of its insides.
            LOGGER.exception("the api function failed")
            raise FunctionFailed("the api function failed; its log says why") from failure

    def _claims(self, headers: Mapping[str, str]) -> Mapping[str, Any]:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token:
            raise Unauthenticated(
                "send `Authorization: Bearer <token>`; `casegraph dev` prints how to get one"
            )
        return self._verify(token.strip())


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "casegraph"
    sys_version = ""
    timeout = SOCKET_SECONDS
    gateway: ClassVar[_Gateway]

    def _serve(self) -> None:
        try:
            status, headers, body = self._answer()
        except CasegraphError as error:
            status, headers, body = error.status, {}, _error(error)
        self._send(status, headers, body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """The standard library's refusals, in the form of ours."""
        name, text = _REFUSALS.get(code, ("malformed_request", "this request cannot be served"))
        self.close_connection = True
        # It would leave status and headers out when it has not yet read a version.
        self.request_version = self.protocol_version
        self._send(code, {}, _error(CasegraphError(text, name)))

    def _send(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() != "content-length":
                self.send_header(name, value)
        if "content-type" not in {name.lower() for name in headers}:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _answer(self) -> tuple[int, dict[str, str], bytes]:
        if self.path == HEALTH_PATH:
            return 200, {}, b'{"status": "ok"}'
        body = self._body()
        return self.gateway.answer(
            self.command, self.path, list(self.headers.items()), body, self.client_address[0]
        )

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or len(self.headers.get_all("Content-Length", [])) > 1:
            self.close_connection = True
            raise TooLarge("send the body with its Content-Length, once", "length_required")
        if not (length.isascii() and length.isdigit()):
            self.close_connection = True
            raise InvalidInput("Content-Length must be a number of bytes", "malformed_length")
        # So many digits are more than any bound, and more than int() takes.
        if len(length) > _LENGTH_MAX_DIGITS or int(length) > GATEWAY_BODY_MAX_BYTES:
            # The body is not read, so the connection cannot be used for another request.
            self.close_connection = True
            raise TooLarge(
                f"the body has more than {GATEWAY_BODY_MAX_BYTES} bytes", limit=GATEWAY_BODY_MAX_BYTES
            )
        return self._read(int(length))

    def _read(self, length: int) -> bytes:
        try:
            body = self.rfile.read(length)
        except TimeoutError as failure:
            self.close_connection = True
            raise RequestTimeout(f"the body did not come within {SOCKET_SECONDS} s") from failure
        if len(body) < length:
            self.close_connection = True
            raise InvalidInput(f"the body ended after {len(body)} of {length} bytes", "body_incomplete")
        return body

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = _serve  # noqa: N815 - stdlib's names

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: addresses may hold ids, and the api function logs its own requests."""


def _error(error: CasegraphError) -> bytes:
    body = {"error": {"code": error.code, "message": error.message, "details": error.details}}
    return json.dumps(body).encode()
