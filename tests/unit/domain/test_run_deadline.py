"""The run's own deadline (`deadline_seconds`): the run ends as timed_out, in its time, and a pause moves it."""

from __future__ import annotations

from typing import Any

import pytest

from casegraph.testing.world import World


def waiting_graph(deadline_seconds: float) -> dict[str, Any]:
    return {
        "graph": {
            "schema_version": 1,
            "key": "deadline",
            "purpose": "operations",
            "authority": "assist",
            "deadline_seconds": deadline_seconds,
            "nodes": [
                {"id": "start", "kind": "start"},
                {
                    "id": "hold",
                    "kind": "wait_for_event",
                    "config": {"event_types": ["go"]},
                    "timeout_seconds": 999_999,
                },
                {"id": "end", "kind": "end"},
            ],
            "edges": [
                {"from": {"node": "start", "port": "success"}, "to": {"node": "hold"}},
                {"from": {"node": "hold", "port": "received"}, "to": {"node": "end"}},
                {"from": {"node": "hold", "port": "timeout"}, "to": {"node": "end"}},
            ],
        }
    }


@pytest.fixture
def started() -> tuple[World, str]:
    world = World()
    run = world.start(world.publish(waiting_graph(3_600)))
    world.settle()
    return world, run


def test_a_run_over_its_deadline_ends_as_timed_out(started: tuple[World, str]) -> None:
    world, run = started
    world.advance("59m")
    assert world.run(run).state == "waiting"
    world.advance("1m2s")
    assert world.run(run).state == "timed_out"


def test_a_pause_moves_the_deadline_of_the_run(started: tuple[World, str]) -> None:
    world, run = started
    world.pause(run)
    world.advance("2h")
    world.resume(run)
    world.advance("59m")
    assert world.run(run).state == "waiting"
    world.advance("1m2s")
    assert world.run(run).state == "timed_out"


def test_an_event_that_came_in_time_wins_over_the_deadline(started: tuple[World, str]) -> None:
    world, run = started
    world.event(run, "go", payload={})
    world.settle()
    world.advance("2h")
    assert world.run(run).state == "succeeded"
