"""protocol.md 5: effects, as far as they are built."""

from __future__ import annotations

from typing import Any

import pytest

from casegraph.application.deliver_effect import Delivered, Delivery, deliver_effect
from casegraph.application.ports import Applied, EffectRequest, Outcome, Rejected, RetryLater, Unknown
from casegraph.domain import effect
from casegraph.domain.effect import backoff_ceiling, operation_key
from casegraph.domain.head import row_key
from casegraph.domain.writes import Item
from casegraph.errors import ConditionsFailed, NodeFailed, OutcomeUnknown
from casegraph.limits import (
    CLOCK_SKEW_MILLISECONDS,
    EFFECT_CALL_TIMEOUT_SECONDS,
    MAX_EFFECT_ATTEMPTS,
    MAX_EFFECT_LOOKUPS,
    PAUSED_RECHECK_MILLISECONDS,
)
from casegraph.testing.lockstep import Killed
from casegraph.testing.outside import Scripted
from tests.protocol import graphs
from tests.protocol.kit import INVOCATION, TRANSACT, Bench


def sending(recovery: str = "idempotent", *outcomes: Scripted, **graph: Any) -> tuple[Bench, str]:
    """A run that waits for its message, and the receiver's outcomes."""
    bench = Bench(graphs.sender(recovery, **graph))
    if outcomes:
        bench.mail.outcomes = list(outcomes)
    return bench, bench.started()


def later(bench: Bench, run: str, milliseconds: int = 0) -> Delivered:
    """Deliver when the effect is due again, or after so much more time."""
    due = bench.effect(run)["available_at"]
    bench.pass_time(max(0, due - bench.now) + milliseconds)
    return bench.deliver(run)


def killed_in_call(bench: Bench, run: str, *, applied: bool) -> None:
    """The dispatcher dies while the receiver has the request."""

    def die(request: EffectRequest) -> Outcome:
        if applied:
            bench.mail.applied[request.operation_key] = {"receipt": "r-1"}
        raise Killed("gone")

    outcomes, bench.mail.outcomes = bench.mail.outcomes, [die]
    with pytest.raises(Killed):
        bench.deliver(run)
    bench.mail.outcomes = outcomes


# -- the start of an attempt -------------------------------------------------------------------------------------------


def test_an_attempt_is_counted_before_its_call_and_can_be_recovered_only_after_its_invocation() -> None:
    bench, run = sending()
    seen: list[Item] = []

    def look(_: EffectRequest) -> Outcome:
        seen.append(bench.effect(run))
        return Applied()

    bench.mail.outcomes = [look]
    started = bench.now
    bench.deliver(run)
    (row,) = seen
    assert (row["state"], row["attempts"]) == ("applying", 1)
    assert row["attempt_token"]
    assert row["available_at"] == row["due_at"] == started + INVOCATION + CLOCK_SKEW_MILLISECONDS


def test_a_duplicate_job_does_not_recover_a_live_attempt() -> None:
    bench, run = sending("manual")
    killed_in_call(bench, run, applied=False)
    bench.pass_time(INVOCATION)
    assert bench.deliver(run) is Delivered.NOT_YET
    assert bench.effect(run)["state"] == "applying"
    bench.pass_time(CLOCK_SKEW_MILLISECONDS)
    assert bench.deliver(run) is Delivered.SETTLED
    assert bench.effect(run)["state"] == "ambiguous"


def test_two_dispatchers_at_the_same_instant_make_one_attempt() -> None:
    bench, run = sending()
    racing = bench.worker(at={TRANSACT: lambda: bench.deliver(run)})
    assert bench.deliver(run, ports=racing) is Delivered.SUPERSEDED
    assert len(bench.mail.received) == 1
    assert bench.effect(run)["attempts"] == 1


def test_an_attempt_starts_only_when_the_effect_is_due() -> None:
    bench, run = sending("idempotent", RetryLater("busy"), Applied())
    bench.deliver(run)
    row = bench.effect(run)
    update = effect.start_attempt(row_key(run, row["sk"]), "token", row["available_at"] - 60_000, 0)
    with pytest.raises(ConditionsFailed):
        bench.ports.store.write(update)
    bench.edit_row(run, row["sk"], available_at=bench.now + 60_000)
    assert bench.deliver(run) is Delivered.NOT_YET
    assert len(bench.mail.received) == 1


