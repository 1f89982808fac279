"""protocol.md 3: what a commit holds and how it ends a burst; closing many things in two phases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from casegraph.application import work_task
from casegraph.application.advance_run import Advanced
from casegraph.application.complete_task import Completed, Completion, complete_task
from casegraph.application.context import Ports
from casegraph.application.deliver_effect import Delivered
from casegraph.domain.head import due_class
from casegraph.domain.writes import Item
from casegraph.errors import Conflict
from casegraph.limits import CLOSING_PAGE_ITEMS, COMMIT_MAX_BYTES, COMMIT_MAX_ITEMS
from casegraph.runtime.json_schemas import JsonSchemas
from casegraph.testing.bundles import JsonObject
from tests.protocol import graphs
from tests.protocol.kit import TRANSACT, Bench
from tests.protocol.test_2_signals import say


def wide(forks: int, width: int, mode: str = "any") -> JsonObject:
    """Forks side by side in one fork, each with `width` reviews and an event that ends it early."""
    outer = [f"o{i}" for i in range(max(2, forks))]
    nodes = [graphs.node("outer", "parallel", {"branches": outer})]
    wires = ["start.success > outer"]
    for i in range(forks):
        names = [f"b{n}" for n in range(width)]
        nodes += [
            graphs.node(f"fork{i}", "parallel", {"branches": [*names, "event"]}),
            graphs.wait(f"stop{i}", "step.done"),
            graphs.node(f"join{i}", "join", {"mode": mode}),
        ]
        wires += [f"outer.o{i} > fork{i}", f"fork{i}.event > stop{i}", f"stop{i}.received > join{i}",
                  f"stop{i}.timeout > join{i}", f"join{i}.success > last"]  # fmt: skip
        for n in range(width):
            nodes.append(graphs.review(f"r{i}_{n}"))
            wires.append(f"fork{i}.b{n} > r{i}_{n}")
            wires += [f"r{i}_{n}.{port} > join{i}" for port in ("accept", "reject", "timeout")]
    if forks == 1:
        wires.append("outer.o1 > last")
    nodes.append(graphs.node("last", "join", {"mode": "all"}))
    return graphs.graph("wide", nodes, [*wires, "last.success > end"])


def complete(ports: Ports, task: Item, person: str = "p-1") -> Completed:
    """Accept a claimed task as this worker."""
    completion = Completion(person, task["generation"], {"outcome": "accept"})
    return complete_task(ports, JsonSchemas(), task, completion)


def writes_per_call(bench: Bench) -> Counter[int]:
    """Items written by each accepted call."""
    return Counter(change.call for change in bench.site.history.changes)


def test_a_wide_front_is_entered_page_by_page_with_at_most_90_items_each() -> None:
    bench = Bench(wide(2, 60))
    run = bench.started()
    assert len(bench.rows(run, "TASK#")) == 120
    assert bench.head(run).state(bench.now) == "waiting"
    assert max(writes_per_call(bench).values()) <= COMMIT_MAX_ITEMS
    assert len(bench.log(run)) > 2


def test_a_front_of_large_rows_stays_below_3_megabytes() -> None:
    bench = Bench(graphs.fork("all", {
        f"b{n}": graphs.review(f"r{n}", input_mapping={"text": "input.key"}) for n in range(64)
    }))  # fmt: skip
    run = bench.started({"key": "x" * 4_000})
    assert len(bench.rows(run, "TASK#")) == 64
    sizes: Counter[int] = Counter()
    for change in bench.site.history.changes:
        sizes[change.call] += len(repr(change.new))
    assert max(sizes.values()) < COMMIT_MAX_BYTES


def test_a_correlation_key_that_no_event_could_have_opens_no_wait() -> None:
    """The segment names the keys of the waits that opened: an endless one would not fit into any item."""
    bench = Bench(graphs.listener(correlation_key="input.key"))
    run = bench.started({"key": "x" * 513})
    assert [t.code for t in bench.head(run).frontier.values()] == ["node_failed"]
    other = bench.start({"key": "x" * 512}, key="other")
    bench.advance(other)
    assert bench.head(other).state(bench.now) == "waiting"


def test_the_last_commit_releases_the_lease() -> None:
    bench = Bench(graphs.person())
    run = bench.start()
    calls = bench.site.counter.count
    bench.advance(run)
    assert bench.site.counter.count - calls == 2, "claim and commit"
    assert bench.head(run).claim_id is None
    assert bench.head(run).lease_until is None


def test_an_inner_commit_keeps_the_lease() -> None:
    bench = Bench(graphs.graph(
        "two",
        [graphs.call("look", "costly"), graphs.call("next")],
        ["start.success > look", "look.success > next", "next.success > end"],
    ))  # fmt: skip
    run = bench.start()
    held: list[bool] = []

    def answer(_: object) -> dict[str, int]:
        held.append(bench.head(run).claim_id is not None)
        return {"score": 1}

    bench.world.component("cheap", answer)
    bench.advance(run)
    assert held == [True]


def test_the_next_wake_at_is_the_earliest_deadline() -> None:
    bench = Bench(graphs.fork("all", {"a": graphs.review("r1", 600), "b": graphs.rest("rest", 300)}))
    run = bench.started()
    assert bench.head(run).wake_at == bench.now + 300_000


def test_the_next_wake_at_is_none_when_nothing_fires_by_itself() -> None:
    bench = Bench(graphs.sender())
    run = bench.started()
    head = bench.head(run)
    assert (head.wake_at, head.attention, head.revision) == (None, None, 1)


def test_the_next_wake_at_is_now_when_something_is_left_to_do() -> None:
    bench = Bench(graphs.caller())
    run = bench.start()
    bench.advance(run, milliseconds=12_000)
    assert bench.head(run).wake_at == bench.now
    assert bench.head(run).claim_id is None


# -- closing -----------------------------------------------------------------------------------------------------------


RACE = graphs.fork(
    "any",
    {"a": graphs.wait("listen"), "b": graphs.review("r2"), "c": graphs.mail("send")},
    [graphs.review("after")],
)
TASK = "TASK#fork#1/b/r2#1"


def decided_but_not_closed() -> tuple[Bench, str]:
    """A run whose join has fired, its worker gone before the losers' rows were closed."""
    bench = Bench(RACE)
    run = bench.started()
    say(bench.ports, run, "e-1")
    bench.crash(run, TRANSACT, nth=2)
    assert len(bench.raw_head(run)["closing"]) == 2
    assert bench.row(run, TASK)["state"] == "open"
    return bench, run


