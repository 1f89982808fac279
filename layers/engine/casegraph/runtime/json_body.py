"""Bodies of requests: JSON only, bounded in size and depth, every refusal with its place (architecture.md 10)."""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Mapping
from typing import Any

from casegraph.errors import InvalidInput, TooLarge, UnsupportedMediaType
from casegraph.limits import BODY_MAX_DEPTH

# What DynamoDB's numbers and CEL's int hold; beyond them a value would not come back as it was sent.
_INTEGER_MAX = 2**63
_FLOAT_RANGE = (1e-130, 9.9e125)


def body_of(event: Mapping[str, Any], max_bytes: int) -> Any:
    """The JSON value of a request's body.

    Raises `UnsupportedMediaType`, `TooLarge("body_too_large")`, and `InvalidInput` (`malformed_json` with line and
    column, `body_missing`, `too_deep`, `number_out_of_range`, `malformed_text`).
    """
    _check_content_type(event)
    raw = _raw(event)
    if len(raw) > max_bytes:
        raise TooLarge(
            f"the body has {len(raw)} bytes; at most {max_bytes}", "body_too_large", allowed=max_bytes
        )
    value = _parsed(raw)
    _check_values(value)
    return value


def _check_content_type(event: Mapping[str, Any]) -> None:
    headers = {str(name).lower(): value for name, value in (event.get("headers") or {}).items()}
    given = str(headers.get("content-type", ""))
    media_type, *parameters = (part.strip().lower() for part in given.split(";"))
    charset = [p.partition("=")[2].strip('"') for p in parameters if p.startswith("charset=")]
    if media_type != "application/json" or any(name not in ("utf-8", "utf8") for name in charset):
        raise UnsupportedMediaType(
            f"the body is {given or 'of no type'}; send Content-Type: application/json (UTF-8)",
            allowed=["application/json"],
        )


def _raw(event: Mapping[str, Any]) -> bytes:
    body = event.get("body") or ""
    if not event.get("isBase64Encoded"):
        return str(body).encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(body, validate=True)
    except binascii.Error as exc:
        raise InvalidInput("the body cannot be decoded", "malformed_json") from exc


def _parsed(raw: bytes) -> Any:
    if not raw.strip():
        raise InvalidInput("the body is empty; send a JSON object", "body_missing")
    try:
        text = raw.decode()
    except UnicodeDecodeError as exc:
        raise InvalidInput(f"the body is not UTF-8 at byte {exc.start}", "malformed_text") from exc
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant, parse_float=_float)
    except json.JSONDecodeError as exc:
        raise InvalidInput(
            f"the body is not JSON: {exc.msg} at line {exc.lineno}, column {exc.colno}",
            "malformed_json",
            line=exc.lineno,
            column=exc.colno,
        ) from exc
    except RecursionError as exc:
        raise _too_deep() from exc
    except ValueError as exc:  # an integer with thousands of digits
        raise InvalidInput("a number in the body has too many digits", "number_out_of_range") from exc


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"an object has the name {double[:100]!r} twice", "malformed_json")
    return found


def _no_constant(text: str) -> Any:
    raise InvalidInput(f"{text} is not JSON; leave the field out", "malformed_json")


def _float(text: str) -> float:
    number = float(text)
    low, high = _FLOAT_RANGE
    if not math.isfinite(number) or abs(number) > high or 0 < abs(number) < low:
        raise InvalidInput(f"the number {text[:40]} is out of range", "number_out_of_range")
    return number


def _too_deep() -> InvalidInput:
    return InvalidInput(
        f"the body is nested deeper than {BODY_MAX_DEPTH} levels", "too_deep", allowed=BODY_MAX_DEPTH
    )


def _check_values(value: Any) -> None:
    """Depth, numbers and text of a parsed value, without recursion."""
    stack: list[tuple[Any, int]] = [(value, 1)]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, dict | list):
            if depth > BODY_MAX_DEPTH:
                raise _too_deep()
            if isinstance(node, dict):
                stack.extend((name, depth) for name in node)
            children = node.values() if isinstance(node, dict) else node
            stack.extend((child, depth + 1) for child in children)
        elif isinstance(node, str):
            _check_text(node)
        elif isinstance(node, int) and not -_INTEGER_MAX <= node < _INTEGER_MAX:
            raise InvalidInput(f"the number {str(node)[:40]} is out of range (64-bit)", "number_out_of_range")


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        raise InvalidInput("text in the body holds half of a surrogate pair", "malformed_text") from exc
    if "\0" in text:  # expressions would see such a text cut off
        raise InvalidInput("text in the body holds U+0000; leave it out", "malformed_text")
