"""Signals: an own row and an append to the head's inbox, in one transaction, no revision (protocol.md 2).

The writer reads the head and writes one of two forms, with or without waking the run; each is conditional on the
flags that it read, and on failure it takes the other form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from casegraph.application import hints
from casegraph.application.context import Ports
from casegraph.application.heads import read_head
from casegraph.application.persistence import transact
from casegraph.domain import rules
from casegraph.domain.head import Head, due_class, head_key
from casegraph.domain.signal import EVENT, Pointer, pending_events
from casegraph.domain.writes import Path, Rule, Update, Write
from casegraph.errors import ConditionsFailed, Conflict, TooMany
from casegraph.limits import MAX_PENDING_EVENTS, MAX_SIGNAL_TRIES, RETRY_JITTER_MILLISECONDS

OwnWrites = Callable[[Head], Sequence[Write]]


def send_signal(
    ports: Ports,
    run_id: str,
    pointer: Pointer,
    own: OwnWrites,
    *,
    guards: Callable[[Head], Sequence[Rule]] = lambda _: (),
    head: Head | None = None,
) -> Head:
    """Write a signal's own rows together with its pointer. Returns the head that it was appended to.

    own(head) gives the rows' writes; it may raise a typed error when the head that was read does not allow them.
    guards(head): further rules on the head (a task's token must be open). When an own row's rules fail,
    `ConditionsFailed` is raised with indexes that count from the first own write.
    Raises `TooMany("inbox_full")` for an event beyond the bound, and `NotFound`.
    """
    for _ in range(MAX_SIGNAL_TRIES):
        head = head or read_head(ports, run_id)
        _check_room(head, pointer)
        writes = list(own(head))
        update = append_update(ports, head, pointer, tuple(guards(head)))
        try:
            transact(ports, [update, *writes])
        except ConditionsFailed as failed:
            own_failures = [f for f in failed.failures if f.index > 0]
            if own_failures:
                raise ConditionsFailed([_shifted(f) for f in own_failures]) from failed
            head = None
            ports.clock.sleep(ports.ids.jitter(0, RETRY_JITTER_MILLISECONDS[0]))
            continue
        wake(ports, head, pointer)
        return head
    raise Conflict(f"run {run_id} changes too fast; try again", "run_busy", run_id=run_id)


def _shifted(failure: Any) -> Any:
    return type(failure)(failure.index - 1, failure.rules, failure.old_item)


def append_update(ports: Ports, head: Head, pointer: Pointer, guards: tuple[Rule, ...] = ()) -> Update:
    """The append to the inbox: with `wake_at = min(wake_at, now)` on a run that may run, without it otherwise."""
    sizes = (rules.same_inbox(head), rules.same_buffered(head)) if pointer.kind == EVENT else ()
    later = (rules.same_wake(head),) if pointer.effective_at is not None else ()
    values: dict[Path, Any] = {}
    if not head.stopped:
        at = max(ports.clock.now(), pointer.effective_at or 0)
        wake_at = at if head.wake_at is None else min(head.wake_at, at)
        values = {("wake_at",): wake_at, ("due_at",): wake_at, ("due_pk",): due_class(head)[0]}
    return Update(
        head_key(head.run_id),
        (rules.ITEM_EXISTS, rules.same_flags(head), *sizes, *later, *guards),
        set=values,
        append={("inbox",): [pointer.encode()]},
    )


def wake(ports: Ports, head: Head, pointer: Pointer) -> None:
    """Hint to the executor, unless the run stands still."""
    if not head.stopped:
        hints.run_due(ports, head.run_id, max(ports.clock.now(), pointer.effective_at or 0))


def _check_room(head: Head, pointer: Pointer) -> None:
    if pointer.kind != EVENT:
        return
    if pending_events(head.inbox, head.buffered) >= MAX_PENDING_EVENTS:
        raise TooMany(
            f"run {head.run_id} holds {MAX_PENDING_EVENTS} events that no wait has taken yet; send it again later",
            "inbox_full",
            run_id=head.run_id,
            allowed=MAX_PENDING_EVENTS,
        )
