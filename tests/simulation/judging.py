"""A simulator's or a world's traces as evidence for the checkers."""

from __future__ import annotations

from casegraph.domain.head import HEAD_SK
from casegraph.testing.world import World
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


def faults_of_world(world: World) -> list[str]:
    """Judge a test world whose connectors are scripted ones."""
    site = world.site
    connectors = {c.connector_id.removesuffix("-mail"): c for c in world.connectors}
    graphs = {
        item["run_id"]: site.versions.graph(item["digest"])
        for key, item in site.memory.items().items()
        if key.sk == HEAD_SK
    }
    evidence = Evidence(
        history=site.history,
        items=site.memory.items(),
        now=site.time.at,
        run_ids=list(graphs),
        received={name: c.received for name, c in connectors.items()},
        applied={name: c.times for name, c in connectors.items()},
        log=site.notes.events,
        graphs=graphs,
    )
    return judge(evidence)
