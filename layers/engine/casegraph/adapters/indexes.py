"""The sparse indexes of the tables, defined once: what both adapters use and the template must have."""

from __future__ import annotations

from dataclasses import dataclass

from casegraph.domain.writes import Table


@dataclass(frozen=True, slots=True)
class Index:
    """An index is keyed by two attributes; an item is in it when it has both."""

    name: str
    partition: str
    sort: str
    sort_type: str


INDEXES: dict[Table, tuple[Index, ...]] = {
    Table.RUNS: (
        Index("due", "due_pk", "due_at", "N"),
        Index("attention", "attention_pk", "attention_at", "N"),
        Index("started", "started_pk", "started_at", "N"),
        Index("queue_tasks", "task_queue_pk", "task_rank", "S"),
        Index("person_tasks", "task_person_pk", "task_person_at", "N"),
    ),
    Table.SUBJECTS: (),
    Table.CORRELATIONS: (),
    Table.REPORTS: (
        Index("queue_reports", "report_queue_pk", "received_at", "N"),
        Index("subject_reports", "report_subject_pk", "received_at", "N"),
    ),
    Table.CATALOG: (),
}


def index_of(table: Table, name: str) -> Index:
    """The index of that name. Raises `KeyError` when the table has none."""
    for index in INDEXES[table]:
        if index.name == name:
            return index
    raise KeyError(f"{table} has no index {name}")
