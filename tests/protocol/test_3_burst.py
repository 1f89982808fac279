"""protocol.md 3: a burst's order, what it fuses, what it commits at once, what it reads."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from casegraph.application.advance_run import Advanced
from casegraph.domain.burst import draft as draft_module
from casegraph.errors import Throttled
from casegraph.limits import MAX_IDLE_COMMITS
from tests.protocol import graphs
from tests.protocol.kit import WRITE, Bench
from tests.protocol.test_2_signals import say


def steps_of(bench: Bench, run: str) -> dict[str, dict[str, Any]]:
    """Finished steps by id."""
    return {step["step"]: step for item in bench.log(run) for step in item.get("steps", ())}


def test_the_burst_s_now_is_never_before_the_instant_that_it_was_woken_for() -> None:
    bench = Bench(graphs.sleeper(60))
    run = bench.started()
    bench.pass_time(60_000)
    bench.advance(run, bench.worker(skew=-1_500))
    assert bench.head(run).outcome == "succeeded"


def test_the_inbox_is_taken_in_before_any_deadline_is_looked_at() -> None:
    bench = Bench(graphs.person(seconds=60))
    run = bench.started()
    bench.pass_time(59_000)
    bench.world.complete(bench.world.task(run), "p-1", {"outcome": "accept"})
    bench.pass_time(10_000)
    bench.advance(run)
    assert steps_of(bench, run)["review#1"]["port"] == "accept"


def test_the_inbox_is_taken_in_before_the_run_s_own_deadline() -> None:
    bench = Bench(graphs.person(deadline_seconds=60))
    run = bench.started()
    bench.world.complete(bench.world.task(run), "p-1", {"outcome": "accept"})
    bench.pass_time(90_000)
    bench.advance(run)
    assert steps_of(bench, run)["review#1"]["port"] == "accept"
    assert bench.head(run).outcome == "timed_out"


def test_an_inbox_that_does_not_fit_in_one_commit_is_taken_in_whole_before_the_run_s_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    branches = {"a": graphs.review("r1"), "b": graphs.review("r2")}
    bench = Bench(graphs.fork("all", branches, deadline_seconds=60))
    run = bench.started()
    for person in ("p-1", "p-2"):
        task = next(t for t in bench.world.tasks(run) if t["state"] == "open")
        bench.world.complete(task, person, {"outcome": "accept"})
    bench.pass_time(90_000)
    monkeypatch.setattr(draft_module, "COMMIT_MAX_STEPS", 1)
    bench.advance(run)
    found = steps_of(bench, run)
    assert [found[f"fork#1/{b}/r{n}#1"]["port"] for b, n in (("a", 1), ("b", 2))] == ["accept", "accept"]


def test_events_are_taken_in_the_order_in_which_they_came() -> None:
    bench = Bench(graphs.listener("step.done", "case.closed", port_by_type=False))
    run = bench.started()
    say(bench.ports, run, "e-1", "case.closed")
    say(bench.ports, run, "e-2", "step.done")
    bench.advance(run)
    (listen,) = (
        item for item in bench.log(run) if any(s["step"] == "listen#1" for s in item.get("steps", ()))
    )
    assert [pointer.rpartition("|")[2] for pointer in listen["taken"]] == ["case.closed", "step.done"]
    assert '"case.closed"' in steps_of(bench, run)["listen#1"]["output"]


def test_a_wait_that_opens_looks_at_the_buffered_events_first_in_the_same_commit() -> None:
    bench = Bench(graphs.graph(
        "early",
        [graphs.rest("rest", 60), graphs.wait("listen")],
        ["start.success > rest", "rest.completed > listen", "listen.received > end", "listen.timeout > end"],
    ))  # fmt: skip
    run = bench.started()
    say(bench.ports, run, "e-1")
    bench.advance(run)
    assert len(bench.head(run).buffered) == 1
    bench.pass_time(60_000)
    bench.advance(run)
    assert bench.head(run).outcome == "succeeded"
    assert [s["step"] for s in bench.log(run)[-1]["steps"]] == ["rest#1", "listen#1", "end#1"]
    assert "opened" not in bench.log(run)[-1]


def test_pure_nodes_and_cheap_results_ride_with_the_next_commit() -> None:
    bench = Bench(graphs.caller())
    run = bench.started()
    assert bench.head(run).outcome == "succeeded"
    assert len(bench.log(run)) == 2


def test_a_costly_result_is_committed_right_after_its_call() -> None:
    bench = Bench(graphs.graph(
        "two_calls",
        [graphs.call("look", "costly"), graphs.call("more", "cheap")],
        ["start.success > look", "look.success > more", "more.success > end"],
    ))  # fmt: skip
    run = bench.start()
    stored: list[list[str]] = []

    def answer(_: object) -> dict[str, int]:
        stored.append(bench.steps(run))
        return {"score": 1}

    bench.world.component("cheap", answer)
    bench.advance(run)
    assert stored == [["start#1", "look#1"]]


def test_a_costly_result_is_committed_before_the_next_wait_s_subscriptions() -> None:
    bench = Bench(graphs.graph(
        "paid_then_keyed",
        [graphs.call("look", "costly"), graphs.wait("listen", correlation_key="input.key")],
        ["start.success > look", "look.success > listen", "listen.received > end", "listen.timeout > end"],
    ))  # fmt: skip
    run = bench.start()
    ports = bench.worker()
    bench.plan("w1", WRITE, Throttled("slow down"), nth=2, times=100)
    bench.advance(run, ports)
    assert "look#1" in bench.steps(run)


def test_a_costly_result_is_committed_before_anything_else_is_read() -> None:
    bench = Bench(graphs.graph(
        "paid_then_reads",
        [graphs.call("first", "other"), graphs.review("review"), graphs.call("look", "costly"),
         graphs.decide("done", "string(nodes.first.score)")],
        ["start.success > first", "first.success > review", "review.accept > look", "review.reject > look",
         "review.timeout > look", "look.success > done", "done.recorded > end"],
    ))  # fmt: skip
    bench.world.component("other", lambda _: {"score": 7, "text": "x" * 5_000})
    run = bench.started()
    (name,) = (n for n in bench.site.blobs.names() if n.startswith(f"runs/{run}/"))
    bench.site.blobs.delete(name)
    bench.pass_time(3_600_000)
    bench.advance(run)
    assert "look#1" in bench.steps(run)
    assert len([r for r in bench.site.scripted.calls if r.component_id == "costly"]) == 1
    assert bench.head(run).attention == "payload_missing"


def test_read_only_calls_of_parallel_branches_run_at_the_same_time_and_are_joined() -> None:
    bench = Bench(graphs.fork("all", {"a": graphs.call("one", "cheap"), "b": graphs.call("two", "other")}))
    both = threading.Barrier(2, timeout=5)

    def answer(_: object) -> dict[str, int]:
        both.wait()
        return {"score": 1}

    for component in ("cheap", "other"):
        bench.world.component(component, answer)
    run = bench.start()
    assert bench.advance(run) is Advanced.RELEASED
    assert bench.head(run).outcome == "succeeded"
    assert len(bench.log(run)) == 2


LOOP = graphs.graph(
    "loop",
    [graphs.call("look"), graphs.wait("listen"),
     graphs.node("again", "condition", {"cases": [{"port": "yes", "when": "nodes.listen.payload.again"}]},
                 max_visits=1_000),
     graphs.decide("done", "string(nodes.look.score)")],
    ["start.success > look", "look.success > listen", "listen.received > again", "listen.timeout > end",
     "again.yes > listen", "again.default > done", "done.recorded > end"],
)  # fmt: skip


def _requests_of_last_burst(rounds: int) -> int:
    bench = Bench(LOOP)
    run = bench.started()
    for number in range(rounds):
        bench.world.event(run, "step.done", payload={"again": True}, event_id=f"e-{number}")
        bench.advance(run)
    bench.world.event(run, "step.done", payload={"again": False}, event_id="last")
    before = bench.site.counter.count
    bench.advance(run)
    requests = bench.site.counter.count - before
    assert bench.head(run).outcome == "succeeded"
    return requests


def test_a_burst_reads_the_head_and_what_its_nodes_reference_not_the_history() -> None:
    assert _requests_of_last_burst(2) == _requests_of_last_burst(40) <= 3


# -- no progress -------------------------------------------------------------------------------------------------------


def _stuck() -> tuple[Bench, str]:
    """A call that never fits the invocation."""
    bench = Bench(graphs.caller(timeout_seconds=40))
    run = bench.start()
    bench.advance(run)
    return bench, run


def test_three_burst_commits_in_a_row_that_change_nothing_are_attention_no_progress() -> None:
    bench, run = _stuck()
    for _ in range(MAX_IDLE_COMMITS - 1):
        bench.advance(run)
        assert bench.head(run).attention is None
    bench.advance(run)
    assert bench.head(run).attention == "no_progress"
    assert "wake_at" not in bench.raw_head(run)


def test_control_commits_do_not_count_as_no_progress_and_progress_starts_the_count_anew() -> None:
    bench, run = _stuck()
    bench.advance(run)
    for _ in range(MAX_IDLE_COMMITS):
        bench.world.pause(run)
        bench.world.resume(run)
    assert bench.head(run).idle_commits == 1
    assert bench.head(run).attention is None
    bench.advance(run, milliseconds=55_000)
    assert bench.head(run).outcome == "succeeded"


def test_a_run_that_only_moves_its_wake_at_into_the_future_makes_progress() -> None:
    bench = Bench(graphs.listener())
    run = bench.started()
    for number in range(2 * MAX_IDLE_COMMITS):
        say(bench.ports, run, f"e-{number}", "case.closed")
        bench.advance(run)
    assert bench.head(run).attention is None
    assert bench.head(run).idle_commits == 0
