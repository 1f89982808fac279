"""protocol.md 2: reading a failed condition, item by item, in the protocol's order; conflicts are tried again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from casegraph.application import lease, work_task
from casegraph.application.advance_run import Advanced
from casegraph.application.commit import Committed, Lost, Outcome, Rebuild, Unresolved, commit
from casegraph.application.context import Ports
from casegraph.application.reads import fulfil
from casegraph.domain.burst.decide import Plan, decide
from casegraph.domain.burst.knowledge import Knowledge, Missing
from casegraph.domain.head import Head
from casegraph.domain.writes import Write
from casegraph.errors import CasegraphError, OutcomeUnknown, Throttled, TransactionConflict, TransientFailure
from casegraph.limits import COMMIT_RESENDS, MAX_STORE_TRIES, STORE_TOKEN_VALID_MILLISECONDS
from tests.protocol import graphs
from tests.protocol.kit import TRANSACT, WRITE, Bench
from tests.protocol.test_2_signals import say


def held(bench: Bench, run: str, ports: Ports | None = None) -> Head:
    """Claim a run."""
    claimed = lease.claim(ports or bench.ports, run, bench.now + 30_000)
    assert isinstance(claimed, Head)
    return claimed


def planned(bench: Bench, head: Head) -> Plan:
    """What a burst on this head would commit."""
    graph, knowledge = bench.site.versions.graph(head.digest), Knowledge()
    while True:
        try:
            return decide(head, graph, knowledge, bench.now)
        except Missing as missing:
            fulfil(bench.ports, head, knowledge, missing)


def try_commit(bench: Bench, head: Head, ports: Ports | None = None) -> Outcome:
    """Decide on this head and commit, as the last of a burst."""
    return commit(ports or bench.ports, head, planned(bench, head), release=True)


def claimed_start() -> tuple[Bench, str, Head]:
    """A run claimed before its first burst."""
    bench = Bench(graphs.person())
    run = bench.start()
    return bench, run, held(bench, run)


# -- my own commit -----------------------------------------------------------------------------------------------------


def test_my_commit_id_on_the_head_means_that_it_succeeded() -> None:
    bench, run, head = claimed_start()
    ports = bench.worker(at={TRANSACT: lambda: bench.pass_time(STORE_TOKEN_VALID_MILLISECONDS + 1)}, nth=2)
    bench.plan("w1", TRANSACT, OutcomeUnknown("lost"), after=True)
    outcome = try_commit(bench, head, ports)
    assert isinstance(outcome, Committed)
    assert outcome.head.commit_id == bench.head(run).commit_id


def test_my_commit_id_on_the_next_segment_means_that_it_succeeded_though_others_wrote_after_it() -> None:
    bench, run, head = claimed_start()

    def long_after_and_paused() -> None:
        bench.pass_time(STORE_TOKEN_VALID_MILLISECONDS + 1)
        bench.world.pause(run)

    ports = bench.worker(at={TRANSACT: long_after_and_paused}, nth=2)
    bench.plan("w1", TRANSACT, OutcomeUnknown("lost"), after=True)
    outcome = try_commit(bench, head, ports)
    assert isinstance(outcome, Committed)
    assert outcome.head.paused is not None, "it goes on with the head as it is now"


# -- a lost lease ------------------------------------------------------------------------------------------------------


def test_another_generation_means_that_the_lease_is_lost_and_nothing_is_written() -> None:
    bench, run, head = claimed_start()
    bench.edit_head(run, generation=head.generation + 1)
    assert isinstance(try_commit(bench, head), Lost)
    assert len(bench.log(run)) == 1


def test_a_worker_that_was_overtaken_writes_nothing() -> None:
    bench, run, head = claimed_start()
    bench.pass_time(40_000)
    held(bench, run)
    assert isinstance(try_commit(bench, head), Lost)
    assert len(bench.log(run)) == 1
    assert lease.release(bench.ports, head, bench.now) is None
    assert bench.head(run).claim_id is not None


def test_a_burst_that_has_given_its_lease_back_writes_no_more() -> None:
    bench, run, head = claimed_start()
    lease.release(bench.ports, head, bench.now)
    assert isinstance(try_commit(bench, head), Lost)
    assert len(bench.log(run)) == 1


# -- the same generation -----------------------------------------------------------------------------------------------


def test_a_run_that_ended_meanwhile_drops_the_result_and_is_cleaned_up_in_the_same_burst() -> None:
    bench = Bench(graphs.graph(
        "two",
        [graphs.node("fork", "parallel", {"branches": ["a", "b"]}), graphs.review("review"),
         graphs.rest("rest", 60), graphs.call("look", "costly")],
        ["start.success > fork", "fork.a > review", "fork.b > rest", "rest.completed > look",
         "review.accept > end", "review.reject > end", "review.timeout > end", "look.success > end"],
    ))  # fmt: skip
    run = bench.started()
    bench.world.component("costly", lambda _: (bench.world.terminate(run), {"score": 1})[1])
    bench.pass_time(60_000)
    assert bench.advance(run) is Advanced.RELEASED
    assert not [step for step in bench.steps(run) if "look" in step]
    assert bench.row(run, "TASK#fork#1/a/review#1")["state"] == "cancelled"
    assert bench.head(run).outcome == "terminated"


def test_a_commit_never_lands_on_a_run_that_has_its_outcome() -> None:
    bench, run, head = claimed_start()
    bench.edit_head(run, outcome="terminated")
    outcome = try_commit(bench, head)
    assert isinstance(outcome, Rebuild)
    assert outcome.head.terminal
    assert len(bench.log(run)) == 1


def test_another_revision_is_rebuilt_on_the_head_that_came_back() -> None:
    bench, run, head = claimed_start()
    bench.edit_head(run, revision=5)
    outcome = try_commit(bench, head)
    assert isinstance(outcome, Rebuild)
    assert outcome.head.revision == 5


def test_another_inbox_is_rebuilt_and_the_signal_is_taken_in_by_the_same_burst() -> None:
    bench = Bench(graphs.listener())
    run = bench.start()
    bench.advance(run, bench.worker(at={TRANSACT: lambda: say(bench.ports, run, "e-1")}))
    assert bench.head(run).outcome == "succeeded"


def test_another_buffer_is_rebuilt() -> None:
    bench, run, head = claimed_start()
    bench.edit_head(run, buffered=["event|x|step.done"])
    assert isinstance(try_commit(bench, head), Rebuild)


def test_a_pause_during_a_paid_call_keeps_its_result_and_starts_nothing_new() -> None:
    bench = Bench(graphs.graph(
        "paid",
        [graphs.call("look", "costly"), graphs.call("next", "cheap")],
        ["start.success > look", "look.success > next", "next.success > end"],
    ))  # fmt: skip
    run = bench.start()
    bench.world.component("costly", lambda _: (bench.world.pause(run), {"score": 1})[1])
    bench.advance(run)
    assert "look#1" in bench.steps(run)
    assert [request.component_id for request in bench.site.scripted.calls] == ["costly"]
    assert bench.head(run).state(bench.now) == "paused"
    bench.world.resume(run)
    bench.advance(run)
    assert [request.component_id for request in bench.site.scripted.calls] == ["costly", "cheap"]
    assert bench.head(run).outcome == "succeeded"


def test_an_event_during_a_paid_call_is_merged_with_its_result() -> None:
    bench = Bench(graphs.graph(
        "paid",
        [graphs.call("look", "costly"), graphs.wait("listen")],
        ["start.success > look", "look.success > listen", "listen.received > end", "listen.timeout > end"],
    ))  # fmt: skip
    run = bench.start()

    def answer(_: object) -> dict[str, int]:
        say(bench.ports, run, "e-1")
        return {"score": 1}

    bench.world.component("costly", answer)
    bench.advance(run)
    assert bench.head(run).outcome == "succeeded"
    assert len(bench.site.scripted.calls) == 1


def test_rebuilding_ends_with_the_invocation_and_not_before() -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    ports = bench.worker()
    revisions = iter(range(10, 1_000))

    def moved(name: str) -> None:
        if name == TRANSACT:
            bench.edit_head(run, revision=next(revisions))
            bench.pass_time(10_000)

    restless = bench.site.worker("restless", pause=moved)
    assert bench.advance(run, restless) is Advanced.FAILED
    assert next(revisions) >= 13, "as long as there was time it went on"
    assert ports is not restless


def test_another_item_s_condition_is_read_again_and_rebuilt() -> None:
    bench = Bench(graphs.person())
    run = bench.started()
    bench.world.pause(run)
    bench.pass_time(60_000)
    bench.world.resume(run)

    def claimed_by_a_person() -> None:
        work_task.claim(bench.ports, bench.row(run, "TASK#review#1"), "p-1")

    assert bench.advance(run, bench.worker(at={TRANSACT: claimed_by_a_person})) is Advanced.RELEASED
    task = bench.row(run, "TASK#review#1")
    assert (task["state"], task["claimed_by"], task["task_rank"][:2]) == ("claimed", "p-1", "1#")
    assert task["timeout_at"] == bench.head(run).frontier["1.1"].deadline_at


# -- conflicts, throttles, 5xx -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [TransactionConflict("busy"), Throttled("slow down"), OutcomeUnknown("503")],
    ids=lambda e: e.code,
)
def test_conflicts_throttles_and_5xx_are_tried_again_with_20_to_400_ms_jitter(error: CasegraphError) -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    ports, before = bench.worker(), bench.now
    bench.plan("w1", TRANSACT, error, times=4)
    assert bench.advance(run, ports) is Advanced.RELEASED
    assert bench.head(run).state(bench.now) == "waiting"
    assert 4 * 20 <= bench.now - before <= 4 * 400


@pytest.mark.parametrize(
    "error", [Throttled("slow down"), TransientFailure("broken pipe")], ids=lambda e: e.code
)
def test_a_throttle_that_does_not_end_is_never_read_as_nothing_to_do(error: CasegraphError) -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    ports = bench.worker()
    bench.plan("w1", WRITE, error, times=MAX_STORE_TRIES)
    with pytest.raises(type(error)):
        bench.advance(run, ports)


# -- ambiguous commits (protocol.md 3) ---------------------------------------------------------------------------------


def _spied(bench: Bench, ports: Ports) -> list[tuple[str, Sequence[Write]]]:
    """What a worker's transactions were, token by token."""
    sent: list[tuple[str, Sequence[Write]]] = []
    store: Any = ports.store
    original = store.transact

    def transact(writes: Sequence[Write], token: str) -> None:
        sent.append((token, writes))
        original(writes, token)

    store.transact = transact
    return sent


