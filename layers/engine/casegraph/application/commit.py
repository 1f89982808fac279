"""The commit of a burst: one transaction, every failed condition read item by item (protocol.md 2, 3).

In this order: my commit id on the head or on segment r + 1: it succeeded. Another generation: the lease is lost.
Same generation, terminal: the result is dropped. Same generation, other revision or inbox: rebuild on the head that
was returned. Another item's condition: someone else decided; reload and rebuild.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from casegraph.application import payloads
from casegraph.application.context import Ports
from casegraph.application.heads import head_of, read_head
from casegraph.application.persistence import patiently, stamped
from casegraph.domain import rules, segment
from casegraph.domain.burst.decide import Plan
from casegraph.domain.head import LATEST_SK, Head, head_key, latest_bytes, row_key, to_item
from casegraph.domain.segment import Segment, segment_sk
from casegraph.domain.writes import Item, Put, Write
from casegraph.errors import ConditionsFailed, OutcomeUnknown
from casegraph.limits import COMMIT_RESENDS, LATEST_INLINE_MAX_BYTES


@dataclass(frozen=True, slots=True)
class Committed:
    """It is written; `head` is the head now (an operator may have written after it). segment: the row."""

    head: Head
    segment: Item


@dataclass(frozen=True, slots=True)
class Lost:
    """Another generation holds the run: stop, write nothing."""


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Nothing is written; decide again on this head. It may be terminal by now."""

    head: Head


@dataclass(frozen=True, slots=True)
class Unresolved:
    """Nobody knows: never release after this; the lease expires and the next claimant reads what is there."""


Outcome = Committed | Lost | Rebuild | Unresolved


def commit(ports: Ports, base: Head, plan: Plan, *, release: bool, also: tuple[Write, ...] = ()) -> Outcome:
    """Write a plan. base: the claimed head that it was decided on; release: this is the burst's last commit;
    also: writes in other runs' partitions that belong to it (its children, its parent)."""
    commit_id = ports.ids.new()[:16]
    head, row = _sealed(base, plan, commit_id, release=release)
    for digest, body in plan.blobs.items():
        payloads.put(ports, base.run_id, digest, body)
    writes = stamped(ports, _writes(base, head, row, (*plan.writes, *also)))
    token = ports.ids.new()
    outcome: Outcome = Unresolved()
    for _ in range(COMMIT_RESENDS):
        try:
            patiently(ports, lambda: ports.store.transact(writes, token))
        except ConditionsFailed as failed:
            return _classify(ports, base, head, row, failed)
        except OutcomeUnknown:
            outcome = _look_back(ports, base, head, row)
            if not isinstance(outcome, Unresolved):
                return outcome
        else:
            return Committed(head, row)
    return outcome


def seal(base: Head, head: Head, entry: Segment, commit_id: str) -> tuple[Head, Item]:
    """Chain a segment to the head before it; returns the head with its chain and commit id, and the segment row."""
    chained = replace(entry, commit_id=commit_id, previous=base.chain, installation_id=base.installation_id)
    row = segment.to_item(chained)
    return replace(head, chain=row["hash"], commit_id=commit_id), row


def _sealed(base: Head, plan: Plan, commit_id: str, *, release: bool) -> tuple[Head, Item]:
    head, row = seal(base, plan.head, plan.segment, commit_id)
    head = replace(head, attempts=0, penalty=0)
    if release:
        head = replace(head, claim_id=None, lease_until=None)
    return head, row


def _writes(base: Head, head: Head, row: Item, others: tuple[Write, ...]) -> list[Write]:
    fences = (
        rules.same_generation(base),
        rules.same_claim(base),
        rules.same_revision(base),
        rules.same_inbox(base),
        rules.same_buffered(base),
        rules.NOT_TERMINAL,
    )
    writes: list[Write] = [
        Put(head_key(base.run_id), to_item(head), fences),
        Put(row_key(base.run_id, row["sk"]), row, (rules.NEW_ITEM,)),
        *others,
    ]
    if latest_bytes(head) > LATEST_INLINE_MAX_BYTES:
        key = row_key(base.run_id, LATEST_SK)
        older = rules.latest_row_before(head.revision)
        item = {"pk": key.pk, "sk": key.sk, "latest": dict(head.latest), "revision": head.revision}
        writes.append(Put(key, item, (older,)))
    return writes


def _classify(ports: Ports, base: Head, head: Head, row: Item, failed: ConditionsFailed) -> Outcome:
    on_head, on_segment = failed.of(0), failed.of(1)
    old_head = on_head.old_item if on_head else None
    old_segment = on_segment.old_item if on_segment else None
    if old_head is not None and old_head["commit_id"] == head.commit_id:
        return Committed(head, row)
    if old_segment is not None and old_segment["commit_id"] == head.commit_id:
        return Committed(read_head(ports, base.run_id), row)
    if old_head is None and on_head is not None:
        return Lost()
    current = read_head(ports, base.run_id) if old_head is None else head_of(ports, old_head)
    return Rebuild(current) if same_lease(base, current) else Lost()


def same_lease(one: Head, other: Head) -> bool:
    """Whether both heads show one claim: generation and claim id."""
    return (one.generation, one.claim_id) == (other.generation, other.claim_id)


def _look_back(ports: Ports, base: Head, head: Head, row: Item) -> Outcome:
    """After lost replies: the segment that this commit would have written tells what happened (S18, S30)."""
    key = row_key(base.run_id, segment_sk(base.revision + 1))
    try:
        found = patiently(ports, lambda: ports.store.get(key))
        if found is None:
            return Unresolved()
        current = read_head(ports, base.run_id)
    except OutcomeUnknown:
        return Unresolved()
    if found["commit_id"] == head.commit_id:
        return Committed(current, row)
    return Rebuild(current) if same_lease(base, current) else Lost()