def test_the_dispatcher_recognises_itself_when_the_reply_was_lost() -> None:
    bench, run = sending()
    ports = bench.worker(at={TRANSACT: lambda: bench.pass_time(11 * 60_000)}, nth=2)
    bench.plan("w1", TRANSACT, OutcomeUnknown("lost"), after=True)

    class Patient:
        """An invocation whose end is far away."""

        def remaining_milliseconds(self) -> int:
            """Always enough."""
            return 60_000

    assert deliver_effect(ports, run, "send#1#1", Patient()) is Delivered.SETTLED
    assert len(bench.mail.received) == 1


@pytest.mark.parametrize(
    ("change", "done", "state"),
    [
        ({"outcome": "terminated"}, Delivered.SETTLED, "cancelled"),
        ({"paused": {"since": 1}}, Delivered.HELD, "pending"),
        ({"frontier": {}}, Delivered.SETTLED, "cancelled"),
        ({"closing": {"1.1": "x|"}}, Delivered.SETTLED, "cancelled"),
    ],
)
def test_no_attempt_for_a_run_that_ended_or_is_paused_or_for_a_branch_that_lost(
    change: dict[str, Any], done: Delivered, state: str
) -> None:
    bench, run = sending()
    bench.edit_head(run, **change)
    assert bench.deliver(run) is done
    assert bench.mail.received == []
    assert bench.effect(run)["state"] == state
    assert bench.effect(run)["attempts"] == 0


def test_an_effect_of_a_paused_run_comes_back_after_a_minute_and_keeps_its_attempts() -> None:
    bench, run = sending()
    bench.world.pause(run)
    bench.deliver(run)
    row = bench.effect(run)
    assert row["available_at"] == row["due_at"] == bench.now + PAUSED_RECHECK_MILLISECONDS
    assert row["attempts"] == 0
    bench.world.resume(run)
    assert later(bench, run) is Delivered.SETTLED


def test_a_pause_that_meets_the_start_of_an_attempt_wins_over_it() -> None:
    bench, run = sending()
    racing = bench.worker(at={TRANSACT: lambda: bench.world.pause(run)})
    assert bench.deliver(run, ports=racing) is Delivered.HELD
    assert bench.mail.received == []


def test_an_effect_that_another_dispatcher_started_meanwhile_is_not_cancelled_or_postponed() -> None:
    bench, run = sending("manual")
    row = bench.effect(run)
    killed_in_call(bench, run, applied=True)
    for update in (
        effect.cancel(row_key(run, row["sk"]), row, bench.now),
        effect.postpone(row_key(run, row["sk"]), row, 0),
    ):
        with pytest.raises(ConditionsFailed):
            bench.ports.store.write(update)
    bench.edit_row(run, row["sk"], state="pending")
    with pytest.raises(ConditionsFailed):
        bench.ports.store.write(effect.cancel(row_key(run, row["sk"]), row, bench.now))


def test_a_call_for_which_no_time_is_left_is_not_made_and_not_unknown() -> None:
    bench, run = sending("manual")
    ports = bench.worker(at={TRANSACT: lambda: bench.pass_time(INVOCATION - 5_000)})
    assert bench.deliver(run, ports=ports) is Delivered.RETRY
    assert bench.mail.received == []
    assert (bench.effect(run)["state"], bench.effect(run)["unknown"]) == ("pending", 0)


def test_an_attempt_for_which_no_time_is_left_is_not_started() -> None:
    bench, run = sending()
    short = bench.site.invocation(EFFECT_CALL_TIMEOUT_SECONDS * 1_000)
    assert deliver_effect(bench.ports, run, "send#1#1", short) is Delivered.NO_TIME
    assert bench.effect(run)["attempts"] == 0


# -- the operation key -------------------------------------------------------------------------------------------------


