"""Events by key over runs: parked, matched with subscriptions, and given to exactly one run.

Order is what makes it safe: an event is parked before subscriptions are read; a subscription is written before parked
events are read. Whoever comes second sees the first. Giving a parked event to a run marks the parked row in the same
transaction, so that it goes to one run only; the row stays, so that the same event sent again is known. A row for the
sender's id stands beside it, because the parked row is found by its key.
"""

from __future__ import annotations

from casegraph.application import payloads
from casegraph.application.accept_event import Accepted, Event, accept_for_run, check_payload, envelope
from casegraph.application.context import Ports
from casegraph.application.heads import read_head
from casegraph.application.persistence import patiently, transact, write
from casegraph.application.ports import Page
from casegraph.domain import rules
from casegraph.domain.burst.knowledge import PendingSubscription
from casegraph.domain.signal import event_hash, match_of
from casegraph.domain.subscription import correlation_pk, removal, subscription_item
from casegraph.domain.writes import Delete, Item, Key, Put, Table, Update
from casegraph.errors import ConditionsFailed, Conflict, InvalidInput, NeedsOperator, NotFound, TooMany
from casegraph.limits import PARKED_EVENT_MILLISECONDS

_PARKED = "EVENT#"
_WAITS = "RUN#"


def accept_by_key(ports: Ports, event: Event) -> Accepted:
    """Give an event that names no run to the wait for its type and key that opened first, or keep it until one opens.

    The same event again is a replay. Only runs of the sender's queues may get it, now or later. Raises
    `Conflict("idempotency_key_reused")` and `InvalidInput("event_invalid")`; what is refused is not kept.
    """
    row = _parked_row(ports, event)
    key = Key(Table.CORRELATIONS, row["pk"], row["sk"])
    known = _park(ports, event, key, row)
    if known is not None and known.get("given_to"):
        return Accepted(known["given_to"], replayed=True)
    try:
        return _deliver(ports, event, key)
    except (Conflict, InvalidInput):
        _unpark(ports, event, key)
        raise


def _park(ports: Ports, event: Event, key: Key, row: Item) -> Item | None:
    """Keep the event; the row as it is when this very event is kept already."""
    sender = _sender_key(event)
    record: Item = {
        "pk": sender.pk,
        "sk": sender.sk,
        "installation_id": ports.installation_id,
        "fingerprint": row["fingerprint"],
        "expires_at": row["expires_at"],
    }
    try:
        transact(ports, [Put(sender, record, (rules.NEW_ITEM,)), Put(key, row, (rules.NEW_ITEM,))])
    except ConditionsFailed as failed:
        on_sender = failed.of(0)
        stored = (on_sender.old_item if on_sender else None) or {}
        if stored.get("fingerprint") != event.fingerprint():
            raise Conflict(
                f"event id {event.event_id!r} of type {event.event_type} was already sent with another content",
                "idempotency_key_reused",
                hint="send a new event under an event_id of its own",
            ) from failed
        return patiently(ports, lambda: ports.store.get(key)) or row
    return None


def _unpark(ports: Ports, event: Event, key: Key) -> None:
    """A refused request stores nothing: take back what this one wrote, unless somebody has it by now."""
    try:
        transact(
            ports,
            [
                Delete(_sender_key(event), (rules.ITEM_EXISTS,)),
                Delete(key, (rules.ITEM_EXISTS, rules.NOT_GIVEN)),
            ],
        )
    except ConditionsFailed:
        return


def _sender_key(event: Event) -> Key:
    name = event_hash(event.event_type, event.event_id)
    return Key(Table.CORRELATIONS, f"EVENTID#{name}", "EVENT")


def _parked_row(ports: Ports, event: Event) -> Item:
    name = event_hash(event.event_type, event.event_id)
    now = ports.clock.now()
    kept = payloads.stored(ports, "parked", "payload", event.payload)
    row: Item = {
        "pk": correlation_pk(event.event_type, match_of(event.key)),
        "sk": f"{_PARKED}{name}",
        "run_id": "parked",
        **envelope(ports, event),
        **kept,
        "expires_at": (now + PARKED_EVENT_MILLISECONDS) // 1000,
    }
    if event.queues is not None:
        row["queues"] = list(event.queues)
    return row


def _deliver(ports: Ports, event: Event, parked: Key) -> Accepted:
    waits = _all(ports, parked.pk, _WAITS)
    for wait in sorted(waits, key=lambda item: (item["opened_at"], item["run_id"])):
        accepted = _give(ports, wait["run_id"], event, parked, wait["step"])
        if accepted is not None:
            return accepted
    return Accepted(None)


def _all(ports: Ports, pk: str, prefix: str) -> list[Item]:
    items: list[Item] = []
    page = _page(ports, pk, prefix, None)
    items.extend(page.items)
    while page.next_after is not None:
        page = _page(ports, pk, prefix, page.next_after)
        items.extend(page.items)
    return items


def _give(ports: Ports, run_id: str, event: Event, parked: Key, step: str) -> Accepted | None:
    """Try one run; None when that run cannot take it (ended, its inbox is full, or not the sender's to reach)."""
    try:
        head = read_head(ports, run_id)
        if head.terminal:
            write(ports, removal(event.event_type, match_of(event.key), run_id, step))
            return None
        if not event.reaches(head.queue_id):
            return None
        check_payload(ports, head, event)
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
        page = _page(ports, pk, _PARKED, after)
        for row in page.items:
            if "given_to" not in row and _take(ports, run_id, row):
                return True
        if page.next_after is None:
            return False
        after = page.next_after


def _page(ports: Ports, pk: str, prefix: str, after: str | None) -> Page:
    return patiently(ports, lambda: ports.store.query(Table.CORRELATIONS, pk, prefix=prefix, after=after))


def _take(ports: Ports, run_id: str, row: Item) -> bool:
    """Give a parked event to the run that opens a wait for it; one that does not fit may not stop its burst."""
    parked = Key(Table.CORRELATIONS, row["pk"], row["sk"])
    try:
        event = _event_of(ports, row)
        head = read_head(ports, run_id)
        if not event.reaches(head.queue_id):
            return False
        check_payload(ports, head, event)
        accepted = accept_for_run(ports, run_id, event, (given(parked, run_id),))
    except (ConditionsFailed, TooMany):
        return False
    except (Conflict, InvalidInput, NeedsOperator) as problem:
        # Another event under this sender's id, a payload that the graph does not allow, or one that is gone.
        ports.journal.event("parked_event_refused", run_id=run_id, code=problem.code)
        return False
    if accepted.replayed:
        _mark_given(ports, parked, run_id)
    return not accepted.replayed


def _event_of(ports: Ports, row: Item) -> Event:
    queues = row.get("queues")
    payload = payloads.field(ports, row, "payload")
    return Event(
        row["event_type"],
        row["event_id"],
        row["key"],
        payload,
        row["source"],
        None if queues is None else tuple(queues),
    )
