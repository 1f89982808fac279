"""Queues: where reports and tasks wait, what they merge, and which version is pinned to them (architecture.md 7)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from casegraph.application.context import Ports
from casegraph.application.persistence import patiently, transact, write
from casegraph.application.versions import version_key
from casegraph.domain.writes import Absent, AnyOf, Compare, Delete, Item, Key, Put, Rule, Table, Write
from casegraph.errors import NotFound

MERGE_MODES = ("none", "subject")
_QUEUE_SK = "QUEUE"
_PRIMARY_SK = "PIN#primary"
_DEFAULT = Key(Table.CATALOG, "ROUTING", "DEFAULT")


@dataclass(frozen=True, slots=True)
class Pin:
    """The version that reports of a queue start; what a start needs of it is copied here."""

    workflow_key: str
    version: int
    digest: str
    authority: str
    purpose: str


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue. merge: `none`, or `subject` (reports on a subject with an open run join that run)."""

    queue_id: str
    name: str
    merge: str
    primary: Pin | None = None


def queue_view(ports: Ports, queue: Queue) -> dict[str, Any]:
    """What a reader sees of a queue."""
    pin = queue.primary
    pins = []
    if pin is not None:
        pins.append({"mode": "primary", "workflow_key": pin.workflow_key, "version": pin.version})
    return {
        "queue_id": queue.queue_id,
        "name": queue.name,
        "merge": queue.merge,
        "default": default_queue(ports) == queue.queue_id,
        "pins": pins,
    }


def _pk(queue_id: str) -> str:
    return f"QUEUE#{queue_id}"


def put_queue(ports: Ports, queue_id: str, name: str, merge: str, *, default: bool) -> Queue:
    """Create or change a queue; pins stay. default: reports that name no queue come here."""
    key = Key(Table.CATALOG, _pk(queue_id), _QUEUE_SK)
    item: Item = {
        "pk": key.pk,
        "sk": key.sk,
        "queue_id": queue_id,
        "name": name,
        "merge": merge,
        "installation_id": ports.installation_id,
        "updated_at": ports.clock.now(),
    }
    writes: list[Write] = [Put(key, item, ())]
    if default:
        writes.append(Put(_DEFAULT, {"pk": _DEFAULT.pk, "sk": _DEFAULT.sk, "queue_id": queue_id}, ()))
    elif default_queue(ports) == queue_id:
        writes.append(Delete(_DEFAULT, (_still_default(queue_id),)))
    transact(ports, writes)
    return read_queue(ports, queue_id)


def _still_default(queue_id: str) -> Rule:
    return Rule(
        "still_the_default",
        AnyOf((Absent(("pk",)), Compare(("queue_id",), "=", queue_id))),
        "only the queue that is the default gives that up",
    )


def read_queue(ports: Ports, queue_id: str) -> Queue:
    """A queue with its pins. Raises `NotFound("queue_not_found")`."""
    page = patiently(ports, lambda: ports.store.query(Table.CATALOG, _pk(queue_id)))
    rows = {item["sk"]: item for item in page.items}
    if _QUEUE_SK not in rows:
        raise NotFound(
            f"there is no queue {queue_id}; PUT /v1/queues/{queue_id} creates it",
            "queue_not_found",
            queue_id=queue_id,
        )
    row = rows[_QUEUE_SK]
    return Queue(queue_id, row["name"], row["merge"], _pin(rows.get(_PRIMARY_SK)))


def _pin(row: Item | None) -> Pin | None:
    if row is None:
        return None
    return Pin(row["workflow_key"], row["version"], row["digest"], row["authority"], row["purpose"])


def default_queue(ports: Ports) -> str | None:
    """The queue of reports that name none; None when no queue was made the default."""
    row = patiently(ports, lambda: ports.store.get(_DEFAULT))
    return None if row is None else str(row["queue_id"])


def pin_version(ports: Ports, queue_id: str, workflow_key: str, version: int, by: str) -> Queue:
    """Make a published version the queue's primary pin. Raises `NotFound` for the queue or the version."""
    read_queue(ports, queue_id)
    published = patiently(ports, lambda: ports.store.get(version_key(workflow_key, version)))
    if published is None:
        raise NotFound(
            f"there is no version {version} of {workflow_key}",
            "version_not_found",
            workflow_key=workflow_key,
            version=version,
        )
    item: Item = {
        "pk": _pk(queue_id),
        "sk": _PRIMARY_SK,
        "workflow_key": workflow_key,
        "version": version,
        "digest": published["digest"],
        "authority": published["authority"],
        "purpose": published["purpose"],
        "pinned_by": by,
        "pinned_at": ports.clock.now(),
    }
    write(ports, Put(Key(Table.CATALOG, item["pk"], item["sk"]), item, ()))
    return read_queue(ports, queue_id)


def unpin(ports: Ports, queue_id: str) -> Queue:
    """Take the primary pin away: reports are stored and start nothing. Raises `NotFound`."""
    read_queue(ports, queue_id)
    write(ports, Delete(Key(Table.CATALOG, _pk(queue_id), _PRIMARY_SK), ()))
    return read_queue(ports, queue_id)
