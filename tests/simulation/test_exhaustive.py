"""The n-th call of a scenario fails, for every n: refused before its effect, its reply lost after it, or its worker
killed before or after it. Whatever n is, the run ends as it does without a fault, and every invariant holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from casegraph.application.ports import Applied, Unknown
from casegraph.testing.bundles import JsonObject
from casegraph.testing.nemesis import AFTER, BEFORE, KILL_AFTER, KILL_BEFORE, NthCall
from casegraph.testing.world import World
from tests.simulation.judging import faults_of_world
from tests.simulation.workloads import ALL, ANY, CHAIN, EVENTS, LOOP, MESSAGES_ONLY

Script = Callable[[World, str], None]


@dataclass(frozen=True)
class Scenario:
    """A graph, what people and senders do with its run, and the path that it takes when nothing goes wrong."""

    name: str
    bundle: JsonObject
    script: Script


def _wait(world: World, run: str) -> None:
    world.advance("3h")


def _loop(world: World, run: str) -> None:
    for number in (1, 2):
        world.advance("20m")
        payload = {"n": number, "done": number == 2}
        world.event(run, "step.done", event_id=f"event-{number}", payload=payload)
    world.advance("3h")


def _events(world: World, run: str) -> None:
    """One comes before its wait opens, by key; the other to the run, early as well."""
    world.event(None, "case.opened", key="k", event_id="early", payload={"n": 1, "done": False})
    world.event(run, "case.closed", key="k", event_id="also-early", payload={"n": 2, "done": False})
    world.advance("3h")


def _any(world: World, run: str) -> None:
    world.advance("20m")
    tasks = {task["step_id"].split("/")[1]: task for task in world.tasks(run)}
    world.complete(tasks["two"], by="reviewer-1", response={"outcome": "accept"})
    world.advance("3h")


def _pause(world: World, run: str) -> None:
    """Paused for a while in the middle, with a person's decision while it stands still."""
    world.advance("20m")
    world.pause(run)
    world.advance("5m")
    world.complete(world.task(run), by="reviewer-1", response={"outcome": "accept"})
    world.resume(run)
    world.advance("3h")


def _terminate(world: World, run: str) -> None:
    world.advance("20m")
    world.terminate(run)
    world.advance("3h")


SCENARIOS = (
    Scenario("chain", CHAIN, _wait),
    Scenario("loop", LOOP, _loop),
    Scenario("early_events", EVENTS, _events),
    Scenario("any", ANY, _any),
    Scenario("paused", ALL, _pause),
    Scenario("terminated", ALL, _terminate),
    Scenario("messages", MESSAGES_ONLY, _wait),
)


def play(scenario: Scenario, fault: NthCall) -> tuple[World, str]:
    """One world, one run, one fault at most (number 0: none)."""
    world = World(seed=scenario.name, nemesis=fault)
    world.component("cheap", lambda given: {"score": 3})
    world.component("costly", lambda given: {"score": 7})
    for recovery in ("idempotent", "lookup", "manual"):
        world.connector(f"{recovery}-mail")
    if scenario.name == "messages":
        world.connector("idempotent-mail", [Unknown("no_answer"), Applied()])
        world.connector("lookup-mail", [Unknown("no_answer"), Applied()], deduplicates=False)
    run = world.start(world.publish(scenario.bundle), {"key": "k"}, key="the-run")
    scenario.script(world, run)
    return world, run


def essence(world: World, run: str) -> dict[str, Any]:
    """What must not depend on a fault: outcome, finished steps with their ports and outputs, tasks decided."""
    view = world.run(run)
    return {
        "state": view.state,
        "attention": view.attention,
        "steps": sorted((s.step, s.status, s.port) for s in view.steps),
    }


@pytest.mark.parametrize("how", [BEFORE, AFTER, KILL_BEFORE, KILL_AFTER])
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_fault_at_any_call_changes_nothing_but_time(scenario: Scenario, how: str) -> None:
    """Every n from the first call to the last one of the faultless world."""
    none = NthCall(0, how)
    calm, run = play(scenario, none)
    expected = essence(calm, run)
    assert faults_of_world(calm) == []
    wrong: list[str] = []
    for number in range(1, none.counted + 1):
        fault = NthCall(number, how)
        world, run = play(scenario, fault)
        found = faults_of_world(world)
        if essence(world, run) != expected and not _excused(world, run, how):
            found.append(f"ended as {essence(world, run)}")
        wrong += [f"{scenario.name}, {how} call {number}: {fault_}" for fault_ in found]
    assert not wrong, f"{len(wrong)} faults; expected {expected}\n" + "\n".join(wrong[:10])


def _excused(world: World, run: str, how: str) -> bool:
    """A manual message whose worker was killed between counting the attempt and settling it waits for a person."""
    view = world.run(run)
    unknown = [row["recovery"] for row in view.open if row["state"] == "ambiguous"]
    killed = how in (KILL_BEFORE, KILL_AFTER)
    return killed and view.attention == ("effect_ambiguous",) and unknown == ["manual"]
