"""S36: an any-join of 64 tasks, and the completion of a loser in the same second.

Here the first completion wins; the losers close in pages, each by its own condition; a completion that comes after the
decision, at whatever moment of the closing, is refused and told who won. What a person decided before it stays
decided.

Breaks without: rules.token_open (a completion while its page is still to come), closing.page (losers that stay open),
Draft.close (what a loser opened).
"""

from __future__ import annotations

import pytest

from casegraph.application import work_task
from casegraph.application.complete_task import Completion, complete_task
from casegraph.errors import Conflict
from casegraph.limits import CLOSING_PAGE_ITEMS, FORK_MAX_BRANCHES
from casegraph.runtime.json_schemas import JsonSchemas
from casegraph.testing.people import do_task
from tests.protocol.graphs import fork, review
from tests.protocol.kit import Bench
from tests.scenarios.moments import at_call

NAMES = [f"b{n:02d}" for n in range(1, FORK_MAX_BRANCHES + 1)]
GRAPH = fork("any", {name: review(f"review_{name}") for name in NAMES})
WINNER, LOSER = "fork#1/b17/review_b17#1", "fork#1/b64/review_b64#1"


def opened() -> tuple[Bench, str]:
    bench = Bench(GRAPH)
    run = bench.start()
    bench.world.settle()
    assert len(bench.world.tasks(run)) == 64
    return bench, run


def complete(bench: Bench, run: str, step: str, person: str = "reviewer-1") -> None:
    do_task(bench.ports, run, step, person, {"outcome": "accept"})


def arrived(bench: Bench, run: str) -> list[str]:
    return list(bench.world.run(run).output["join"]["arrived"])


def test_one_wins_and_the_losers_close() -> None:
    bench, run = opened()
    complete(bench, run, WINNER)
    bench.world.settle()
    view = bench.world.run(run)
    assert (view.state, arrived(bench, run), view.open) == ("succeeded", ["b17"], ())
    states = [row["state"] for row in bench.rows(run, "TASK#")]
    assert (states.count("completed"), states.count("cancelled")) == (1, 63)
    assert bench.head(run).closing == {}


def test_the_losers_close_in_pages() -> None:
    """No transaction closes more rows than a page has."""
    bench, run = opened()
    complete(bench, run, WINNER)
    before = len(bench.site.history.changes)
    bench.world.settle()
    calls: dict[int, int] = {}
    for change in bench.site.history.changes[before:]:
        if change.key.sk.startswith("TASK#"):
            calls[change.call] = calls.get(change.call, 0) + 1
    assert len(calls) >= 2
    assert max(calls.values()) <= CLOSING_PAGE_ITEMS


def test_of_two_completions_before_the_decision_one_wins_and_both_stay_decided() -> None:
    bench, run = opened()
    complete(bench, run, LOSER)
    complete(bench, run, WINNER, "reviewer-2")
    bench.world.settle()
    assert len(arrived(bench, run)) == 1
    assert bench.world.run(run).state == "succeeded"
    assert [bench.row(run, f"TASK#{step}")["state"] for step in (WINNER, LOSER)] == ["completed", "completed"]
    assert bench.steps(run).count("join#1") == 1


def moments_of_the_closing() -> int:
    bench, run = opened()
    complete(bench, run, WINNER)
    calls: list[str] = []
    bench.advance(run, bench.site.worker("closing", pause=calls.append))
    return len(calls)


def test_a_completion_at_any_moment_of_the_decision_and_the_closing_wins_or_is_told_who_won() -> None:
    told = 0
    for number in range(1, moments_of_the_closing() + 2):
        bench, run = opened()
        complete(bench, run, WINNER)
        refused = completed_before_call(number, bench, run)
        view = bench.world.run(run)
        assert (view.state, arrived(bench, run), view.open) == ("succeeded", ["b17"], ())
        assert bench.row(run, f"TASK#{LOSER}")["state"] == ("cancelled" if refused else "completed")
        if refused is not None:
            told += 1
            assert "fork#1/b17" in refused.message
            assert refused.details["cause"].startswith("fork#1/b17")
    assert told >= 2


def completed_before_call(number: int, bench: Bench, run: str) -> Conflict | None:
    """The loser's person claims early and completes just before that call of the deciding burst; what they are told."""
    answers: list[Conflict | None] = []

    def late() -> None:
        try:
            complete(bench, run, LOSER, "reviewer-2")
        except Conflict as conflict:
            answers.append(conflict)
        else:
            answers.append(None)

    bench.advance(run, bench.site.worker("closing", pause=at_call(number, late)))
    if not answers:
        late()
    bench.world.settle()
    return answers[0]


def test_a_person_who_held_a_losing_task_is_told_too() -> None:
    """Claimed before the decision, completed after it, before and after its page."""
    for rows_closed in (False, True):
        bench, run = opened()
        task = work_task.claim(bench.ports, bench.row(run, f"TASK#{LOSER}"), "reviewer-2")
        complete(bench, run, WINNER)
        if rows_closed:
            bench.world.settle()
        else:
            bench.crash(run, nth=2)  # decided; the process is gone before the first page
            assert bench.row(run, f"TASK#{LOSER}")["state"] == "claimed"
        completion = Completion("reviewer-2", task["generation"], {"outcome": "accept"})
        with pytest.raises(Conflict) as refused:
            complete_task(bench.ports, JsonSchemas(), task, completion)
        assert refused.value.details["cause"].startswith("fork#1/b17")
