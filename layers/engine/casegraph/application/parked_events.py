"""Events by key over runs: parked, matched with subscriptions, and given to exactly one run.

Order is what makes it safe: an event is parked before subscriptions are read; a subscription is written before parked
events are read. Whoever comes second sees the first. Giving a parked event to a run deletes the parked row in the
same transaction, so that it goes to one run only.
"""

from __future__ import annotations

from casegraph.application import payloads
from casegraph.application.accept_event import Accepted, Event, accept_for_run, envelope
from casegraph.application.context import Ports
from casegraph.application.heads import read_head
from casegraph.application.persistence import patiently, write
from casegraph.application.ports import Page
from casegraph.domain import rules
from casegraph.domain.burst.knowledge import PendingSubscription
from casegraph.domain.signal import event_hash, match_of
from casegraph.domain.subscription import correlation_pk, removal, subscription_item
from casegraph.domain.writes import Item, Key, Put, Table, Update
from casegraph.errors import ConditionsFailed, Conflict, NotFound, TooMany
from casegraph.limits import PARKED_EVENT_MILLISECONDS

_PARKED = "EVENT#"
_WAITS = "RUN#"


def accept_by_key(ports: Ports, event: Event) -> Accepted:
    """Give an event that names no run to the wait for its type and key that opened first, or keep it until one opens.

    The same event again is a replay. Raises `Conflict("idempotency_key_reused")`.
    """
    row = _parked_row(ports, event)
    key = Key(Table.CORRELATIONS, row["pk"], row["sk"])
    try:
        write(ports, Put(key, row, (rules.NEW_ITEM,)))
    except ConditionsFailed as failed:
        stored = failed.failures[0].old_item or {}
        if stored.get("fingerprint") != event.fingerprint():
            raise Conflict(
                f"event id {event.event_id!r} of type {event.event_type} was already sent with another content",
                "idempotency_key_reused",
                hint="send a new event under an event_id of its own",
            ) from failed
        if stored.get("given_to"):
            return Accepted(stored["given_to"], replayed=True)
    return _deliver(ports, event, key)


def _parked_row(ports: Ports, event: Event) -> Item:
    name = event_hash(event.event_type, event.event_id)
    now = ports.clock.now()
    kept = payloads.stored(ports, "parked", "payload", event.payload)
    return {
        "pk": correlation_pk(event.event_type, match_of(event.key)),
        "sk": f"{_PARKED}{name}",
        "run_id": "parked",
        **envelope(ports, event),
        **kept,
        "expires_at": (now + PARKED_EVENT_MILLISECONDS) // 1000,
    }


def _deliver(ports: Ports, event: Event, parked: Key) -> Accepted:
    page = patiently(ports, lambda: ports.store.query(Table.CORRELATIONS, parked.pk, prefix=_WAITS))
    for wait in sorted(page.items, key=lambda item: (item["opened_at"], item["run_id"])):
        accepted = _give(ports, wait["run_id"], event, parked, wait["step"])
        if accepted is not None:
            return accepted
    return Accepted(None)


def _give(ports: Ports, run_id: str, event: Event, parked: Key, step: str) -> Accepted | None:
    """Try one run; None when that run cannot take it (it has ended, or its inbox is full)."""
    try:
        if read_head(ports, run_id).terminal:
            stale = removal(event.event_type, match_of(event.key), run_id, step)
            write(ports, stale)
            return None
        accepted = accept_for_run(ports, run_id, event, (given(parked, run_id),))
    except (NotFound, TooMany):
        return None
    except ConditionsFailed:
        return Accepted(None, replayed=True)  # another delivery of the same event was first
    if accepted.replayed:
        _mark_given(ports, parked, run_id)
    return accepted


def _mark_given(ports: Ports, parked: Key, run_id: str) -> None:
    """The run has the very event already (it was also sent to the run itself): no other wait may have it again."""
    try:
        write(ports, given(parked, run_id))
    except ConditionsFailed:
        return  # it was given in the transaction whose reply was lost


def given(parked: Key, run_id: str) -> Update:
    """The parked row is marked in the transaction that gives its event to a run."""
    return Update(parked, (rules.ITEM_EXISTS, rules.NOT_GIVEN), set={("given_to",): run_id})


def subscribe(ports: Ports, run_id: str, pending: PendingSubscription) -> bool:
    """Write a wait's subscriptions, then take the parked events that fit; true when one was given to this run."""
    taken = False
    for event_type in pending.subscription.event_types:
        match = pending.subscription.match
        item = subscription_item(event_type, match, run_id, pending.step_id, ports.clock.now())
        key = Key(Table.CORRELATIONS, item["pk"], item["sk"])
        _put_subscription(ports, key, item)
        taken = _adopt(ports, run_id, item["pk"]) or taken
    return taken


def _put_subscription(ports: Ports, key: Key, item: Item) -> None:
    try:
        write(ports, Put(key, item, (rules.NEW_ITEM,)))
    except ConditionsFailed:
        return  # an earlier try of this burst or of one before it wrote the very same row


def _adopt(ports: Ports, run_id: str, pk: str) -> bool:
    """Take the first parked event of this type and key that no run has."""
    after: str | None = None
    while True:
        page = _parked_page(ports, pk, after)
        for row in page.items:
            if "given_to" not in row and _take(ports, run_id, row):
                return True
        if page.next_after is None:
            return False
        after = page.next_after


def _parked_page(ports: Ports, pk: str, after: str | None) -> Page:
    return patiently(ports, lambda: ports.store.query(Table.CORRELATIONS, pk, prefix=_PARKED, after=after))


def _take(ports: Ports, run_id: str, row: Item) -> bool:
    payload = payloads.field(ports, row, "payload")
    event = Event(row["event_type"], row["event_id"], row["key"], payload, row["source"])
    parked = Key(Table.CORRELATIONS, row["pk"], row["sk"])
    try:
        accepted = accept_for_run(ports, run_id, event, (given(parked, run_id),))
    except (ConditionsFailed, TooMany, Conflict):
        # A Conflict: the run has another event under this sender's id; that may not stop its burst.
        return False
    if accepted.replayed:
        _mark_given(ports, parked, run_id)
    return not accepted.replayed