def test_the_operation_key_is_the_run_the_step_with_its_occurrence_and_the_payload() -> None:
    item = {"step_id": "send#1", "number": 1, "payload_digest": "sha256:a", "refused": 0}
    key = operation_key(item, "run-1")
    others = [
        operation_key(item, "run-2"),
        operation_key({**item, "step_id": "send#2"}, "run-1"),
        operation_key({**item, "step_id": "fork#1/a/send#1"}, "run-1"),
        operation_key({**item, "payload_digest": "sha256:b"}, "run-1"),
        operation_key({**item, "refused": 1}, "run-1"),
    ]
    assert operation_key(dict(item), "run-1") == key
    assert len({key, *others}) == 6


def test_the_operation_key_gets_a_number_only_after_a_definite_refusal() -> None:
    bench, run = sending("idempotent", Unknown("no_answer"), Unknown("no_answer"), Applied())
    for _ in range(3):
        later(bench, run)
    assert len({call.operation_key for call in bench.mail.received}) == 1
    refusing, other = sending("idempotent", RetryLater("busy"), Applied())
    for _ in range(2):
        later(refusing, other)
    assert len({call.operation_key for call in refusing.mail.received}) == 2


def test_a_refusal_after_an_unknown_attempt_keeps_the_operation_key() -> None:
    bench, run = sending("idempotent", Unknown("no_answer"), RetryLater("busy"), Applied())
    for _ in range(3):
        later(bench, run)
    assert len({call.operation_key for call in bench.mail.received}) == 1


# -- settling ----------------------------------------------------------------------------------------------------------


def test_settling_writes_the_result_and_the_signal_together() -> None:
    bench, run = sending("idempotent", Applied({"receipt": "r-1"}))
    before = len(bench.site.history.changes)
    bench.deliver(run)
    changes = bench.site.history.changes[before:]
    last = [c.key.sk for c in changes if c.call == changes[-1].call]
    assert sorted(last) == ["EFFECT#send#1#1", "HEAD"]
    assert bench.head(run).inbox == ("effect|send#1#1",)
    bench.advance(run)
    assert bench.head(run).outcome == "succeeded"


def test_becoming_ambiguous_signals_too() -> None:
    bench, run = sending("manual", Unknown("no_answer"))
    bench.deliver(run)
    assert bench.head(run).inbox == ("effect|send#1#1",)
    bench.advance(run)
    assert [t.code for t in bench.head(run).frontier.values()] == ["effect_ambiguous"]


@pytest.mark.parametrize(
    ("outcomes", "state"),
    [
        ([Rejected("bad")], "rejected"),
        ([RetryLater("busy"), Rejected("bad")], "rejected"),
        ([Unknown("no_answer"), Rejected("bad")], "ambiguous"),
        ([Unknown("no_answer"), RetryLater("busy"), Rejected("bad")], "ambiguous"),
    ],
)
def test_rejected_at_whatever_attempt_only_if_no_attempt_is_unknown(
    outcomes: list[Scripted], state: str
) -> None:
    bench, run = sending("idempotent", *outcomes)
    for _ in outcomes:
        later(bench, run)
    assert bench.effect(run)["state"] == state


def test_a_late_answer_settles_its_own_attempt_only() -> None:
    bench, run = sending("idempotent")
    killed_in_call(bench, run, applied=False)
    first = bench.effect(run)
    later(bench, run)
    bench.edit_row(run, first["sk"], state="applying", attempts=2, attempt_token="another")
    late = effect.settle(row_key(run, first["sk"]), first, effect.after_rejected(first, "bad"), bench.now)
    with pytest.raises(ConditionsFailed):
        bench.ports.store.write(late)


def test_a_late_answer_settles_what_recovery_had_to_call_ambiguous_and_the_branch_goes_on() -> None:
    bench, run = sending("manual")
    killed_in_call(bench, run, applied=True)
    attempt = bench.effect(run)
    later(bench, run)
    bench.advance(run)
    assert bench.head(run).in_attention
    delivery = Delivery(
        bench.ports, row_key(run, attempt["sk"]), "send#1#1", attempt, bench.site.invocation()
    )
    assert delivery._settle_outcome(Applied()) is Delivered.SETTLED
    bench.advance(run)
    assert bench.head(run).outcome == "succeeded"


