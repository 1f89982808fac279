"""The sparse indexes of every table, defined once: for both item stores, and for the test of `template.yaml`.

An item is in an index while it carries both of the index's attributes. All indexes are keys-only: they answer with
pk, sk and those two (docs/reference/data-model.md has the access pattern of each).
"""

from __future__ import annotations

from dataclasses import dataclass

from casegraph.domain.writes import Table
from casegraph.errors import StoreRefused


@dataclass(frozen=True, slots=True)
class Index:
    """One sparse, keys-only index. partition: a string attribute; sort: a number or a string attribute."""

    table: Table
    name: str
    partition: str
    sort: str
    sort_type: type[int] | type[str]


INDEXES: tuple[Index, ...] = (
    Index(Table.RUNS, "due", "due_pk", "due_at", int),
    Index(Table.RUNS, "attention", "attention_pk", "attention_at", int),
    Index(Table.RUNS, "started", "started_pk", "started_at", int),
    Index(Table.RUNS, "queue_tasks", "task_queue_pk", "task_rank", str),
    Index(Table.RUNS, "person_tasks", "task_person_pk", "task_person_at", int),
    Index(Table.REPORTS, "queue_reports", "report_queue_pk", "received_at", int),
    Index(Table.REPORTS, "subject_reports", "report_subject_pk", "received_at", int),
)

_OF_TABLE = {table: tuple(index for index in INDEXES if index.table == table) for table in Table}


def indexes_of(table: Table) -> tuple[Index, ...]:
    """The indexes of a table, in the order of their definition."""
    return _OF_TABLE[table]


def index_of(table: Table, name: str) -> Index:
    """The index of that name. Raises `StoreRefused` when the table has none."""
    for index in _OF_TABLE[table]:
        if index.name == name:
            return index
    known = ", ".join(index.name for index in _OF_TABLE[table]) or "none"
    raise StoreRefused(f"table {table.value} has no index {name!r}; it has: {known}")
