"""S18: a write answered 500 but had succeeded; the owner gave its lease up (amazon-kinesis-client 325).

Here a lost reply is never an answer. The identical body is sent again under its token; when that is refused, or the
token is too old, what is stored tells: my commit id, go on. A commit that stays unknown is not followed by a release.

Breaks without: commit._classify's comparison of the commit id, commit._look_back, effect.start_attempt's token.
"""

from __future__ import annotations

import pytest

from casegraph.application.advance_run import Advanced
from casegraph.application.deliver_effect import Delivered
from casegraph.domain.segment import chain_faults
from casegraph.errors import OutcomeUnknown
from casegraph.limits import COMMIT_RESENDS, MAX_STORE_TRIES, STORE_TOKEN_VALID_MILLISECONDS
from casegraph.testing.faults import Call
from tests.protocol.graphs import caller, person, sender
from tests.protocol.kit import TRANSACT, Bench, Fault

LOST = OutcomeUnknown("the reply was lost")
ALL_TRIES = COMMIT_RESENDS * MAX_STORE_TRIES


class LostAndLong(Fault):
    """The reply is lost, and by the time that anything is sent again the token has run out."""

    bench: Bench

    def meets(self, call: Call) -> bool:
        met = super().meets(call)
        if met:
            self.bench.pass_time(STORE_TOKEN_VALID_MILLISECONDS + 1_000)
        return met


def went_well(bench: Bench, run: str) -> None:
    """One success, each step once, one call of the component, an unbroken chain."""
    view = bench.world.run(run)
    assert view.state == "succeeded"
    assert view.path == list(dict.fromkeys(view.path))
    assert len(bench.site.scripted.calls) == 1
    assert chain_faults(bench.log(run)) == []


def troubles(bench: Bench) -> list[str]:
    """What a worker logs when it takes its own write for somebody else's."""
    return [name for name, _ in bench.site.notes.events if name in ("lease_lost", "burst_failed")]


@pytest.mark.parametrize("commit", [1, 2], ids=["before the paid call", "of its result"])
@pytest.mark.parametrize("lost", [1, 3, MAX_STORE_TRIES - 1])
def test_a_commit_whose_replies_were_lost_is_recognised_and_the_burst_goes_on(lost: int, commit: int) -> None:
    bench = Bench(caller("costly"))
    run = bench.start()
    worker = bench.worker()
    bench.plan("w1", TRANSACT, LOST, after=True, nth=commit, times=lost)
    assert bench.advance(run, worker) is Advanced.RELEASED
    went_well(bench, run)


def test_a_commit_is_recognised_by_its_id_when_its_token_has_run_out() -> None:
    """The resend is then a new transaction: it is refused by the very commit that it repeats."""
    bench = Bench(caller("costly"))
    run = bench.start()
    worker = bench.worker()
    fault = LostAndLong("w1", TRANSACT, LOST, after=True)
    fault.bench = bench
    bench.faults.faults.append(fault)
    assert bench.advance(run, worker) is Advanced.RELEASED
    assert not troubles(bench)
    bench.world.advance("1h")
    went_well(bench, run)


def test_a_commit_that_no_reply_ever_confirms_is_looked_up() -> None:
    """Every reply is lost, the resends' too; then the segment that it would have written is read."""
    bench = Bench(caller("costly"))
    run = bench.start()
    worker = bench.worker()
    bench.plan("w1", TRANSACT, LOST, after=True, times=ALL_TRIES)
    assert bench.advance(run, worker) is Advanced.RELEASED
    went_well(bench, run)


def test_a_commit_that_stays_unknown_is_not_followed_by_a_release() -> None:
    """Nothing arrived, and nobody knows: the lease is left to expire, then another goes on."""
    bench = Bench(caller("costly"))
    run = bench.start()
    worker = bench.worker()
    bench.plan("w1", TRANSACT, LOST, times=ALL_TRIES)
    assert bench.advance(run, worker) is Advanced.UNRESOLVED
    held = bench.head(run)
    assert (held.claim_id is not None, held.revision, held.attempts) == (True, 0, 1)
    assert bench.advance(run) is Advanced.NOTHING_DUE
    bench.world.advance("10m")
    assert bench.world.run(run).state == "succeeded"


def test_a_release_whose_reply_was_lost_is_not_taken_for_a_lost_lease() -> None:
    bench = Bench(person())
    run = bench.started()
    bench.edit_head(run, wake_at=bench.now, due_at=bench.now)
    worker = bench.worker()
    bench.plan("w1", "store.write", LOST, after=True, nth=2)  # the claim is the first
    assert bench.advance(run, worker) is Advanced.RELEASED
    assert not troubles(bench)
    assert bench.world.run(run).state == "waiting"


@pytest.mark.parametrize("nth", [1, 2], ids=["start of the attempt", "settling"])
@pytest.mark.parametrize("late", [False, True], ids=["token valid", "token run out"])
def test_an_effect_whose_write_was_answered_500_is_called_once(nth: int, late: bool) -> None:
    bench = Bench(sender("manual"))
    run = bench.started()
    worker = bench.worker()
    kind = LostAndLong if late else Fault
    fault = kind("w1", TRANSACT, LOST, after=True, nth=nth)
    if isinstance(fault, LostAndLong):
        fault.bench = bench
    bench.faults.faults.append(fault)
    found = bench.deliver(run, ports=worker)
    assert found in (Delivered.SETTLED, Delivered.SUPERSEDED, Delivered.RETRY)
    bench.world.advance("10m")
    assert bench.effect(run)["state"] == "applied"
    assert len(bench.mail.received) == 1
    assert bench.world.run(run).state == "succeeded"


def test_a_completion_that_was_answered_500_is_the_same_decision_when_it_is_sent_again() -> None:
    bench = Bench(person())
    run = bench.started()
    task = bench.world.task(run)
    bench.faults.faults = [
        Fault(f"worker-{n}", TRANSACT, LOST, after=True, nth=2, times=MAX_STORE_TRIES) for n in range(200)
    ]
    done = bench.world.complete(task, "reviewer-1", {"outcome": "accept"})
    assert (done["state"], done["completed_by"]) == ("completed", "reviewer-1")
    assert len(bench.head(run).inbox) == 1
    bench.world.settle()
    assert bench.steps(run).count("review#1") == 1
