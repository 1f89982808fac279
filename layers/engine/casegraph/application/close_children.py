"""Ending the child runs that go with a closed wait, or with a run that ended otherwise than well (cascade `cancel`).

Each child is terminated by the ordinary control operation under a derived key, before the parent's closing page is
written: a crash in between does it again, and finds it done.
"""

from __future__ import annotations

from collections.abc import Iterator

from casegraph.application.context import Ports
from casegraph.application.control_run import Control, terminate
from casegraph.application.heads import read_head
from casegraph.application.persistence import patiently
from casegraph.domain import child
from casegraph.domain.head import Head, run_pk
from casegraph.domain.writes import Table
from casegraph.errors import Conflict, NotFound


def close_children(ports: Ports, parent: Head, step: str) -> None:
    """End the child run of a step; step empty: every child that no token waits for and that cascades."""
    if step:
        _end(ports, child.child_run_id(parent.run_id, step), parent)
        return
    for run_id in _not_awaited(ports, parent):
        _end(ports, run_id, parent)


def _not_awaited(ports: Ports, parent: Head) -> Iterator[str]:
    after: str | None = None
    while True:
        start = after
        page = patiently(
            ports,
            lambda: ports.store.query(
                Table.RUNS,
                run_pk(parent.run_id),
                prefix=child.CHILD_PREFIX,
                after=start,  # noqa: B023
            ),
        )
        for row in page.items:
            if row["state"] == child.RUNNING and row["cascade"] == child.CANCEL and not row["awaited"]:
                yield row["child_run_id"]
        if page.next_after is None:
            return
        after = page.next_after


def _end(ports: Ports, run_id: str, parent: Head) -> None:
    request = Control("casegraph", f"closed with run {parent.run_id}", f"cascade {parent.run_id}")
    try:
        terminate(ports, run_id, request)
    except NotFound:
        return  # purged: it ended long ago
    except Conflict as conflict:
        if conflict.code != "illegal_transition" or not read_head(ports, run_id).terminal:
            raise
