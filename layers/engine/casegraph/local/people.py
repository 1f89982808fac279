"""The people of the local run: who `casegraph dev` makes tokens for. They are made up, and exist nowhere else."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Person:
    """A subject with its roles and the queues that it may see (`*`: all)."""

    subject: str
    roles: tuple[str, ...]
    queues: tuple[str, ...]


ADMIN = "admin"
# A service of the platform that sends reports and events.
INTAKE = "intake"
REVIEWERS = ("reviewer-1", "reviewer-2", "reviewer-3")

PEOPLE = (
    Person(ADMIN, ("admin", "operator", "publisher", "reviewer", "viewer", "approver", "auditor"), ("*",)),
    Person(INTAKE, ("operator",), ("*",)),
    Person("operator-1", ("operator", "viewer"), ("*",)),
    Person("publisher-1", ("publisher", "viewer"), ("*",)),
    *(Person(name, ("reviewer",), ("*",)) for name in REVIEWERS),
)
