"""Conditions and updates evaluated on a plain item exactly as DynamoDB does.

The memory store is made of this. The DynamoDB store uses it to name the rules that failed, since DynamoDB itself only
says that the whole condition did.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from casegraph.adapters.values import normal, normal_item
from casegraph.domain.writes import (
    Absent,
    AllOf,
    AnyOf,
    Compare,
    Condition,
    Contains,
    Exists,
    Item,
    Not,
    Path,
    Rule,
    SizeIs,
    Update,
)
from casegraph.errors import StoreRefused

ABSENT: Final = object()
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def failed_rules(rules: Sequence[Rule], item: Item | None) -> tuple[str, ...]:
    """The names of the rules that do not hold for the item (None: there is none), in the rules' order."""
    return tuple(rule.name for rule in rules if not holds(rule.condition, item))


def holds(condition: Condition, item: Item | None) -> bool:
    """Whether the condition holds for the item; every attribute of an item that is not there is absent."""
    match condition:
        case Exists(path):
            return value_at(item, path) is not ABSENT
        case Absent(path):
            return value_at(item, path) is ABSENT
        case Compare(path, op, value):
            return _compares(value_at(item, path), op, normal(value))
        case SizeIs(path, count):
            found = value_at(item, path)
            return isinstance(found, list | dict | str) and len(found) == count
        case Contains(path, value):
            return _contains(value_at(item, path), normal(value))
        case Not(inner):
            return not holds(inner, item)
        case AllOf(inners):
            return all(holds(inner, item) for inner in inners)
        case AnyOf(inners):
            return any(holds(inner, item) for inner in inners)


def value_at(item: Item | None, path: Path) -> Any:
    """The value at a path of map keys, or `ABSENT`."""
    found: Any = item if item is not None else {}
    for name in path:
        if not isinstance(found, dict) or name not in found:
            return ABSENT
        found = found[name]
    return found


def same(left: Any, right: Any) -> bool:
    """Equality of stored values: a type is part of the value, so true is not 1 and 1 is not "1"."""
    if _kind(left) is not _kind(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)
    return bool(left == right)


def updated(update: Update, old: Item | None) -> Item:
    """The item after an update whose rules hold; every value is computed from the old item.

    Raises `StoreRefused` where DynamoDB would: the parent of a nested path is not a map, the list to append to or
    the number to add to is something else, the attribute to sum from is not there.
    """
    before = old if old is not None else {}
    new: Item = normal_item(before) | {"pk": update.key.pk, "sk": update.key.sk}
    for path, value in update.set.items():
        _put(new, path, normal(value))
    for path, members in update.append.items():
        found = value_at(before, path)
        if not isinstance(found, list):
            raise StoreRefused(f"{_text(path)} of {update.key} is no list that could be appended to")
        _put(new, path, normal(found) + normal(members))
    for path, number in update.add.items():
        found = value_at(before, path)
        _put(new, path, _number(update, path, 0 if found is ABSENT else found) + number)
    for path, (source, number) in update.sum.items():
        _put(new, path, _number(update, source, value_at(before, source)) + number)
    for path in update.remove:
        _parent(new, path).pop(path[-1], None)
    return new


def _kind(value: Any) -> type:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float
    return type(value)


def _compares(found: Any, op: str, value: Any) -> bool:
    if op == "=":
        return found is not ABSENT and same(found, value)
    if op == "<>":
        return found is ABSENT or not same(found, value)
    if op not in _ORDERS:
        raise StoreRefused(f"there is no comparison {op!r}; use one of = <> < <= > >=")
    ordered = _kind(found) is _kind(value) and _kind(value) in (float, str)
    return ordered and _ORDERS[op](found, value)


def _contains(found: Any, value: Any) -> bool:
    if isinstance(found, str):
        return isinstance(value, str) and value in found
    return isinstance(found, list) and any(same(member, value) for member in found)


def _number(update: Update, path: Path, found: Any) -> Any:
    if _kind(found) is not float:
        raise StoreRefused(f"{_text(path)} of {update.key} is no number")
    return found


def _put(item: Item, path: Path, value: Any) -> None:
    _parent(item, path)[path[-1]] = value


def _parent(item: Item, path: Path) -> dict[str, Any]:
    found = value_at(item, path[:-1])
    if not isinstance(found, dict):
        raise StoreRefused(f"{_text(path)} cannot be changed: {_text(path[:-1])} is no map")
    return found


def _text(path: Path) -> str:
    return ".".join(path)
