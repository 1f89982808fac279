"""S5: a wait without a timeout hung for ever and no alarm saw it.

Here the validator refuses a wait that cannot end by itself; a wait that is overdue all the same is counted by the
sweep (`waits_overdue`, `due_lag_seconds`), and the template has an alarm on each.

Breaks without: structure's `wait_without_deadline`, ports' `wait_without_timeout_edge`, reconcile._measure_lag.
"""

from __future__ import annotations

from typing import Any

import pytest

from casegraph.errors import InvalidInput
from casegraph.local.stack import load_template
from casegraph.testing.world import World
from tests.protocol.graphs import graph, listener, person, review, wait
from tests.protocol.kit import Bench

MINUTE = 60_000
WAITS = {"human_task": review("stand"), "wait_for_event": wait("stand")}
OUT = {"human_task": ["accept", "reject"], "wait_for_event": ["received"]}


def waiting_graph(kind: str, node: dict[str, Any], ports: list[str]) -> dict[str, Any]:
    return graph("stand", [node], ["start.success > stand", *(f"stand.{port} > end" for port in ports)])


def codes(refused: InvalidInput) -> dict[str, str]:
    return {problem["code"]: problem["pointer"] for problem in refused.details["problems"]}


@pytest.mark.parametrize("kind", WAITS)
def test_a_wait_without_a_deadline_is_refused_with_its_place(kind: str) -> None:
    node = {name: value for name, value in WAITS[kind].items() if name != "timeout_seconds"}
    with pytest.raises(InvalidInput) as refused:
        World().publish(waiting_graph(kind, node, [*OUT[kind], "timeout"]))
    assert codes(refused.value)["wait_without_deadline"] == "/graph/nodes/1"


@pytest.mark.parametrize("kind", WAITS)
def test_a_wait_whose_deadline_leads_nowhere_is_refused(kind: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        World().publish(waiting_graph(kind, WAITS[kind], OUT[kind]))
    assert codes(refused.value)["wait_without_timeout_edge"] == "/graph/nodes/1"


@pytest.mark.parametrize(
    "bundle", [person(3600), listener(seconds=3600)], ids=["human_task", "wait_for_event"]
)
def test_a_wait_that_nobody_ends_ends_by_itself(bundle: dict[str, Any]) -> None:
    world = World()
    run = world.start(world.publish(bundle), {"key": "k"})
    world.advance("2h")
    assert world.run(run).state == "succeeded"
    assert {"timed_out": True} in world.run(run).output.values()


def test_overdue_waits_and_the_longest_lag_are_measured_by_the_sweep() -> None:
    """The executor stands still: every tick says how many waits are late, and by how much."""
    bench = Bench(person(60))
    bench.started()
    late = bench.started()
    bench.pass_time(60_000 + 5 * MINUTE)
    swept = bench.sweep()
    assert (swept.waits_overdue, swept.due_lag_seconds) == (2, 300)
    counts = bench.site.notes.counts
    assert (counts["waits_overdue"], counts["due_lag_seconds"]) == (2, 300)
    bench.advance(late)
    assert bench.sweep().waits_overdue == 1


@pytest.mark.parametrize("metric", ["waits_overdue", "due_lag_seconds"])
def test_the_template_has_an_alarm_on_it(metric: str) -> None:
    alarms = [
        resource["Properties"]
        for resource in load_template()["Resources"].values()
        if resource["Type"] == "AWS::CloudWatch::Alarm" and resource["Properties"].get("MetricName") == metric
    ]
    assert len(alarms) == 1
    assert (alarms[0]["Namespace"], alarms[0]["Statistic"]) == ("Casegraph", "Maximum")
    assert alarms[0]["AlarmActions"]