def test_a_loser_s_task_cannot_be_claimed() -> None:
    bench, run = decided_but_not_closed()
    with pytest.raises(Conflict) as refused:
        work_task.claim(bench.ports, bench.row(run, TASK), "p-1")
    assert refused.value.code == "task_closed"


def test_a_loser_s_task_cannot_be_completed() -> None:
    bench = Bench(RACE)
    run = bench.started()
    task = work_task.claim(bench.ports, bench.row(run, TASK), "p-1")
    say(bench.ports, run, "e-1")
    bench.crash(run, TRANSACT, nth=2)
    calls: list[str] = []
    with pytest.raises(Conflict):
        complete(bench.site.worker("person", pause=calls.append), task)
    assert TRANSACT not in calls, (
        "refused at once by what was read; the rules are for what changes after that"
    )
    assert bench.head(run).inbox == ()
    assert bench.row(run, TASK)["state"] == "claimed"


def test_a_completion_that_meets_the_decision_to_close_is_refused() -> None:
    bench = Bench(RACE)
    run = bench.started()
    task = work_task.claim(bench.ports, bench.row(run, TASK), "p-1")

    def lost() -> None:
        say(bench.ports, run, "e-1")
        bench.crash(run, TRANSACT, nth=2)

    racing = bench.worker(at={TRANSACT: lost})
    with pytest.raises(Conflict):
        complete(racing, task)
    assert bench.row(run, TASK)["state"] == "claimed"
    assert bench.head(run).inbox == ()


def test_a_loser_s_effect_is_not_attempted() -> None:
    bench, run = decided_but_not_closed()
    assert bench.deliver(run, "fork#1/c/send#1") is Delivered.SETTLED
    assert bench.mail.received == []
    assert bench.row(run, "EFFECT#fork#1/c/send#1#1")["state"] == "cancelled"


