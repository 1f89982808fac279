"""S13: a pause raced a completing step, and the run flipped back to running (temporal 10239).

Here the pause wins or the step wins, never both: at whatever call of the burst the pause comes, the paused run records
the result that was in flight, dispatches nothing, starts nothing, and resumes where it was.

Breaks without: rules.same_revision with the segment's NEW_ITEM (a commit over a pause; each stands in for the other),
decide's stop (`head.stopped`), the attempt's NOT_PAUSED.
"""

from __future__ import annotations

from typing import Any

import pytest

from casegraph.application.ports import Applied
from casegraph.errors import Conflict
from tests.protocol.graphs import call, decide, graph, mail, review
from tests.protocol.kit import Bench
from tests.scenarios.moments import at_call, calls_of_first_burst

COSTLY_THEN_MAIL = graph(
    "costly_then_mail",
    [call("look", "costly"), decide("done", "string(nodes.look.score)"), mail("send")],
    ["start.success > look", "look.success > done", "done.recorded > send", "send.sent > end"],
)
CHEAP_THEN_TASK = graph(
    "cheap_then_task",
    [call("look", "cheap"), review("review")],
    [
        "start.success > look", "look.success > review",
        "review.accept > end", "review.reject > end", "review.timeout > end",
    ],
)  # fmt: skip


@pytest.mark.parametrize("bundle", [COSTLY_THEN_MAIL, CHEAP_THEN_TASK], ids=["costly", "cheap"])
def test_a_pause_at_any_call_of_a_burst_holds_and_the_run_resumes_where_it_was(
    bundle: dict[str, Any],
) -> None:
    for number in range(1, len(calls_of_first_burst(Bench(bundle))) + 1):
        bench = Bench(bundle)
        run = pause_before_call(number, bench)
        before = bench.log(run)
        bench.world.advance("5m")
        assert bench.log(run) == before, "nothing advances while paused"
        assert not bench.mail.received
        bench.world.resume(run)
        bench.world.advance("1m")
        assert bench.world.run(run).state in ("succeeded", "waiting")
        assert bench.steps(run).count("look#1") == 1
        if bundle is COSTLY_THEN_MAIL:
            assert len(bench.site.scripted.calls) == 1, f"paid twice after a pause before call {number}"
            assert len(bench.mail.received) == 1


def pause_before_call(number: int, bench: Bench) -> str:
    """The run, paused just before that call of its first burst, which then went on to its end."""
    run = bench.start()
    revisions: list[int] = []

    def pause() -> None:
        bench.world.pause(run)
        revisions.append(bench.head(run).revision)

    bench.advance(run, bench.site.worker("burst", pause=at_call(number, pause)))
    assert bench.world.run(run).state == "paused", f"the pause before call {number} was undone"
    assert bench.head(run).wake_at is None
    later = [item for item in bench.log(run) if item["revision"] > revisions[0]]
    assert all(not item.get("opened") for item in later), "a paused run opens nothing"
    return run


def test_a_pause_before_the_attempt_keeps_the_effect_and_one_during_it_lets_it_settle() -> None:
    bench = Bench(COSTLY_THEN_MAIL)
    run = bench.started()
    bench.world.pause(run)
    bench.deliver(run)
    assert not bench.mail.received
    assert bench.effect(run)["state"] == "pending"
    bench.world.resume(run)
    bench.mail.outcomes = [lambda _: (bench.world.pause(run), Applied())[1]]
    bench.world.advance("2m")
    assert bench.world.run(run).state == "paused"
    assert bench.effect(run)["state"] == "applied"
    assert bench.steps(run)[-1] == "done#1", "stored, not taken in"
    bench.world.resume(run)
    bench.world.settle()
    assert bench.world.run(run).state == "succeeded"
    assert len(bench.mail.received) == 1


def test_a_pause_after_the_last_commit_is_refused_with_both_states() -> None:
    """The step won."""
    bench = Bench(COSTLY_THEN_MAIL)
    run = bench.start()
    bench.world.settle()
    assert bench.world.run(run).state == "succeeded"
    with pytest.raises(Conflict) as refused:
        bench.world.pause(run)
    assert refused.value.code == "illegal_transition"
    assert refused.value.details["current_state"] == "succeeded"
