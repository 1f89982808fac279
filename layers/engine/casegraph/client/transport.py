"""One request to the API: identity, idempotency, retries and errors in one place.

Only what may be repeated is repeated: reads, and mutations that carry an `Idempotency-Key` (the same key and body each
time, so that a lost answer is replayed and not done twice).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

import httpx

from casegraph.adapters.clock import RandomIds, SystemClock
from casegraph.client.errors import NoConnection, UnexpectedAnswer, error_of
from casegraph.errors import Retryable

Json = dict[str, Any]
Rows = list[Json]

# An API function may take 29 s; a client that gives up earlier asks for a replay without need.
TIMEOUT_SECONDS = 30.0
CONNECT_SECONDS = 5.0
# 0.2 + 0.4 + 0.8 s of waiting at most: longer than a hiccup, shorter than a person's patience.
MAX_TRIES = 4
FIRST_PAUSE_MILLISECONDS = 200


class Transport:
    """Requests under one base address with one token."""

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        http: httpx.Client | None = None,
        sleep: Callable[[int], None] | None = None,
        max_tries: int = MAX_TRIES,
    ) -> None:
        """base_url: without `/v1`. http: a client of the caller's own (tests). sleep: takes milliseconds."""
        self.base_url = base_url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        # Proxies of the environment are for the internet, not for an API on this machine.
        self._http = http or httpx.Client(
            timeout=httpx.Timeout(TIMEOUT_SECONDS, connect=CONNECT_SECONDS), trust_env=False
        )
        self._sleep = sleep or SystemClock().sleep
        self._ids = RandomIds()
        self._max_tries = max_tries

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def new_key(self) -> str:
        """A fresh idempotency key."""
        return self._ids.new()

    def get(self, path: str, params: Mapping[str, Any] | None = None) -> Json:
        """Read; repeated on lost connections and 502-504."""
        return self._send("GET", path, params=params, repeatable=True)

    def put(self, path: str, body: Any) -> Json:
        """Replace; a repeated PUT of the same body is the same."""
        return self._send("PUT", path, body=body, repeatable=True)

    def delete(self, path: str, params: Mapping[str, Any] | None = None) -> Json:
        """Remove; repeatable."""
        return self._send("DELETE", path, params=params, repeatable=True)

    def post(
        self, path: str, body: Any = None, *, idempotency_key: str | None = None, safe: bool = False
    ) -> Json:
        """Ask for a change. Repeated only under an `idempotency_key`, or when `safe` (nothing is stored)."""
        repeatable = safe or idempotency_key is not None
        return self._send(
            "POST", path, body={} if body is None else body, key=idempotency_key, repeatable=repeatable
        )

    def _send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        key: str | None = None,
        repeatable: bool,
    ) -> Json:
        tries = self._max_tries if repeatable else 1
        for number in range(tries):
            try:
                return self._once(method, path, params, body, key)
            except Retryable:
                if number + 1 == tries:
                    raise
            pause = FIRST_PAUSE_MILLISECONDS * 2**number
            self._sleep(self._ids.jitter(pause // 2, pause))
        raise AssertionError("a loop over at least one try ends inside")

    def _once(
        self, method: str, path: str, params: Mapping[str, Any] | None, body: Any, key: str | None
    ) -> Json:
        headers = dict(self._headers)
        if key is not None:
            headers["Idempotency-Key"] = key
        query = {name: value for name, value in (params or {}).items() if value is not None}
        try:
            response = self._http.request(
                method, f"{self.base_url}/v1{path}", params=query, json=body, headers=headers
            )
        except httpx.HTTPError as exc:
            raise NoConnection(
                f"no answer from {self.base_url} ({type(exc).__name__}); is `casegraph dev` running?",
                address=self.base_url,
            ) from exc
        if response.status_code >= 400:
            raise error_of(response)
        return _json_object(response)


def segment(value: str) -> str:
    """A value as one segment of a path."""
    return quote(value, safe="")


def _json_object(response: httpx.Response) -> Json:
    if response.status_code == 204 or not response.content:
        return {}
    try:
        body = response.json()
    except ValueError as exc:
        raise UnexpectedAnswer(f"{response.request.url} did not answer with JSON") from exc
    if not isinstance(body, dict):
        raise UnexpectedAnswer(f"{response.request.url} did not answer with a JSON object")
    return body
