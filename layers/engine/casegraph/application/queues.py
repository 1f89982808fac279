"""Queues: where reports and tasks wait, what they merge, and which version is pinned to them (architecture.md 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from casegraph.application.context import Ports
from casegraph.application.persistence import patiently, transact, write
from casegraph.application.versions import version_key
from casegraph.domain import rules
from casegraph.domain.writes import Compare, Delete, Item, Key, Put, Rule, Table, Write
from casegraph.errors import ConditionsFailed, Conflict, Forbidden, NotFound
from casegraph.limits import MAX_SIGNAL_TRIES, RETRY_JITTER_MILLISECONDS

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


def put_queue(
    ports: Ports,
    queue_id: str,
    name: str,
    merge: str,
    *,
    default: bool,
    sees: Callable[[str], bool] = lambda _: True,
) -> Queue:
    """Create or change a queue; pins stay. default: reports that name no queue come here.

    sees: whether the caller may see a queue. Raises `Forbidden("default_queue_not_yours")` when another queue, which
    the caller may not see, would no longer be the default; `Conflict("default_queue_busy")`.
    """
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
    for _ in range(MAX_SIGNAL_TRIES):
        before = default_queue(ports)
        if default and before not in (None, queue_id) and not sees(str(before)):
            raise Forbidden(
                "another queue, which you may not see, is the default; ask somebody who may see both to change it",
                "default_queue_not_yours",
                pointer="/default",
            )
        try:
            transact(ports, [Put(key, item, ()), *_default_writes(before, queue_id, default=default)])
        except ConditionsFailed:
            ports.clock.sleep(ports.ids.jitter(0, RETRY_JITTER_MILLISECONDS[0]))
            continue
        return read_queue(ports, queue_id)
    raise Conflict("the default queue changes too fast; try again", "default_queue_busy", queue_id=queue_id)


def _default_writes(before: str | None, queue_id: str, *, default: bool) -> list[Write]:
    """What makes the queue the default, or ends that; only while the default is the one that was read."""
    guard = rules.NEW_ITEM if before is None else _still_default(before)
    if default:
        return [Put(_DEFAULT, {"pk": _DEFAULT.pk, "sk": _DEFAULT.sk, "queue_id": queue_id}, (guard,))]
    return [Delete(_DEFAULT, (guard,))] if before == queue_id else []


def _still_default(queue_id: str) -> Rule:
    return Rule(
        "still_the_default",
        Compare(("queue_id",), "=", queue_id),
        "the default is moved or given up only by who has seen which queue it is",
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