def test_an_ambiguous_commit_is_resent_identically_under_its_token() -> None:
    bench, _, head = claimed_start()
    ports = bench.worker()
    sent = _spied(bench, ports)
    bench.plan("w1", TRANSACT, OutcomeUnknown("lost"), times=3)
    assert isinstance(try_commit(bench, head, ports), Committed)
    assert len(sent) == 4
    assert len({token for token, _ in sent}) == 1
    assert all(writes == sent[0][1] for _, writes in sent)


def test_a_commit_whose_replies_are_all_lost_is_found_by_its_segment() -> None:
    bench, run, head = claimed_start()
    ports = bench.worker()
    bench.plan("w1", TRANSACT, OutcomeUnknown("lost"), after=True, times=MAX_STORE_TRIES)
    assert isinstance(try_commit(bench, head, ports), Committed)
    assert len(bench.log(run)) == 2


def test_after_lost_replies_another_s_segment_means_rebuild() -> None:
    bench, run, head = claimed_start()
    ports = bench.worker(at={TRANSACT: lambda: bench.world.pause(run)}, nth=MAX_STORE_TRIES)
    bench.plan("w1", TRANSACT, OutcomeUnknown("lost"), times=MAX_STORE_TRIES)
    outcome = try_commit(bench, head, ports)
    assert isinstance(outcome, Rebuild)
    assert outcome.head.paused is not None


