"""Cleanup of a terminal run: rows that its outcome left open are closed in pages (protocol.md 2, 3).

Lease bookkeeping: neither revision nor segment, since a restart asks for the exact revision.
"""

from __future__ import annotations

from dataclasses import replace

from casegraph.application import reads
from casegraph.application.commit import Lost, same_lease
from casegraph.application.context import Ports
from casegraph.application.heads import head_of, read_head
from casegraph.application.persistence import transact
from casegraph.domain import rules
from casegraph.domain.burst import closing
from casegraph.domain.burst.knowledge import Knowledge, Missing
from casegraph.domain.head import Head, due_class, head_key
from casegraph.domain.writes import Path, Update, Write
from casegraph.errors import ConditionsFailed


def close_next_page(ports: Ports, head: Head) -> Head | Lost | None:
    """Close one page of a claimed terminal run. The head to go on with; None: all is closed and the lease released."""
    writes, closed = _page(ports, head)
    left = {key: cause for key, cause in head.closing.items() if key not in closed}
    update = _bookkeeping(head, left, closed)
    try:
        transact(ports, [update, *writes])
    except ConditionsFailed as failed:
        on_head = failed.of(0)
        if on_head is None:
            # A row was decided meanwhile: read again, close the rest, if the lease is still this worker's.
            current = read_head(ports, head.run_id)
            return current if same_lease(head, current) else Lost()
        old = on_head.old_item
        current_head = head_of(ports, old) if old is not None else None
        return current_head if current_head is not None and same_lease(head, current_head) else Lost()
    return replace(head, closing=left) if left else None


def _page(ports: Ports, head: Head) -> tuple[list[Write], list[str]]:
    knowledge = Knowledge()
    graph = ports.versions.graph(head.digest)
    while True:
        try:
            return closing.page(head, graph, knowledge, ports.clock.now())
        except Missing as missing:
            reads.fulfil(ports, head, knowledge, missing)


def _bookkeeping(head: Head, left: dict[str, str], closed: list[str]) -> Update:
    remove: list[Path] = [("closing", key) for key in closed]
    values: dict[Path, object] = {}
    if not left:
        remove += [("cleanup",), ("claim_id",), ("lease_until",), ("wake_at",)]
        values[("attempts",)] = 0
        values[("penalty",)] = 0
        values[("due_pk",)], values[("due_at",)] = due_class(replace(head, closing={}, wake_at=None))
    fences = (rules.same_generation(head), rules.same_claim(head))
    return Update(head_key(head.run_id), fences, set=values, remove=tuple(remove))
