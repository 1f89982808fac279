"""Canonical JSON: one byte form per JSON value, so that digests agree between writers, stores and languages.

Objects have their keys sorted by code point, there is no white space, text is UTF-8 without escapes that JSON does not
need, and a float that is a whole number is written as that whole number (1.0 and 1 are one JSON number: a store that
does not tell them apart must not break a chain). What JSON cannot say is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
from typing import Any

from casegraph.errors import InvalidInput

# Above this a float names a range of whole numbers; it keeps its exponent form, which any reader takes as a double.
_WHOLE_FLOAT_MAX = 2.0**53


class NotCanonical(InvalidInput):
    """The value has no canonical JSON form: NaN, infinity, a key or a value that JSON does not have, broken text."""

    default_code = "not_json"


def canonical_bytes(value: Any) -> bytes:
    """The canonical UTF-8 bytes of a JSON value (dict, list or tuple, str, int, float, bool, None).

    Raises `NotCanonical`.
    """
    try:
        plain = value if isinstance(value, str) else _plain(value)
        text = json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode()
    except UnicodeEncodeError as exc:
        raise NotCanonical("text holds half of a surrogate pair; send whole Unicode characters") from exc
    except RecursionError as exc:
        raise NotCanonical("the value is nested too deeply for JSON") from exc


def digest(value: Any) -> str:
    """`sha256:<hex>` of the canonical bytes. Raises `NotCanonical`."""
    return digest_of_bytes(canonical_bytes(value))


def digest_of_bytes(body: bytes) -> str:
    """`sha256:<hex>` of bytes that are canonical already: what `digest` gives for the value that they spell."""
    return "sha256:" + hashlib.sha256(body).hexdigest()


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                raise NotCanonical(f"object keys are text in JSON; {type(key).__name__} is not")
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    raise NotCanonical(f"{type(value).__name__} is not a JSON value")


def _number(value: float) -> float | int:
    if not math.isfinite(value):
        raise NotCanonical("NaN and infinity are not JSON numbers")
    return int(value) if value.is_integer() and abs(value) < _WHOLE_FLOAT_MAX else value
