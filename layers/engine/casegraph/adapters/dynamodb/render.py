"""Conditions and updates as DynamoDB's expressions.

Every attribute name and value is a placeholder, numbered in the order of its first use: the same write gives the same
request, byte by byte, which the resend of a transaction under its token needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from casegraph.adapters.dynamodb.marshal import AttributeValue, to_attribute
from casegraph.domain.writes import (
    Absent,
    AllOf,
    AnyOf,
    Compare,
    Condition,
    Contains,
    Exists,
    Not,
    Path,
    Rule,
    SizeIs,
    Update,
)
from casegraph.errors import StoreRefused

_OPERATORS = frozenset({"=", "<>", "<", "<=", ">", ">="})


class Placeholders:
    """The names and values of one request's expressions."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._values: dict[str, AttributeValue] = {}

    def path(self, path: Path) -> str:
        """A document path of name placeholders."""
        return ".".join(self._names.setdefault(name, f"#n{len(self._names)}") for name in path)

    def value(self, value: Any) -> str:
        """A value placeholder."""
        placeholder = f":v{len(self._values)}"
        self._values[placeholder] = to_attribute(value)
        return placeholder

    def parameters(self) -> dict[str, Any]:
        """The request parameters that define the placeholders; absent where there are none."""
        parameters: dict[str, Any] = {}
        if self._names:
            parameters["ExpressionAttributeNames"] = {short: name for name, short in self._names.items()}
        if self._values:
            parameters["ExpressionAttributeValues"] = dict(self._values)
        return parameters


def rules_expression(rules: Sequence[Rule], placeholders: Placeholders) -> str:
    """Every rule, joined by AND; empty when there is none."""
    return " AND ".join(condition_expression(rule.condition, placeholders) for rule in rules)


def condition_expression(condition: Condition, placeholders: Placeholders) -> str:
    """One condition, in parentheses wherever its context could matter."""
    match condition:
        case Exists(path):
            return f"attribute_exists({placeholders.path(path)})"
        case Absent(path):
            return f"attribute_not_exists({placeholders.path(path)})"
        case Compare(path, op, value):
            if op not in _OPERATORS:
                raise StoreRefused(f"there is no comparison {op!r}; use one of = <> < <= > >=")
            return f"{placeholders.path(path)} {op} {placeholders.value(value)}"
        case SizeIs(path, count):
            return f"size({placeholders.path(path)}) = {placeholders.value(count)}"
        case Contains(path, value):
            return f"contains({placeholders.path(path)}, {placeholders.value(value)})"
        case Not(inner):
            return f"(NOT {condition_expression(inner, placeholders)})"
        case AllOf(inners):
            return _joined(" AND ", inners, placeholders)
        case AnyOf(inners):
            return _joined(" OR ", inners, placeholders)


def update_expression(update: Update, placeholders: Placeholders) -> str:
    """The changes of an update: DynamoDB computes every value from the old item, as `evaluate.updated` does."""
    path, value = placeholders.path, placeholders.value
    changes = [f"{path(at)} = {value(new)}" for at, new in update.set.items()]
    for at, members in update.append.items():
        changes.append(f"{path(at)} = list_append({path(at)}, {value(members)})")
    for at, number in update.add.items():
        # `ADD` takes top-level attributes only.
        changes.append(f"{path(at)} = if_not_exists({path(at)}, {value(0)}) + {value(number)}")
    for at, (source, number) in update.sum.items():
        changes.append(f"{path(at)} = {path(source)} + {value(number)}")
    clauses = ["SET " + ", ".join(changes)] if changes else []
    if update.remove:
        clauses.append("REMOVE " + ", ".join(path(at) for at in update.remove))
    return " ".join(clauses)


def _joined(operator: str, inners: Sequence[Condition], placeholders: Placeholders) -> str:
    if not inners:
        raise StoreRefused("a condition of no parts; leave it out")
    return "(" + operator.join(condition_expression(inner, placeholders) for inner in inners) + ")"
