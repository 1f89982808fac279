"""Conditional writes as data: what is written where, and under which named rules.

A use case decides purely and returns writes; an item store (DynamoDB, or memory) carries them out. Every rule of the
protocol is a `Rule`: a condition with a name and the reason it exists, defined once in `domain/rules.py` and
rendered by the DynamoDB adapter, evaluated by the memory adapter. Item attributes are plain JSON values
(None is never stored: an absent attribute is absent).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

Item = dict[str, Any]
Path = tuple[str, ...]


class Table(StrEnum):
    """The five tables; `settings` maps each to its deployed name."""

    RUNS = "runs"
    SUBJECTS = "subjects"
    CORRELATIONS = "correlations"
    REPORTS = "reports"
    CATALOG = "catalog"


@dataclass(frozen=True, slots=True)
class Key:
    """The primary key of one item."""

    table: Table
    pk: str
    sk: str


@dataclass(frozen=True, slots=True)
class Exists:
    """The attribute at `path` is there (`("pk",)`: the item is there)."""

    path: Path


@dataclass(frozen=True, slots=True)
class Absent:
    """The attribute at `path` is not there (`("pk",)`: there is no such item)."""

    path: Path


@dataclass(frozen=True, slots=True)
class Compare:
    """`path <op> value`; false when the attribute is absent. Operators: = <> < <= > >=.

    `<>` is true when the attribute is absent, as in DynamoDB.
    """

    path: Path
    op: str
    value: Any


@dataclass(frozen=True, slots=True)
class SizeIs:
    """The list or map at `path` has exactly `count` members; false when absent."""

    path: Path
    count: int


@dataclass(frozen=True, slots=True)
class Contains:
    """The list at `path` has the member `value`, or the string there has it as a part; false when absent."""

    path: Path
    value: Any


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a condition."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every condition holds; an empty one is not allowed."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one condition holds; an empty one is not allowed."""

    conditions: tuple[Condition, ...]


Condition = Exists | Absent | Compare | SizeIs | Contains | Not | AllOf | AnyOf


@dataclass(frozen=True, slots=True)
class Rule:
    """A named condition and the reason that it exists."""

    name: str
    condition: Condition
    reason: str


@dataclass(frozen=True, slots=True)
class Put:
    """Write a whole item, replacing what was there, if every rule holds for the old item."""

    key: Key
    item: Item
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Update:
    """Change attributes of an item, if every rule holds for the old item.

    set: path -> value; remove: paths; append: path -> members added to the end of an existing list;
    add: path -> number added to a number (an absent one counts as 0); sum: path -> (other path, number), set to the
    old value of the other path (which must exist) plus the number. A nested path's parent map must exist.
    """

    key: Key
    rules: tuple[Rule, ...]
    set: Mapping[Path, Any] = field(default_factory=dict)
    remove: Sequence[Path] = ()
    append: Mapping[Path, list[Any]] = field(default_factory=dict)
    add: Mapping[Path, int] = field(default_factory=dict)
    sum: Mapping[Path, tuple[Path, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Delete:
    """Remove an item if every rule holds for it."""

    key: Key
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Check:
    """Write nothing, but let the transaction fail unless every rule holds."""

    key: Key
    rules: tuple[Rule, ...]


Write = Put | Update | Delete | Check
