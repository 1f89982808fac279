"""Plain JSON values to DynamoDB's typed attribute values and back.

Integers stay integers, other floats come back bit by bit (their shortest exact decimal has at most 17 digits, DynamoDB
keeps 38). boto3's own serializer takes no floats and gives back `Decimal`.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from casegraph.adapters.values import normal
from casegraph.domain.writes import Item
from casegraph.errors import StoreRefused

AttributeValue = dict[str, Any]
Attributes = dict[str, AttributeValue]


def to_attributes(item: Item) -> Attributes:
    """An item's attributes. Raises `StoreRefused` for what cannot be stored."""
    return {name: to_attribute(value) for name, value in item.items()}


def to_attribute(value: Any) -> AttributeValue:
    """One attribute value. Raises `StoreRefused` for what cannot be stored."""
    return _typed(normal(value))


def from_attributes(attributes: Mapping[str, Mapping[str, Any]]) -> Item:
    """The item of the attributes."""
    return {name: from_attribute(value) for name, value in attributes.items()}


def from_attribute(attribute: Mapping[str, Any]) -> Any:
    """The plain value of an attribute value. Raises `StoreRefused` for binary and set types, which nobody wrote."""
    ((kind, value),) = attribute.items()
    match kind:
        case "S" | "BOOL":
            return value
        case "N":
            return _number(value)
        case "NULL":
            return None
        case "L":
            return [from_attribute(member) for member in value]
        case "M":
            return {name: from_attribute(member) for name, member in value.items()}
        case _:
            raise StoreRefused(f"an attribute of type {kind} is none of the engine's")


def _typed(value: Any) -> AttributeValue:
    if isinstance(value, str):
        return {"S": value}
    if value is None:
        return {"NULL": True}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, int | float):
        return {"N": repr(value)}
    if isinstance(value, dict):
        return {"M": {name: _typed(member) for name, member in value.items()}}
    return {"L": [_typed(member) for member in value]}


def _number(text: str) -> int | float:
    if text.lstrip("-").isdecimal():
        return int(text)
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() else float(number)