@pytest.mark.parametrize("state", ["applied", "rejected", "cancelled"])
def test_what_is_settled_stays_so(state: str) -> None:
    bench, run = sending("manual")
    killed_in_call(bench, run, applied=True)
    row = bench.effect(run)
    bench.edit_row(run, row["sk"], state=state)
    for verdict in (effect.after_applied({}), effect.after_rejected(row, "bad")):
        with pytest.raises(ConditionsFailed):
            bench.ports.store.write(effect.settle(row_key(run, row["sk"]), row, verdict, bench.now))


def test_a_settled_effect_of_an_ended_run_is_still_recorded() -> None:
    bench, run = sending()

    def ends(_: EffectRequest) -> Outcome:
        bench.world.terminate(run)
        return Applied({"receipt": "r-1"})

    bench.mail.outcomes = [ends]
    assert bench.deliver(run) is Delivered.SETTLED
    assert bench.effect(run)["state"] == "applied"
    assert len(bench.head(run).inbox) == 1


def test_backoff_doubles_from_5_s_to_15_min_with_full_jitter_and_ends_after_8_attempts() -> None:
    assert [backoff_ceiling(n) // 1_000 for n in range(1, 10)] == [5, 10, 20, 40, 80, 160, 320, 640, 900]
    bench, run = sending("idempotent", RetryLater("busy"))
    waits = []
    for _ in range(MAX_EFFECT_ATTEMPTS):
        later(bench, run)
        row = bench.effect(run)
        if row["state"] == "pending":
            waits.append((row["available_at"] - bench.now, backoff_ceiling(row["attempts"])))
    assert all(0 <= wait <= ceiling for wait, ceiling in waits)
    assert len({wait for wait, _ in waits}) == MAX_EFFECT_ATTEMPTS - 1
    assert (bench.effect(run)["state"], bench.effect(run)["attempts"]) == ("rejected", 8)


# -- recovery ----------------------------------------------------------------------------------------------------------


def test_an_idempotent_effect_whose_attempt_was_lost_is_attempted_again() -> None:
    bench, run = sending("idempotent")
    killed_in_call(bench, run, applied=True)
    later(bench, run)
    assert (bench.effect(run)["state"], bench.effect(run)["unknown"]) == ("pending", 1)
    later(bench, run)
    assert bench.effect(run)["state"] == "applied"
    assert bench.effect(run)["attempts"] == 2


def test_an_idempotent_effect_that_stays_unknown_is_ambiguous_after_its_last_attempt() -> None:
    bench, run = sending("idempotent", Unknown("no_answer"))
    for _ in range(MAX_EFFECT_ATTEMPTS):
        later(bench, run)
    assert bench.effect(run)["state"] == "ambiguous"


def test_a_manual_effect_whose_attempt_was_lost_is_ambiguous_and_never_repeated() -> None:
    bench, run = sending("manual")
    killed_in_call(bench, run, applied=True)
    later(bench, run)
    assert bench.effect(run)["state"] == "ambiguous"
    assert bench.deliver(run) is Delivered.NOTHING_DUE
    assert bench.mail.received == []


def test_a_lookup_effect_asks_and_records_what_it_is_told() -> None:
    bench, run = sending("lookup")
    killed_in_call(bench, run, applied=True)
    later(bench, run)
    assert bench.effect(run)["state"] == "applied"
    assert bench.mail.received == []


def test_absent_counts_only_after_the_invocation_the_call_timeout_and_the_receivers_visibility() -> None:
    bench, run = sending("lookup")
    bench.mail.visibility_seconds = 100
    killed_in_call(bench, run, applied=False)
    until = bench.effect(run)["attempt_until"]
    believed = until + (EFFECT_CALL_TIMEOUT_SECONDS + 100) * 1_000
    later(bench, run)
    row = bench.effect(run)
    assert (row["state"], row["available_at"]) == ("applying", believed)
    later(bench, run)
    row = bench.effect(run)
    assert (row["state"], row["unknown"]) == ("pending", 0), "believed: that attempt is definitely refused"
    later(bench, run)
    assert bench.effect(run)["state"] == "applied"


@pytest.mark.parametrize("gone", [False, True])
def test_a_lookup_that_is_never_answered_ends_as_ambiguous(
    gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench, run = sending("lookup")
    killed_in_call(bench, run, applied=False)

    def fails(*_: object) -> Any:
        raise NodeFailed("connector_unknown")

    if gone:
        monkeypatch.setattr(bench.site.connectors, "get", fails)
    else:
        monkeypatch.setattr(bench.mail, "look_up", fails)
    for _ in range(MAX_EFFECT_LOOKUPS + 1):
        later(bench, run)
    assert bench.effect(run)["state"] == "ambiguous"


def test_recovery_is_fenced_by_its_attempt_too() -> None:
    bench, run = sending("lookup")
    killed_in_call(bench, run, applied=False)
    row = bench.effect(run)
    bench.edit_row(run, row["sk"], attempts=2)
    with pytest.raises(ConditionsFailed):
        bench.ports.store.write(effect.look_again(row_key(run, row["sk"]), row, 0))


# -- terminal runs -----------------------------------------------------------------------------------------------------


def _ended_in_call(bench: Bench, run: str, outcome: Outcome) -> None:
    def ends(_: EffectRequest) -> Outcome:
        bench.world.terminate(run)
        return outcome

    bench.mail.outcomes = [ends]
    later(bench, run)


def test_an_effect_of_an_ended_run_never_goes_back_to_pending() -> None:
    bench, run = sending()
    _ended_in_call(bench, run, RetryLater("busy"))
    assert bench.effect(run)["state"] == "cancelled"
    assert "due_pk" not in bench.effect(run)


def test_an_effect_of_an_ended_run_is_ambiguous_when_its_last_attempt_is_unknown() -> None:
    bench, run = sending()
    _ended_in_call(bench, run, Unknown("no_answer"))
    assert bench.effect(run)["state"] == "ambiguous"


def test_an_effect_of_an_ended_run_is_ambiguous_when_an_earlier_attempt_is_unknown() -> None:
    bench, run = sending("idempotent", Unknown("no_answer"))
    bench.deliver(run)
    _ended_in_call(bench, run, RetryLater("busy"))
    assert bench.effect(run)["state"] == "ambiguous"


def test_a_pending_effect_of_an_ended_run_is_ambiguous_when_an_attempt_is_unknown() -> None:
    bench, run = sending("idempotent", Unknown("no_answer"))
    bench.deliver(run)
    bench.edit_head(run, outcome="terminated")
    later(bench, run)
    assert bench.effect(run)["state"] == "ambiguous"
    assert len(bench.mail.received) == 1


def test_a_lookup_may_still_ask_for_an_ended_run() -> None:
    bench, run = sending("lookup")
    killed_in_call(bench, run, applied=True)
    bench.world.terminate(run)
    later(bench, run)
    assert bench.effect(run)["state"] == "applied"


def test_terminate_cancels_what_is_pending_and_leaves_what_is_applying_to_settle() -> None:
    bench, run = sending()
    bench.world.terminate(run)
    bench.advance(run)
    assert bench.effect(run)["state"] == "cancelled"
    other, second = sending("manual")
    killed_in_call(other, second, applied=True)
    other.world.terminate(second)
    other.advance(second)
    assert other.effect(second)["state"] == "applying"
    later(other, second)
    assert other.effect(second)["state"] == "ambiguous"


def test_a_wait_for_an_effect_has_no_deadline_so_that_none_can_spin() -> None:
    bench, run = sending("manual", Unknown("no_answer"))
    assert [t.deadline_at for t in bench.head(run).frontier.values()] == [None]
    bench.deliver(run)
    bench.advance(run)
    assert bench.head(run).wake_at is None


def test_a_message_whose_payload_cannot_be_read_is_not_sent_and_not_unknown() -> None:
    bench = Bench(graphs.graph(
        "large",
        [graphs.node("send", "send_message", {"connector_id": "mail", "template": "note", "recovery": "manual"},
                     input_mapping={"to": '"someone"', "key": "input.key"})],
        ["start.success > send", "send.sent > end"],
    ))  # fmt: skip
    run = bench.started({"key": "x" * 5_000})
    for name in bench.site.blobs.names():
        if name.startswith(f"runs/{run}/"):
            bench.site.blobs.delete(name)
    assert bench.deliver(run) is Delivered.RETRY
    assert (bench.effect(run)["state"], bench.effect(run)["unknown"]) == ("pending", 0)
