"""Pause, resume and terminate: mutations without a lease, race-free by revision (protocol.md 2, 6).

Each is one transaction: the head if nothing changed since it was read, its segment, and a record of the idempotency
key, so that the same request again is answered the same and writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from casegraph.application import hints, linked_runs
from casegraph.application.commit import seal
from casegraph.application.context import Ports
from casegraph.application.heads import read_head
from casegraph.application.persistence import patiently, transact
from casegraph.domain import control, rules
from casegraph.domain.canonical import digest
from casegraph.domain.head import LATEST_SK, Head, facts, head_key, latest_bytes, row_key, to_item
from casegraph.domain.instants import rfc3339
from casegraph.domain.segment import Segment, delta_between
from casegraph.domain.writes import Item, Path, Put, Update, Write
from casegraph.errors import ConditionsFailed, Conflict, InvalidInput
from casegraph.limits import IDEMPOTENCY_MILLISECONDS, LATEST_INLINE_MAX_BYTES, MAX_SIGNAL_TRIES


@dataclass(frozen=True, slots=True)
class Control:
    """Who asks, why, and under which key; expected_revision: refuse when the run has moved on since it was seen."""

    actor: str
    reason: str
    idempotency_key: str
    expected_revision: int | None = None


@dataclass(frozen=True, slots=True)
class Controlled:
    """The run's revision and state after it; replayed: this very request had been carried out before."""

    run_id: str
    revision: int
    state: str
    replayed: bool = False


def pause(ports: Ports, run_id: str, request: Control, *, until: int | None = None) -> Controlled:
    """Stop a run where it is, optionally until an instant (epoch ms). Raises `NotFound`, `Conflict`,
    `InvalidInput("until_in_the_past")`."""
    return _control(ports, run_id, "pause", request, {"until": until}, lambda h, now: _paused(h, now, until))


def resume(ports: Ports, run_id: str, request: Control, *, deadlines: str = "shift") -> Controlled:
    """Let a paused run go on; deadlines `shift` by the pause's length, or `keep`. Raises `NotFound`, `Conflict`."""
    return _control(
        ports, run_id, "resume", request, {"deadlines": deadlines},
        lambda h, now: control.resumed(h, now, deadlines=deadlines),
    )  # fmt: skip


def terminate(ports: Ports, run_id: str, request: Control) -> Controlled:
    """End a run at once, in every non-terminal state; what is open is closed. Raises `NotFound`, `Conflict`."""
    return _control(ports, run_id, "terminate", request, {}, control.terminated)


def _control(
    ports: Ports,
    run_id: str,
    operation: str,
    request: Control,
    arguments: dict[str, Any],
    change: Callable[[Head, int], Head],
) -> Controlled:
    record_key = row_key(run_id, f"IDEMPOTENCY#{digest([request.actor, request.idempotency_key])}")
    fingerprint = digest([operation, request.reason, arguments, request.expected_revision])
    for _ in range(MAX_SIGNAL_TRIES):
        head = read_head(ports, run_id)
        known = patiently(ports, lambda: ports.store.get(record_key))
        if known is not None:
            return _replayed(run_id, known, fingerprint)
        _check_revision(head, request)
        now = ports.clock.now()
        control.check_allowed(operation, head, now)
        after, row = _sealed(ports, head, change(head, now), operation, request)
        record = _record(record_key.pk, record_key.sk, operation, fingerprint, after, now)
        writes: list[Write] = [
            head_update(head, after),
            Put(row_key(run_id, row["sk"]), row, (rules.NEW_ITEM,)),
        ]
        linked = linked_runs.of_end(ports, head, after)
        writes += linked.writes
        writes += [Put(record_key, record, (rules.NEW_ITEM,)), *_latest_row(head, after)]
        try:
            transact(ports, writes)
        except ConditionsFailed:
            continue
        linked_runs.wake(ports, linked)
        if after.wake_at is not None:
            hints.run_due(ports, run_id, after.wake_at)
        return Controlled(run_id, after.revision, record["state"])
    raise Conflict(f"run {run_id} changes too fast; try again", "run_busy", run_id=run_id)


def _paused(head: Head, now: int, until: int | None) -> Head:
    """Checked here, after the replay: the same request again is answered the same when its instant has passed."""
    if until is not None and until <= now:
        raise InvalidInput(
            f"until_at must be after now, which is {rfc3339(now)}", "until_in_the_past", pointer="/until_at"
        )
    return control.paused(head, now, until)


def _check_revision(head: Head, request: Control) -> None:
    if request.expected_revision is not None and request.expected_revision != head.revision:
        raise Conflict(
            f"run {head.run_id} is at revision {head.revision}, not {request.expected_revision}; look at it again",
            "revision_changed",
            run_id=head.run_id,
            expected=request.expected_revision,
            current=head.revision,
        )


def _replayed(run_id: str, record: Item, fingerprint: str) -> Controlled:
    if record["fingerprint"] != fingerprint:
        raise Conflict(
            "this Idempotency-Key was used for another request on this run",
            "idempotency_key_reused",
            run_id=run_id,
            hint="send the new request under an Idempotency-Key of its own",
        )
    return Controlled(run_id, record["revision"], record["state"], replayed=True)


def _record(pk: str, sk: str, operation: str, fingerprint: str, after: Head, now: int) -> Item:
    return {
        "pk": pk,
        "sk": sk,
        "operation": operation,
        "fingerprint": fingerprint,
        "revision": after.revision,
        "state": after.state(now),
        "expires_at": (now + IDEMPOTENCY_MILLISECONDS) // 1000,
    }


def _sealed(ports: Ports, before: Head, after: Head, operation: str, request: Control) -> tuple[Head, Item]:
    entry = Segment(
        run_id=before.run_id,
        revision=after.revision,
        kind=operation,
        recorded_at=after.recorded_at,
        commit_id="",
        previous=before.chain,
        delta=delta_between(before, after),
        actor=request.actor,
        reason=request.reason,
    )
    return seal(before, after, entry, ports.ids.new()[:16])


def head_update(before: Head, after: Head) -> Update:
    """The head's facts replaced, its lease and inbox left alone: a control write may meet a burst in flight."""
    old, new = to_item(before), to_item(after)
    kept = {"inbox", "generation", "attempts", "penalty", "claim_id", "lease_until"}
    values: dict[Path, Any] = {
        (name,): value for name, value in new.items() if name not in kept and name not in ("pk", "sk")
    }
    # A signal since the read changes no revision, but may have set wake_at: a paused run would keep it.
    remove = tuple((name,) for name in (old | {"wake_at": None}) if name not in new and name not in kept)
    return Update(
        head_key(before.run_id), (rules.NOT_TERMINAL, rules.same_revision(before)), set=values, remove=remove
    )


def _latest_row(before: Head, after: Head) -> list[Write]:
    if latest_bytes(after) <= LATEST_INLINE_MAX_BYTES:
        return []
    key = row_key(before.run_id, LATEST_SK)
    item = {"pk": key.pk, "sk": key.sk, "latest": facts(after)["latest"], "revision": after.revision}
    return [Put(key, item, (rules.latest_row_before(after.revision),))]
