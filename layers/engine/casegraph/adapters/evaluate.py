"""Conditions evaluated on an item as DynamoDB does: the memory adapter's truth, and how a failure is explained."""

from __future__ import annotations

from typing import Any

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
)

ABSENT: Any = object()


def value_at(item: Item | None, path: Path) -> Any:
    """The value at a path, or `ABSENT`."""
    value: Any = item if item is not None else ABSENT
    for name in path:
        if not isinstance(value, dict) or name not in value:
            return ABSENT
        value = value[name]
    return value


def holds(condition: Condition, item: Item | None) -> bool:
    """Whether a condition holds for an item (None: there is none)."""
    match condition:
        case Exists(path):
            return value_at(item, path) is not ABSENT
        case Absent(path):
            return value_at(item, path) is ABSENT
        case Compare(path, op, wanted):
            return _compare(value_at(item, path), op, wanted)
        case SizeIs(path, count):
            value = value_at(item, path)
            return isinstance(value, list | dict | str) and len(value) == count
        case Contains(path, wanted):
            value = value_at(item, path)
            return isinstance(value, list | str) and wanted in value
        case Not(inner):
            return not holds(inner, item)
        case AllOf(conditions):
            return all(holds(inner, item) for inner in conditions)
        case AnyOf(conditions):
            return any(holds(inner, item) for inner in conditions)


def _compare(value: Any, op: str, wanted: Any) -> bool:
    if value is ABSENT:
        return op == "<>"
    same_type = isinstance(value, bool) == isinstance(wanted, bool) and (
        type(value) is type(wanted) or (isinstance(value, int | float) and isinstance(wanted, int | float))
    )
    if op == "=":
        return same_type and bool(value == wanted)
    if op == "<>":
        return not (same_type and value == wanted)
    if not same_type or isinstance(value, bool | list | dict):
        return False
    return bool({"<": value < wanted, "<=": value <= wanted, ">": value > wanted, ">=": value >= wanted}[op])


def failed_rules(rules: tuple[Rule, ...], item: Item | None) -> tuple[str, ...]:
    """Names of the rules that do not hold for the item."""
    return tuple(rule.name for rule in rules if not holds(rule.condition, item))
