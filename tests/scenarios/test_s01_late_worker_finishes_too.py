"""S1: a worker slept past its lease, another took the run over, and both finished the step.

Elsewhere the run was then corrupted or stuck (azure-functions-durable-extension 3375 and 1748; hatchet 1022).
Here the late worker's commit is refused by its generation, writes nothing and logs `lease_lost`; the effect was
called once, or nobody knows and it is `ambiguous`; the run ends once.

Breaks without: commit._mine (the generation of a failed condition's old head).
The effects break without: effect.attempt_fence (attempt and attempt token).
"""

from __future__ import annotations

import pytest

from casegraph.application.advance_run import Advanced
from casegraph.application.deliver_effect import Delivered, deliver_effect
from casegraph.application.ports import Applied, EffectRequest, Outcome, RetryLater, Unknown
from casegraph.domain.segment import chain_faults
from casegraph.testing.lockstep import Killed
from tests.protocol.graphs import caller, graph, mail, sender
from tests.protocol.kit import INVOCATION, Bench

# The sleeper's lease: its invocation, the skew, and the penalty of its claim.
PAST_THE_LEASE = INVOCATION + 2_000 + 120_000 + 2_001


def take_over(bench: Bench, run: str) -> None:
    """The first lease runs out; another worker goes on with the run."""
    bench.pass_time(PAST_THE_LEASE)
    assert bench.advance(run) is Advanced.RELEASED


def outcomes(bench: Bench, run: str) -> list[str]:
    return [i["delta"]["set"]["outcome"] for i in bench.log(run) if "outcome" in i["delta"].get("set", {})]


def test_the_late_workers_commit_changes_nothing_and_the_run_ends_once() -> None:
    bench = Bench(caller())
    run = bench.start()
    late = bench.worker(at={"store.transact": lambda: take_over(bench, run)})
    assert bench.advance(run, late) is Advanced.LEASE_LOST
    written = [c for c in bench.site.history.changes if c.writer == "w1" and c.key.sk != "HEAD"]
    assert written == [], "the late worker wrote nothing but its claim"
    assert ("lease_lost", {"run_id": run, "generation": 1}) in bench.site.notes.events
    assert outcomes(bench, run) == ["succeeded"]
    assert bench.steps(run).count("look#1") == 1
    assert chain_faults(bench.log(run)) == []


def test_a_late_worker_does_not_write_while_the_next_one_is_still_at_work() -> None:
    """The next owner has claimed and committed nothing yet: revision and inbox are as the late worker read them."""
    bench = Bench(caller())
    run = bench.start()

    def next_claims() -> None:
        bench.pass_time(PAST_THE_LEASE)
        bench.crash(run)

    late = bench.worker(at={"store.transact": next_claims})
    assert bench.advance(run, late) is Advanced.LEASE_LOST
    assert bench.head(run).revision == 0
    bench.world.advance("10m")
    assert outcomes(bench, run) == ["succeeded"]


def test_a_release_after_an_error_does_not_end_the_lease_of_another() -> None:
    """The late worker fails and wants to give back what is no longer its own."""
    bench = Bench(graph("two", [mail("send")], ["start.success > send", "send.sent > end"]))
    run = bench.start()

    def taken_over_and_failing() -> None:
        bench.pass_time(PAST_THE_LEASE)
        bench.crash(run)  # the next owner has claimed, and is gone
        raise RuntimeError("a bug of the late worker")

    late = bench.worker(at={"store.transact": taken_over_and_failing})
    bench.advance(run, late)
    assert bench.head(run).generation == 2
    assert bench.head(run).claim_id is not None, "the second lease stands"


@pytest.mark.parametrize("recovery", ["manual", "idempotent"])
def test_the_effect_of_a_late_dispatcher_happens_once(recovery: str) -> None:
    """The call outlives its invocation; another dispatcher recovers the attempt; then the answer comes."""
    bench = Bench(sender(recovery))
    run = bench.started()
    seen: list[str] = []

    def slow(request: EffectRequest) -> Outcome:
        bench.pass_time(INVOCATION + 2_000)
        other = deliver_effect(bench.ports, run, "send#1#1", bench.site.invocation())
        assert other in (Delivered.SETTLED, Delivered.RETRY)
        seen.append(bench.effect(run)["state"])
        return Applied({"receipt": "r1"})

    bench.mail.outcomes = [slow, Applied({"receipt": "r2"})]
    late = bench.deliver(run, ports=bench.worker())
    assert seen == ["ambiguous" if recovery == "manual" else "pending"]
    assert late is (Delivered.SETTLED if recovery == "manual" else Delivered.SUPERSEDED)
    bench.world.advance("1h")
    assert bench.effect(run)["state"] == "applied"
    assert sum(call.applied for call in bench.mail.received) == 1
    assert bench.world.run(run).state == "succeeded"
    assert outcomes(bench, run) == ["succeeded"]


def test_a_late_unknown_answer_does_not_overwrite_a_newer_attempt() -> None:
    """The first dispatcher learns nothing, but late: the second attempt has been applied meanwhile."""
    bench = Bench(sender("idempotent"))
    run = bench.started()

    def lost(request: EffectRequest) -> Outcome:
        bench.pass_time(INVOCATION + 2_000)
        bench.deliver(run)  # back to pending, attempt 1 unknown
        bench.pass_time(20_000)
        assert bench.deliver(run) is Delivered.SETTLED  # attempt 2: applied
        return Unknown("no_answer")

    bench.mail.outcomes = [lost, Applied()]
    assert bench.deliver(run, ports=bench.worker()) is Delivered.SUPERSEDED
    assert bench.effect(run)["state"] == "applied"
    assert sum(call.applied for call in bench.mail.received) == 1


def test_a_late_refusal_does_not_settle_the_attempt_that_is_under_way() -> None:
    """The second attempt may have arrived, and its process is gone: the first one's "busy" says nothing about it."""
    bench = Bench(sender("idempotent"))
    run = bench.started()

    def busy(request: EffectRequest) -> Outcome:
        bench.pass_time(INVOCATION + 2_000)
        bench.deliver(run)  # back to pending, attempt 1 unknown
        bench.pass_time(20_000)
        second = bench.worker()
        bench.plan("w2", "store.transact", Killed("process gone"), nth=2)
        with pytest.raises(Killed):
            bench.deliver(run, ports=second)
        return RetryLater("busy")

    bench.mail.outcomes = [busy, Applied()]
    assert bench.deliver(run, ports=bench.worker()) is Delivered.SUPERSEDED
    assert (bench.effect(run)["state"], bench.effect(run)["attempts"]) == ("applying", 2)
    bench.world.advance("1h")
    assert bench.effect(run)["state"] == "applied"
    assert sum(call.applied for call in bench.mail.received) == 1