def test_what_closing_left_is_closed_by_the_next_burst_which_is_due_at_once() -> None:
    bench, run = decided_but_not_closed()
    assert bench.head(run).wake_at is not None
    bench.pass_time(60_000)
    assert bench.advance(run) is Advanced.RELEASED
    assert bench.row(run, TASK)["state"] == "cancelled"
    assert bench.raw_head(run)["closing"] == {}


def test_closing_takes_token_keys_not_a_flag_so_that_other_open_tasks_go_on() -> None:
    bench, run = decided_but_not_closed()
    task = work_task.claim(bench.ports, bench.row(run, "TASK#after#1"), "p-1")
    bench.world.complete(task, "p-1", {"outcome": "accept"})
    assert len(bench.head(run).inbox) == 1


def test_losers_are_closed_in_pages_and_the_run_stays_due_until_the_last() -> None:
    bench = Bench(wide(1, 60))
    run = bench.started()
    say(bench.ports, run, "e-1")
    bench.crash(run, TRANSACT, nth=3)
    head = bench.head(run)
    assert len(head.closing) == 60 - CLOSING_PAGE_ITEMS
    assert head.wake_at is not None
    assert head.wake_at <= bench.now
    bench.pass_time(60_000)
    bench.advance(run)
    assert {row["state"] for row in bench.rows(run, "TASK#")} == {"cancelled"}


def test_a_terminated_run_is_closed_in_pages_by_cleanup_that_keeps_wake_at_set() -> None:
    bench = Bench(wide(1, 60))
    run = bench.started()
    bench.world.terminate(run)
    log = len(bench.log(run))
    bench.crash(run, TRANSACT, nth=2)
    row = bench.raw_head(run)
    assert len(row["closing"]) == 61 - CLOSING_PAGE_ITEMS
    assert (row["cleanup"], row["due_pk"][0]) == (True, "w")
    assert row["wake_at"] <= bench.now
    bench.pass_time(60_000)
    bench.advance(run)
    row = bench.raw_head(run)
    assert {row["state"] for row in bench.rows(run, "TASK#")} == {"cancelled"}
    assert not {"cleanup", "wake_at", "claim_id", "lease_until"} & set(row)
    assert row["due_pk"] == due_class(bench.head(run))[0]
    assert row["due_pk"][0] == "g"
    assert len(bench.log(run)) == log, "cleanup pages have neither revision nor segment"


def test_a_cleanup_out_of_time_gives_the_lease_back_and_stays_due() -> None:
    bench = Bench(wide(1, 60))
    run = bench.started()
    bench.world.terminate(run)
    bench.clear_jobs()
    bench.advance(run, milliseconds=1_000)
    row = bench.raw_head(run)
    assert (row["cleanup"], row["due_pk"][0]) == (True, "w")
    assert "claim_id" not in row
    assert [job["run_id"] for job in bench.jobs()] == [run]


@pytest.mark.parametrize("what", ["claim", "complete", "attempt"])
def test_nothing_of_a_run_that_has_its_outcome_is_claimed_completed_or_attempted(what: str) -> None:
    bench = Bench(RACE)
    run = bench.started()
    task = work_task.claim(bench.ports, bench.row(run, TASK), "p-1")
    bench.edit_head(run, outcome="terminated")
    if what == "attempt":
        assert bench.deliver(run, "fork#1/c/send#1") is Delivered.SETTLED
        assert bench.mail.received == []
        return
    work: dict[str, Callable[[], object]] = {
        "claim": lambda: work_task.claim(bench.ports, task, "p-1"),
        "complete": lambda: complete(bench.ports, task),
    }
    with pytest.raises(Conflict):
        work[what]()
    assert bench.head(run).inbox == ()


def test_a_row_that_was_decided_before_its_closing_stays_as_it_is() -> None:
    bench, run = decided_but_not_closed()
    bench.edit_row(run, TASK, state="completed")
    bench.pass_time(60_000)
    bench.advance(run)
    assert bench.row(run, TASK)["state"] == "completed"
    assert bench.raw_head(run)["closing"] == {}
