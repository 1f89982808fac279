"""A simulator's or a world's traces as evidence for the checkers."""

from __future__ import annotations

from tests.simulation.checkers import Evidence, judge
from tests.simulation.simulator import Simulator


def evidence_of(simulator: Simulator) -> Evidence:
    """What a finished simulation left."""
    site = simulator.site
    return Evidence(
        history=site.history,
        items=site.memory.items(),
        now=site.time.at,
        run_ids=[run.run_id for run in simulator.runs],
        received={name: receiver.received for name, receiver in simulator.receivers.items()},
        applied={name: receiver.applied for name, receiver in simulator.receivers.items()},
        unanswered={name: receiver.unanswered for name, receiver in simulator.receivers.items()},
        skews=simulator.skews,
        log=site.notes.events,
        graphs={run.run_id: simulator.graph(run) for run in simulator.runs},
    )


def faults_of_seed(seed: int) -> list[str]:
    """Run one seed and judge it."""
    simulator = Simulator(seed)
    simulator.run()
    return judge(evidence_of(simulator))
