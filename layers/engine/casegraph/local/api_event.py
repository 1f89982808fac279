"""An HTTP request as the API Gateway event (HTTP API, payload format 2.0) that the api function gets, and back."""

from __future__ import annotations

import base64
import time
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

Claims = Mapping[str, Any]


def to_event(
    method: str, target: str, headers: Iterable[tuple[str, str]], body: bytes, claims: Claims, source_ip: str
) -> dict[str, Any]:
    """The event of a request whose token was accepted. `target` is the request line's path with its query.

    Headers are in lower case, doubled ones joined by a comma; a body that is no UTF-8 is base64; list claims are
    strings such as `"[reviewer]"` (both as on AWS; S42)."""
    parts = urlsplit(target)
    path = unquote(parts.path)
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": parts.query,
        "headers": _joined((name.lower(), value) for name, value in headers),
        "requestContext": _context(method, path, claims, source_ip),
        "isBase64Encoded": False,
    }
    query = _joined(parse_qsl(parts.query, keep_blank_values=True))
    if query:
        event["queryStringParameters"] = query
    if body:
        event.update(_body(body))
    return event


def from_response(response: Mapping[str, Any]) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the function's answer."""
    text = response.get("body") or ""
    body = base64.b64decode(text) if response.get("isBase64Encoded") else str(text).encode()
    headers = {name: str(value) for name, value in (response.get("headers") or {}).items()}
    return int(response["statusCode"]), headers, body


def claims_as_strings(claims: Claims) -> dict[str, str]:
    """Claims as the JWT authorizer passes them: everything is a string, lists as `[a b]`."""
    return {name: _claim(value) for name, value in claims.items()}


def _claim(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{' '.join(str(v) for v in value)}]"
    return str(value)


def _joined(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def _body(body: bytes) -> dict[str, Any]:
    try:
        return {"body": body.decode()}
    except UnicodeDecodeError:
        return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}


def _context(method: str, path: str, claims: Claims, source_ip: str) -> dict[str, Any]:
    now = time.time()
    return {
        "accountId": "000000000000",
        "apiId": "local",
        "authorizer": {"jwt": {"claims": claims_as_strings(claims), "scopes": None}},
        "domainName": "local",
        "domainPrefix": "local",
        "http": {
            "method": method,
            "path": path,
            "protocol": "HTTP/1.1",
            "sourceIp": source_ip,
            "userAgent": "",
        },
        "requestId": str(uuid.uuid4()),
        "routeKey": "$default",
        "stage": "$default",
        "time": datetime.fromtimestamp(now, UTC).strftime("%d/%b/%Y:%H:%M:%S +0000"),
        "timeEpoch": round(now * 1000),
    }
