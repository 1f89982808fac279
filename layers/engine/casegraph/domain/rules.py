"""The named conditions of the protocol: every conditional write is made of these (protocol.md).

Each rule states why it is there. `docs/explanation/protocol-map.md` lists the test that fails without it.
"""

from __future__ import annotations

from casegraph.domain.head import Head
from casegraph.domain.writes import Absent, AllOf, AnyOf, Compare, Contains, Exists, Not, Rule, SizeIs
from casegraph.limits import CLOCK_SKEW_MILLISECONDS

NEW_ITEM = Rule("new_item", Absent(("pk",)), "an id is derived, so a second writer finds the first one's row")
ITEM_EXISTS = Rule("item_exists", Exists(("pk",)), "an update must not create a row")
NOT_TERMINAL = Rule("not_terminal", Absent(("outcome",)), "a terminal outcome never changes (invariant 1)")
NOT_PAUSED = Rule("not_paused", Absent(("paused",)), "nothing advances and no attempt starts while paused")
NOT_IN_RUN_ATTENTION = Rule(
    "not_in_run_attention", Absent(("attention",)), "the whole run waits for an operator"
)
CLAIMABLE_OUTCOME = Rule(
    "not_terminal_unless_cleanup",
    AnyOf((Absent(("outcome",)), Exists(("cleanup",)))),
    "a terminal run is claimed only to close what its outcome left open",
)

NOT_GIVEN = Rule("not_given", Absent(("given_to",)), "a parked event goes to one run only (invariant 5)")


def due(now: int) -> Rule:
    """`wake_at <= now + skew`."""
    return Rule(
        "due",
        Compare(("wake_at",), "<=", now + CLOCK_SKEW_MILLISECONDS),
        "a run is claimed when its time has come, give or take the skew between writers",
    )


def lease_free(now: int) -> Rule:
    """No lease, or one that expired by more than the skew."""
    return Rule(
        "lease_free",
        AnyOf((Absent(("lease_until",)), Compare(("lease_until",), "<", now - CLOCK_SKEW_MILLISECONDS))),
        "one live lease per run (invariant 2)",
    )


def same_generation(head: Head) -> Rule:
    """The lease is still the one this burst claimed."""
    return Rule(
        "same_generation",
        Compare(("generation",), "=", head.generation),
        "a stale worker changes nothing (invariant 2)",
    )


def same_claim(head: Head) -> Rule:
    """The claim id is still there: the lease was not released meanwhile."""
    return Rule(
        "same_claim",
        Compare(("claim_id",), "=", head.claim_id or ""),
        "a burst that has released its lease writes no more",
    )


def same_revision(head: Head) -> Rule:
    """No mutation came in between."""
    return Rule(
        "same_revision",
        Compare(("revision",), "=", head.revision),
        "revisions are gapless and each was computed from the one before it (invariant 3)",
    )


def same_inbox(head: Head) -> Rule:
    """No signal came in between."""
    return Rule(
        "same_inbox",
        SizeIs(("inbox",), len(head.inbox)),
        "a commit replaces the inbox: a signal that came in between would be lost (invariant 4)",
    )


def same_buffered(head: Head) -> Rule:
    """The buffered events are those that were read."""
    return Rule(
        "same_buffered",
        SizeIs(("buffered",), len(head.buffered)),
        "a commit replaces the buffered events, and their number is bounded together with the inbox's",
    )


def same_terminality(head: Head) -> Rule:
    """Terminal as read, or not terminal as read."""
    condition = Exists(("outcome",)) if head.terminal else Absent(("outcome",))
    return Rule(
        "same_terminality", condition, "a release must not forget the cleanup of a run that just ended"
    )


def same_flags(head: Head) -> Rule:
    """Stopped (terminal, paused, in run attention) as read."""
    running = AllOf((Absent(("outcome",)), Absent(("paused",)), Absent(("attention",))))
    return Rule(
        "same_flags",
        Not(running) if head.stopped else running,
        "a signal wakes a run that may run, and only that one: a wake_at on a paused run would be swept for ever",
    )


def same_wake(head: Head) -> Rule:
    """The next instant is the one that was read."""
    condition = Absent(("wake_at",)) if head.wake_at is None else Compare(("wake_at",), "=", head.wake_at)
    return Rule(
        "same_wake",
        condition,
        "a pointer of later effect wakes the run later: it must not undo a wake that came in between",
    )


def inbox_has(pointer: str) -> Rule:
    """The inbox holds this pointer."""
    return Rule(
        "pointer_in_inbox",
        Contains(("inbox",), pointer),
        "merged reports share one pointer; a row of an epoch already taken in would never be seen",
    )


def same_merge_epoch(head: Head) -> Rule:
    """The merge epoch as read."""
    return Rule(
        "same_merge_epoch",
        Compare(("merge_epoch",), "=", head.merge_epoch),
        "at most one reports-merged pointer, and each epoch's rows are frozen once it is taken in",
    )


def token_open(token_key: str) -> Rule:
    """The token waits and is not being closed."""
    return Rule(
        "token_open",
        AllOf((Exists(("frontier", token_key)), Absent(("closing", token_key)))),
        "no completion, approval, claim or attempt for a branch that lost (protocol.md 3, closing)",
    )


def row_state_in(*states: str) -> Rule:
    """The row's state is one of these (the allowed sources of a transition)."""
    return Rule(
        "row_state_in_" + "_".join(states),
        AnyOf(tuple(Compare(("state",), "=", state) for state in states)),
        "one winner for each row: the transition starts from an allowed state (invariant 9)",
    )


def row_revision(revision: int) -> Rule:
    """The row is the one that was read."""
    return Rule(
        "row_revision",
        Compare(("revision",), "=", revision),
        "each change of a row is a compare-and-set on what was read",
    )


def latest_row_before(revision: int) -> Rule:
    """The row of latest outputs is from an earlier revision, or not there."""
    return Rule(
        "latest_row_older",
        AnyOf((Absent(("pk",)), Compare(("revision",), "<", revision))),
        "the row of latest outputs only moves forward with the head that points to it",
    )
