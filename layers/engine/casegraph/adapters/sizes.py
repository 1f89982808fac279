"""Sizes of items by AWS's published rules (DynamoDB developer guide, "Item sizes and formats").

A name or string: its UTF-8 bytes. A number: about one byte for two significant digits, and one. Null, boolean: one.
A list or map: 3 bytes, and one for each member, besides the members (and a map's names).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from casegraph.domain.writes import Item
from casegraph.errors import StoreRefused

_CONTAINER_BYTES = 3
_MEMBER_BYTES = 1


def item_size(item: Item | None) -> int:
    """Bytes of a stored item; 0 when there is none. Raises `StoreRefused` for text that is no valid UTF-8."""
    if item is None:
        return 0
    return sum(_text_size(name) + value_size(value) for name, value in item.items())


def value_size(value: Any) -> int:
    """Bytes of one attribute value, in the form of `values.normal`."""
    if isinstance(value, str):
        return _text_size(value)
    if value is None or isinstance(value, bool):
        return 1
    if isinstance(value, int | float):
        return _number_size(value)
    if isinstance(value, Mapping):
        members = sum(_text_size(name) + value_size(member) for name, member in value.items())
    else:
        members = sum(value_size(member) for member in value)
    return _CONTAINER_BYTES + _MEMBER_BYTES * len(value) + members


def _text_size(text: str) -> int:
    if text.isascii():
        return len(text)
    try:
        return len(text.encode())
    except UnicodeEncodeError as exc:
        raise StoreRefused("a text with half a surrogate pair cannot be stored") from exc


def _number_size(number: int | float) -> int:
    digits, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = digits.partition(".")
    significant = (whole + fraction).strip("0") if fraction or exponent else whole.rstrip("0")
    return (len(significant) + 1) // 2 + 1 + (number < 0)
