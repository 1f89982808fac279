"""The connector `http`: POSTs an effect to a receiver, and reads its answer as an outcome (architecture.md 5)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import httpx

from casegraph.adapters.public_address import AddressNotAllowed, Resolve, address_for, resolve
from casegraph.application.ports import (
    Applied,
    EffectRequest,
    NotFoundThere,
    Outcome,
    Rejected,
    RetryLater,
    Unknown,
)

# What is kept of a receiver's answer: a receipt, not a document.
ANSWER_MAX_BYTES = 65_536
# Making a connection takes far less; a receiver that cannot be reached was certainly not asked.
CONNECT_TIMEOUT_SECONDS = 3.0
# Statuses by which a receiver says: not now.
_LATER = frozenset({408, 425, 429})


class HttpConnector:
    """The `Connector` port over HTTP. Sends `{effect_id, operation, attempt, payload}` with an `Idempotency-Key`.

    2xx: applied. 408, 425, 429, or no connection: later. Other 4xx and 3xx (no redirects are followed): rejected.
    5xx, or a connection that was lost after sending: unknown. Only public addresses, unless the host is allowed.
    """

    def __init__(
        self,
        url: str,
        *,
        allowed_hosts: Iterable[str] = (),
        visibility_seconds: int = 60,
        resolver: Resolve = resolve,
    ) -> None:
        self.visibility_seconds = visibility_seconds
        self._url = httpx.URL(url)
        self._allowed_hosts = frozenset(allowed_hosts)
        self._resolver = resolver
        self._client = httpx.Client(follow_redirects=False, trust_env=False)

    def deliver(self, request: EffectRequest) -> Outcome:
        """See `Connector.deliver`."""
        try:
            prepared = self._prepared(request)
        except AddressNotAllowed:
            return Rejected("address_not_allowed")
        except OSError:
            return RetryLater("name_not_resolved")
        try:
            return self._send(prepared)
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout):
            return RetryLater("no_connection")
        except (httpx.UnsupportedProtocol, httpx.InvalidURL):
            return Rejected("url_invalid")
        except httpx.TimeoutException:
            return Unknown("receiver_timeout")
        except httpx.HTTPError:
            return Unknown("connection_lost")

    def look_up(self, request: EffectRequest) -> Applied | Rejected | NotFoundThere | Unknown:
        """A plain HTTP receiver cannot be asked; effects through it are `idempotent` or `manual`."""
        return Unknown("lookup_not_supported")

    def _prepared(self, request: EffectRequest) -> httpx.Request:
        """The request to the address that was checked; name, certificate and `Host` stay those of the URL."""
        host = self._url.host
        port = self._url.port or (443 if self._url.scheme == "https" else 80)
        address = address_for(host, port, self._allowed_hosts, self._resolver)
        body = {
            "effect_id": request.effect_id,
            "operation": request.operation,
            "attempt": request.attempt,
            "payload": request.payload,
        }
        seconds = request.timeout_seconds
        prepared = self._client.build_request(
            "POST",
            self._url.copy_with(host=address),
            content=json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(),
            headers={
                "Host": self._url.netloc.decode(),
                "Content-Type": "application/json",
                "Accept": "application/json",
                "Idempotency-Key": request.operation_key,
                "User-Agent": "casegraph",
            },
            timeout=httpx.Timeout(seconds, connect=min(seconds, CONNECT_TIMEOUT_SECONDS)),
            extensions={"sni_hostname": host},
        )
        return prepared

    def _send(self, request: httpx.Request) -> Outcome:
        response = self._client.send(request, stream=True)
        try:
            status = response.status_code
            if 200 <= status < 300:
                return Applied(_answer(response))
        finally:
            response.close()
        if status in _LATER:
            return RetryLater(f"http_{status}")
        return Rejected(f"http_{status}") if status < 500 else Unknown(f"http_{status}")


def _answer(response: httpx.Response) -> dict[str, Any]:
    """What the receiver said, bounded. It has done it: an answer that breaks off changes nothing of that."""
    result: dict[str, Any] = {"status": response.status_code}
    body = b""
    try:
        for chunk in response.iter_bytes():
            body += chunk
            if len(body) > ANSWER_MAX_BYTES:
                return {**result, "truncated": True}
        answer = json.loads(body)
    except (httpx.HTTPError, ValueError, RecursionError):
        return result
    return {**result, "answer": answer}
