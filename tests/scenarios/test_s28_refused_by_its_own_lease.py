"""S28: the SDK retried a claim whose reply was lost, and the worker was refused by its own lease.

Here the claimant recognises itself by its claim id and goes on, with the lease as it stands: one generation, one
attempt.

Breaks without: lease.claim's comparison of the stored claim id.
"""

from __future__ import annotations

import pytest

from casegraph.application.advance_run import Advanced
from casegraph.errors import OutcomeUnknown
from casegraph.limits import MAX_STORE_TRIES
from tests.protocol.graphs import caller
from tests.protocol.kit import WRITE, Bench

LOST = OutcomeUnknown("the reply was lost")


@pytest.mark.parametrize("lost", [1, MAX_STORE_TRIES - 1])
def test_a_claim_whose_reply_was_lost_is_the_claimants_own(lost: int) -> None:
    bench = Bench(caller("costly"))
    run = bench.start()
    worker = bench.worker()
    bench.plan("w1", WRITE, LOST, after=True, times=lost)
    assert bench.advance(run, worker) is Advanced.RELEASED
    assert bench.world.run(run).state == "succeeded"
    assert bench.head(run).generation == 1
    claims = [c for c in bench.site.history.changes if c.new and c.new.get("generation") == 1]
    assert claims[0].new is not None
    assert claims[0].new["attempts"] == 1, "the resend did not count as another attempt"
    assert len(bench.site.scripted.calls) == 1


def test_a_lost_reply_does_not_make_anothers_lease_ones_own() -> None:
    """The first try never arrived; before the second another worker claims: that one's lease is respected."""
    bench = Bench(caller("costly"))
    run = bench.start()
    worker = bench.worker(at={WRITE: lambda: bench.crash(run)}, nth=2)
    bench.plan("w1", WRITE, LOST)
    assert bench.advance(run, worker) is Advanced.NOTHING_DUE
    assert bench.head(run).generation == 1
    assert bench.head(run).revision == 0, "neither has committed"
    bench.world.advance("10m")
    assert bench.world.run(run).state == "succeeded"
