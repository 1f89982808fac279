"""Attribute values as every item store keeps them: plain JSON values, copied, in the one form that DynamoDB returns.

DynamoDB has one number type: an integral float comes back as an integer (2.0 as 2, equal in Python and in canonical
JSON). Both stores normalise on the way in, so that neither answers what the other would not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from casegraph.errors import StoreRefused
from casegraph.limits import STORE_NESTING_MAX_DEPTH, STORE_NUMBER_MAX_DIGITS

_PLAIN_INTEGERS_BELOW = 10**STORE_NUMBER_MAX_DIGITS
# DynamoDB, supported data types: magnitudes of 1E-130 to 9.99...E+125.
_LARGEST_EXPONENT = 125
_SMALLEST_EXPONENT = -130


def normal(value: Any, depth: int = 0) -> Any:
    """A deep copy in stored form: str, int, float, bool, None, list, dict with string keys.

    Subclasses (an enum of strings) become their plain value, tuples lists. Raises `StoreRefused` for what DynamoDB
    cannot hold: other types, NaN and infinities, numbers out of its range, nesting deeper than its bound.
    """
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return value
    if kind is int:
        return value if -_PLAIN_INTEGERS_BELOW < value < _PLAIN_INTEGERS_BELOW else _checked_integer(value)
    if kind is float:
        return _normal_float(value)
    if isinstance(value, Mapping | list | tuple):
        return _normal_container(value, depth + 1)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return normal(int(value), depth)
    if isinstance(value, float):
        return _normal_float(float(value))
    raise StoreRefused(f"an attribute value of type {kind.__name__} cannot be stored; use plain JSON values")


def normal_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """A deep copy of an item in stored form; its own map counts as no level of nesting."""
    return {_name(name): normal(value) for name, value in item.items()}


def _normal_container(value: Any, depth: int) -> Any:
    if depth > STORE_NESTING_MAX_DEPTH:
        raise StoreRefused(f"an attribute is nested deeper than {STORE_NESTING_MAX_DEPTH} levels")
    if isinstance(value, Mapping):
        return {_name(name): normal(member, depth) for name, member in value.items()}
    return [normal(member, depth) for member in value]


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise StoreRefused(f"{name!r} cannot be a map's key in the store; use texts that are not empty")
    return str.__str__(name)


def _normal_float(value: float) -> int | float:
    if not math.isfinite(value):
        raise StoreRefused(f"the number {value} cannot be stored")
    if value.is_integer():
        return _checked_integer(int(Decimal(repr(value))))
    if Decimal(repr(value)).adjusted() < _SMALLEST_EXPONENT:
        raise StoreRefused("a number is too close to zero to be stored")
    return value


def _checked_integer(value: int) -> int:
    digits = str(abs(value))
    if len(digits.rstrip("0")) > STORE_NUMBER_MAX_DIGITS or len(digits) > _LARGEST_EXPONENT + 1:
        raise StoreRefused(f"an integer of {len(digits)} digits cannot be stored")
    return value