def test_after_lost_replies_an_absent_segment_means_resend() -> None:
    bench, run, head = claimed_start()
    ports = bench.worker()
    bench.plan("w1", TRANSACT, OutcomeUnknown("lost"), times=MAX_STORE_TRIES)
    assert isinstance(try_commit(bench, head, ports), Committed)
    assert len(bench.log(run)) == 2


def test_after_a_commit_that_stays_unknown_the_lease_is_left_to_expire() -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    ports = bench.worker()
    bench.plan("w1", TRANSACT, OutcomeUnknown("lost"), times=COMMIT_RESENDS * MAX_STORE_TRIES)
    assert bench.advance(run, ports) is Advanced.UNRESOLVED
    assert bench.head(run).claim_id is not None
    bench.pass_time(60_000)
    assert bench.advance(run) is Advanced.RELEASED
    assert bench.head(run).state(bench.now) == "waiting"


def test_unresolved_is_said_only_when_nothing_is_known() -> None:
    bench, _, head = claimed_start()
    ports = bench.worker()
    bench.plan("w1", TRANSACT, OutcomeUnknown("lost"), times=COMMIT_RESENDS * MAX_STORE_TRIES)
    assert isinstance(try_commit(bench, head, ports), Unresolved)


def test_a_changed_body_takes_a_new_token() -> None:
    bench = Bench(graphs.listener())
    run = bench.start()
    ports = bench.worker(at={TRANSACT: lambda: say(bench.ports, run, "e-1")})
    sent = _spied(bench, ports)
    bench.advance(run, ports)
    assert len(sent) == 2
    assert sent[0][0] != sent[1][0]
