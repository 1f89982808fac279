"""Events from outside: stored before they are matched, applied at most once (architecture.md 1, protocol.md 2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from casegraph.application import payloads
from casegraph.application.context import Ports
from casegraph.application.persistence import patiently
from casegraph.application.schemas import require_valid
from casegraph.application.signals import send_signal
from casegraph.domain import rules
from casegraph.domain.canonical import digest
from casegraph.domain.head import Head, row_key
from casegraph.domain.signal import EVENT, Pointer, event_hash, match_of
from casegraph.domain.writes import Item, Put, Update, Write
from casegraph.errors import ConditionsFailed, Conflict, TooMany


@dataclass(frozen=True, slots=True)
class Event:
    """One event as its sender means it. event_id: the sender's own id, what it is deduplicated by.

    queues: the queues whose runs the sender may reach by key; None: all.
    """

    event_type: str
    event_id: str
    key: str
    payload: Any
    source: str
    queues: tuple[str, ...] | None = None

    def reaches(self, queue_id: str | None) -> bool:
        """Whether its sender may give it to a run of this queue."""
        return self.queues is None or queue_id is None or queue_id in self.queues

    def fingerprint(self) -> str:
        """What must be the same when the same event id comes again."""
        return digest([self.event_type, self.event_id, self.key, self.payload, self.source])


@dataclass(frozen=True, slots=True)
class Accepted:
    """run_id: the run it was given to, None when it is kept until a run waits for it; late: the run has ended."""

    run_id: str | None
    replayed: bool = False
    late: bool = False


def accept_for_run(ports: Ports, run_id: str, event: Event, also: tuple[Update, ...] = ()) -> Accepted:
    """Give an event to a run. The same again is a replay; the same id with another content is refused.

    also: the mark on the parked row that it came from. Raises `NotFound`, `TooMany("inbox_full")`,
    `Conflict("idempotency_key_reused")`, and `ConditionsFailed` when the parked row was given to another run.
    """
    row = event_row(ports, run_id, event)
    pointer = Pointer(EVENT, row["event_hash"], event.event_type, match_of(event.key))
    address = row_key(run_id, row["sk"])
    writes: list[Write] = [Put(address, row, (rules.NEW_ITEM,)), *also]
    try:
        head = send_signal(ports, run_id, pointer, lambda _: writes)
    except ConditionsFailed as failed:
        first = failed.of(0)
        if first is None or first.old_item is None:
            raise
        return _replay(run_id, event, first.old_item)
    except TooMany:
        stored = patiently(ports, lambda: ports.store.get(address))
        if stored is None:
            raise
        return _replay(run_id, event, stored)
    return Accepted(run_id, late=head.terminal)


def check_payload(ports: Ports, head: Head, event: Event) -> None:
    """Raise `InvalidInput("event_invalid")` unless the payload is what the run's graph says of this event type."""
    schema = ports.versions.graph(head.digest).document.event_schemas.get(event.event_type)
    if schema is not None and ports.schemas is not None:
        require_valid(
            ports.schemas, schema, event.payload, what="the payload", code="event_invalid", at="/payload"
        )


def _replay(run_id: str, event: Event, stored: Item) -> Accepted:
    if stored["fingerprint"] != event.fingerprint():
        raise Conflict(
            f"event id {event.event_id!r} of type {event.event_type} was already sent with another content",
            "idempotency_key_reused",
            run_id=run_id,
            hint="send a new event under an event_id of its own",
        )
    return Accepted(run_id, replayed=True)


def event_row(ports: Ports, run_id: str, event: Event) -> Item:
    """The event's own row under the run."""
    name = event_hash(event.event_type, event.event_id)
    key = row_key(run_id, f"EVENT#{name}")
    kept = payloads.stored(ports, run_id, "payload", event.payload)
    return {
        "pk": key.pk,
        "sk": key.sk,
        "run_id": run_id,
        "event_hash": name,
        **envelope(ports, event),
        **kept,
    }


def envelope(ports: Ports, event: Event) -> Item:
    """What is kept of an event, besides its payload, wherever its row stands."""
    return {
        "installation_id": ports.installation_id,
        "event_type": event.event_type,
        "event_id": event.event_id,
        "key": event.key,
        "source": event.source,
        "received_at": ports.clock.now(),
        "fingerprint": event.fingerprint(),
    }
