"""S30: a commit landed, its reply was lost, and an operator wrote before it was read back.

The head then carries the operator's commit id. Here the burst finds its own segment, knows that it is done, and does
not run again.

Breaks without: commit._classify's look at segment r + 1, commit._look_back.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from casegraph.application.advance_run import Advanced
from casegraph.domain.segment import chain_faults
from casegraph.errors import OutcomeUnknown
from casegraph.limits import COMMIT_RESENDS, MAX_STORE_TRIES, STORE_TOKEN_VALID_MILLISECONDS
from tests.protocol.graphs import call, decide, graph, review
from tests.protocol.kit import TRANSACT, Bench

GRAPH = graph(
    "paid_then_task",
    [call("look", "costly"), decide("done", "string(nodes.look.score)"), review("review")],
    [
        "start.success > look", "look.success > done", "done.recorded > review",
        "review.accept > end", "review.reject > end", "review.timeout > end",
    ],
)  # fmt: skip
LOST = OutcomeUnknown("the reply was lost")
# The way to a paid call is committed before it; its result is the second commit of the burst.
PAID_COMMIT = 2
OPERATORS: dict[str, Callable[[Bench, str], object]] = {
    "pause": lambda bench, run: bench.world.pause(run),
    "pause and resume": lambda bench, run: (bench.world.pause(run), bench.world.resume(run)),
    "terminate": lambda bench, run: bench.world.terminate(run),
}


def commit_lost(
    bench: Bench, run: str, operator: Callable[[Bench, str], object], *, token_gone: bool
) -> Advanced:
    """The commit of the paid result lands, unheard of; the operator writes before anything is sent again.

    token_gone: the resend comes after the token's ten minutes, and so is a transaction of its own; else no reply
    comes through at all, and the segment is what tells.
    """

    def write_in_between() -> None:
        operator(bench, run)
        if token_gone:
            bench.pass_time(STORE_TOKEN_VALID_MILLISECONDS + 1_000)

    worker = bench.worker(at={TRANSACT: write_in_between}, nth=PAID_COMMIT + 1)
    times = 1 if token_gone else COMMIT_RESENDS * MAX_STORE_TRIES
    bench.plan("w1", TRANSACT, LOST, after=True, nth=PAID_COMMIT, times=times)
    return bench.advance(run, worker)


@pytest.mark.parametrize("token_gone", [True, False], ids=["token run out", "no reply at all"])
@pytest.mark.parametrize("operator", OPERATORS)
def test_the_burst_finds_its_own_segment_and_does_not_run_again(operator: str, token_gone: bool) -> None:
    bench = Bench(GRAPH)
    run = bench.start()
    commit_lost(bench, run, OPERATORS[operator], token_gone=token_gone)
    if operator == "pause":
        assert bench.world.run(run).state == "paused"
        bench.world.resume(run)
    bench.world.advance("10m")
    view = bench.world.run(run)
    assert view.state == ("terminated" if operator == "terminate" else "waiting")
    assert len(bench.site.scripted.calls) == 1, "paid once"
    assert len(view.path) == len(set(view.path))
    assert chain_faults(list(view.log)) == []
    (paid,) = [item for item in view.log for step in item.get("steps", ()) if step["step"] == "look#1"]
    assert paid["revision"] == PAID_COMMIT


@pytest.mark.parametrize("token_gone", [True, False], ids=["token run out", "no reply at all"])
def test_it_is_no_lost_lease_and_no_failure(token_gone: bool) -> None:
    bench = Bench(GRAPH)
    run = bench.start()
    commit_lost(bench, run, OPERATORS["pause"], token_gone=token_gone)
    troubles = [
        n for n, _ in bench.site.notes.events if n in ("burst_failed", "commit_ambiguous", "lease_lost")
    ]
    assert troubles == []
