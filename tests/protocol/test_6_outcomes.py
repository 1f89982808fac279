"""protocol.md 6: outcomes, attention, pause; transitions are rows of tables, tested row by row."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from casegraph.application import work_task
from casegraph.application.control_run import Control, pause, resume, terminate
from casegraph.application.ports import Rejected, Unknown
from casegraph.application.versions import StoredVersions
from casegraph.domain import effect, task
from casegraph.domain.burst import draft as draft_module
from casegraph.domain.burst.draft import Draft
from casegraph.domain.control import CONTROL_SOURCES
from casegraph.domain.effect import EFFECT_SOURCES, Verdict
from casegraph.domain.head import RUN_ATTENTION_CODES, TERMINAL_OUTCOMES, row_key
from casegraph.domain.task import TASK_SOURCES
from casegraph.domain.token import TOKEN_SOURCES, Token, TokenStatus
from casegraph.domain.writes import Delete, Put, Update
from casegraph.errors import ConditionsFailed, Conflict
from tests.protocol import graphs
from tests.protocol.kit import TRANSACT, Bench
from tests.protocol.test_2_signals import say
from tests.protocol.test_3_commit import complete

# -- outcomes ----------------------------------------------------------------------------------------------------------


def test_a_run_whose_last_branch_ended_has_succeeded() -> None:
    bench = Bench(graphs.caller())
    assert bench.head(bench.started()).outcome == "succeeded"


def test_a_run_with_an_unhandled_failure_fails_when_its_graph_says_so() -> None:
    bench = Bench(graphs.sender("idempotent", on_unhandled="fail"))
    bench.mail.outcomes = [Rejected("bad")]
    run = bench.started()
    bench.deliver(run)
    bench.advance(run)
    assert (bench.head(run).outcome, bench.head(run).error_code) == ("failed", "bad")


def test_a_run_over_its_deadline_is_timed_out_and_what_is_open_is_closed() -> None:
    bench = Bench(graphs.person(deadline_seconds=60))
    run = bench.started()
    assert bench.head(run).wake_at == bench.now + 60_000
    bench.pass_time(60_000)
    bench.advance(run)
    assert bench.head(run).outcome == "timed_out"
    assert bench.row(run, "TASK#review#1")["state"] == "cancelled"


def test_a_terminated_run_keeps_its_outcome() -> None:
    bench = Bench(graphs.listener())
    run = bench.started()
    bench.world.terminate(run)
    say(bench.ports, run, "e-1")
    for operation in (pause, resume, terminate):
        with pytest.raises(Conflict) as refused:
            operation(bench.ports, run, Control("operator", "why", operation.__name__))
        assert refused.value.code == "illegal_transition"
    bench.advance(run)
    assert bench.head(run).outcome == "terminated"


def test_the_outcomes_and_the_run_attention_codes_are_those_of_the_protocol() -> None:
    assert TERMINAL_OUTCOMES == ("succeeded", "failed", "timed_out", "terminated", "superseded")
    assert RUN_ATTENTION_CODES == (
        "dispatch_exhausted",
        "definition_changed",
        "no_progress",
        "payload_missing",
    )


# -- attention ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", ["node_failed", "effect_ambiguous"])
def test_attention_on_a_token_stops_that_branch_and_no_other(code: str) -> None:
    bench = Bench(graphs.fork("all", {"a": graphs.mail("send", "manual"), "b": graphs.wait("listen")}))
    bench.mail.outcomes = [Rejected("bad") if code == "node_failed" else Unknown("no_answer")]
    run = bench.started()
    bench.deliver(run, "fork#1/a/send#1")
    bench.advance(run)
    say(bench.ports, run, "e-1")
    bench.advance(run)
    head = bench.head(run)
    assert {t.code for t in head.frontier.values() if t.status is TokenStatus.ATTENTION} == {code}
    assert "fork#1/b/listen#1" in bench.steps(run)
    assert (head.attention, head.state(bench.now)) == (None, "attention")


def test_a_join_that_no_branch_can_satisfy_any_more_stops_there() -> None:
    bench = Bench(graphs.graph(
        "unsatisfiable",
        [graphs.node("fork", "parallel", {"branches": ["a", "b"]}), graphs.wait("one"), graphs.review("two"),
         graphs.node("join", "join", {"mode": "all"})],
        ["start.success > fork", "fork.a > one", "fork.b > two", "one.received > join", "one.timeout > join",
         "two.accept > join", "two.reject > end", "two.timeout > end", "join.success > end"],
    ))  # fmt: skip
    run = bench.started()
    say(bench.ports, run, "e-1")
    bench.advance(run)
    assert bench.head(run).state(bench.now) == "waiting"
    bench.world.complete(bench.world.task(run), "p-1", {"outcome": "reject"})
    bench.advance(run)
    assert [t.code for t in bench.head(run).frontier.values()] == ["join_unsatisfiable"]


def test_a_run_whose_definition_is_gone_or_changed_stops_whole() -> None:
    bench = Bench(graphs.listener())
    run = bench.started()
    for name in bench.site.blobs.names():
        if name.startswith("bundles/"):
            bench.site.blobs.put(name, b"{}")
    bench.site.versions = StoredVersions(bench.site.memory, bench.site.blobs)
    say(bench.ports, run, "e-1")
    bench.advance(run, bench.worker())
    assert bench.head(run).attention == "definition_changed"
    assert bench.head(run).wake_at is None
    assert len(bench.head(run).inbox) == 1


def test_attention_is_left_by_terminate() -> None:
    bench = Bench(graphs.sender("manual"))
    bench.mail.outcomes = [Unknown("no_answer")]
    run = bench.started()
    bench.deliver(run)
    bench.advance(run)
    assert bench.head(run).in_attention
    bench.world.terminate(run)
    bench.advance(run)
    row = bench.raw_head(run)
    assert (row["outcome"], row["due_pk"][0]) == ("terminated", "g")
    assert "attention_pk" not in row


# -- pause -------------------------------------------------------------------------------------------------------------


def test_while_paused_nothing_advances_and_no_timeout_fires() -> None:
    bench = Bench(graphs.person(seconds=60))
    run = bench.started()
    bench.world.pause(run)
    bench.pass_time(600_000)
    for _ in range(3):
        bench.advance(run)
        bench.sweep()
    assert bench.head(run).revision == 2
    assert bench.row(run, "TASK#review#1")["state"] == "open"


@pytest.mark.parametrize(("deadlines", "shift"), [("shift", 600_000), ("keep", 0)])
def test_resume_shifts_the_deadlines_by_the_pause_s_length_or_keeps_them(deadlines: str, shift: int) -> None:
    bench = Bench(graphs.person(seconds=3_600, deadline_seconds=7_200))
    run = bench.started()
    before = bench.head(run)
    bench.world.pause(run)
    bench.pass_time(600_000)
    bench.world.resume(run, deadlines=deadlines)
    after = bench.head(run)
    assert before.deadline_at is not None
    assert after.deadline_at == before.deadline_at + shift
    assert [t.deadline_at for t in after.frontier.values()] == [
        (t.deadline_at or 0) + shift for t in before.frontier.values()
    ]


def test_the_burst_after_a_resume_moves_the_tasks_due_times() -> None:
    bench = Bench(graphs.person(seconds=3_600))
    run = bench.started()
    before = bench.row(run, "TASK#review#1")
    bench.world.pause(run)
    bench.pass_time(600_000)
    bench.world.resume(run)
    bench.advance(run)
    after = bench.row(run, "TASK#review#1")
    assert after["timeout_at"] == before["timeout_at"] + 600_000
    assert after["task_rank"] > before["task_rank"]


def test_more_due_times_than_fit_in_one_commit_are_moved_in_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"r{n}" for n in range(12)]
    bench = Bench(graphs.fork("all", {f"b{name}": graphs.review(name, due_seconds=1_800) for name in names}))
    run = bench.started()
    due = {row["sk"]: row["due_at"] for row in bench.rows(run, "TASK#")}
    monkeypatch.setattr(draft_module, "COMMIT_MAX_ITEMS", 7)
    bench.world.pause(run)
    bench.pass_time(600_000)
    bench.world.resume(run)
    bench.advance(run)
    assert {row["sk"]: row["due_at"] - 600_000 for row in bench.rows(run, "TASK#")} == due
    assert bench.head(run).attention is None
    assert bench.head(run).shifted_by == 0


def test_a_person_s_completion_is_accepted_while_paused_and_until_the_expiry_is_recorded() -> None:
    bench = Bench(graphs.person(seconds=60))
    run = bench.started()
    claimed = work_task.claim(bench.ports, bench.row(run, "TASK#review#1"), "p-1")
    bench.world.pause(run)
    bench.pass_time(600_000)
    complete(bench.ports, claimed)
    bench.world.resume(run, deadlines="keep")
    bench.advance(run)
    (review,) = (s for item in bench.log(run) for s in item.get("steps", ()) if s["step"] == "review#1")
    assert review["port"] == "accept"


def test_a_completion_after_the_recorded_expiry_is_told_so() -> None:
    bench = Bench(graphs.person(seconds=60))
    run = bench.started()
    claimed = work_task.claim(bench.ports, bench.row(run, "TASK#review#1"), "p-1")
    bench.pass_time(60_000)
    bench.advance(run)
    with pytest.raises(Conflict) as refused:
        complete(bench.ports, claimed)
    assert refused.value.code == "task_expired"


def test_a_completion_that_meets_the_expiry_has_one_winner() -> None:
    bench = Bench(graphs.person(seconds=60))
    run = bench.started()
    claimed = work_task.claim(bench.ports, bench.row(run, "TASK#review#1"), "p-1")
    bench.pass_time(60_000)
    bench.advance(run, bench.worker(at={TRANSACT: lambda: complete(bench.ports, claimed)}))
    assert bench.row(run, "TASK#review#1")["state"] == "completed"
    other = Bench(graphs.person(seconds=60))
    second = other.started()
    held = work_task.claim(other.ports, other.row(second, "TASK#review#1"), "p-1")
    other.pass_time(60_000)
    racing = other.worker(at={TRANSACT: lambda: other.advance(second)})
    with pytest.raises(Conflict):
        complete(racing, held)
    assert other.row(second, "TASK#review#1")["state"] == "expired"


def test_a_lost_claim_decides_nothing() -> None:
    bench = Bench(graphs.person())
    run = bench.started()
    mine = work_task.claim(bench.ports, bench.row(run, "TASK#review#1"), "p-1")
    bench.pass_time(16 * 60_000)
    work_task.claim(bench.ports, bench.row(run, "TASK#review#1"), "p-2")
    with pytest.raises(Conflict) as refused:
        complete(bench.ports, mine)
    assert refused.value.details["who"] == "p-2"
    again = work_task.claim(bench.ports, bench.row(run, "TASK#review#1"), "p-2")
    with pytest.raises(Conflict):
        complete(bench.ports, replace_generation(again, again["generation"] - 1), person="p-2")


def replace_generation(item: dict[str, object], generation: int) -> dict[str, object]:
    """The row as an earlier claim saw it."""
    return {**item, "generation": generation}


def test_one_person_at_a_time_holds_a_task() -> None:
    bench = Bench(graphs.person())
    run = bench.started()
    row = bench.row(run, "TASK#review#1")
    racing = bench.worker(at={TRANSACT: lambda: work_task.claim(bench.ports, row, "p-1")})
    with pytest.raises(Conflict):
        work_task.claim(racing, row, "p-2")
    assert bench.row(run, "TASK#review#1")["claimed_by"] == "p-1"
    with pytest.raises(Conflict):
        work_task.claim(bench.ports, bench.row(run, "TASK#review#1"), "p-2")
    bench.pass_time(15 * 60_000 + 2_001)
    assert work_task.claim(bench.ports, bench.row(run, "TASK#review#1"), "p-2")["claimed_by"] == "p-2"


# -- tables of transitions, row by row ---------------------------------------------------------------------------------


STATES = ("open", "claimed", "completed", "expired", "cancelled")


@pytest.mark.parametrize(("source", "target"), list(product(STATES, STATES)))
def test_a_task_goes_from_state_to_state_as_its_table_says(source: str, target: str) -> None:
    bench = Bench()
    key = row_key("run-1", "TASK#s#1")
    item = {
        "pk": key.pk, "sk": key.sk, "run_id": "run-1", "state": source, "revision": 3, "generation": 1,
        "claimed_by": "p-1", "claim_until": bench.now + 60_000, "priority": 50, "created_at": 1,
    }  # fmt: skip
    bench.ports.store.write(Put(key, item, ()))
    writes: dict[str, Update] = {
        "open": task.release(key, item, "p-1", 1),
        "claimed": task.claim(key, item, "p-1", bench.now),
        "completed": task.complete(key, "p-1", 1, "accept", None, "d", bench.now),
        "expired": task.expire(key, bench.now),
        "cancelled": task.cancel(key, "why", bench.now),
    }
    if source in TASK_SOURCES[target]:
        bench.ports.store.write(writes[target])
        assert (bench.site.memory.get(key) or {})["state"] == target
    else:
        with pytest.raises(ConditionsFailed):
            bench.ports.store.write(writes[target])


TABLE = {
    "claimed": {"open", "claimed"},
    "open": {"claimed"},
    "completed": {"claimed"},
    "expired": {"open", "claimed"},
    "cancelled": {"open", "claimed"},
}


def test_the_table_of_tasks_is_this_one() -> None:
    assert {target: set(sources) for target, sources in TASK_SOURCES.items()} == TABLE


EFFECT_TABLE = {
    "applying": {"pending"},
    "pending": {"applying"},
    "applied": {"applying", "ambiguous"},
    "rejected": {"applying", "ambiguous"},
    "ambiguous": {"applying", "pending"},
    "cancelled": {"pending", "applying"},
}


@pytest.mark.parametrize(("source", "target"), list(product(EFFECT_TABLE, EFFECT_TABLE)))
def test_an_effect_goes_from_state_to_state_as_its_table_says(source: str, target: str) -> None:
    bench = Bench()
    key = row_key("run-1", "EFFECT#s#1#1")
    item = {
        "pk": key.pk, "sk": key.sk, "run_id": "run-1", "state": source, "attempts": 1, "attempt_token": "t",
        "available_at": 0, "unknown": 0, "refused": 0,
    }  # fmt: skip
    bench.ports.store.write(Put(key, item, ()))
    if target == "applying":
        update = effect.start_attempt(key, "t2", bench.now, bench.now)
    else:
        update = effect.settle(key, item, Verdict(target), bench.now)
    assert {t: set(s) for t, s in EFFECT_SOURCES.items()} == EFFECT_TABLE
    if source in EFFECT_TABLE[target]:
        bench.ports.store.write(update)
        assert (bench.site.memory.get(key) or {})["state"] == target
    else:
        with pytest.raises(ConditionsFailed):
            bench.ports.store.write(update)


@pytest.mark.parametrize(("source", "target"), list(product(TokenStatus, TokenStatus)))
def test_a_token_goes_from_status_to_status_as_its_table_says(
    source: TokenStatus, target: TokenStatus
) -> None:
    bench = Bench(graphs.person())
    head = bench.head(bench.started())
    graph = bench.site.versions.graph(head.digest)
    draft = Draft.of(replace(head, frontier={"1.1": Token(source)}), graph, bench.now)
    if source in TOKEN_SOURCES[target]:
        draft.change("1.1", Token(target))
        assert draft.frontier["1.1"].status is target
    else:
        with pytest.raises(AssertionError, match=f"{source.name} to {target.name}"):
            draft.change("1.1", Token(target))


RUN_STATES: dict[str, dict[str, Any]] = {
    "pending": {"revision": 0},
    "running": {"inbox": ["event|x|step.done"]},
    "waiting": {},
    "leased": {"lease_until": 10**15},
    "attention": {"attention": "no_progress"},
    "paused": {"paused": {"since": 1}},
    **{outcome: {"outcome": outcome} for outcome in TERMINAL_OUTCOMES},
}
OPERATIONS: dict[str, Any] = {"pause": pause, "resume": resume, "terminate": terminate}


@pytest.mark.parametrize(("operation", "state"), list(product(OPERATIONS, RUN_STATES)))
def test_control_is_allowed_as_its_table_says_and_an_illegal_one_names_both_states(
    operation: str, state: str
) -> None:
    bench = Bench(graphs.person())
    run = bench.started()
    bench.edit_head(run, **RUN_STATES[state])
    if state == "pending":
        bench.ports.store.write(Delete(row_key(run, "SEG#0000000001"), ()))
    request = Control("operator", "why", "k")
    live = {"pending", "running", "waiting", "leased", "attention"}
    allowed = {"pause": live, "resume": {"paused"}, "terminate": live | {"paused"}}[operation]
    assert set(CONTROL_SOURCES[operation]) == allowed
    if state in allowed:
        OPERATIONS[operation](bench.ports, run, request)
        return
    with pytest.raises(Conflict) as refused:
        OPERATIONS[operation](bench.ports, run, request)
    assert refused.value.code == "illegal_transition"
    assert refused.value.details["current_state"] == state
    assert set(refused.value.details["allowed"]) == allowed
