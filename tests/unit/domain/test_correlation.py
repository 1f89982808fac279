"""Which events a wait with a correlation key takes: those of its key, and those sent to the run without any."""

from __future__ import annotations

from typing import Any

import pytest

from casegraph.testing.world import World


def correlated_graph() -> dict[str, Any]:
    config = {"event_types": ["notice.completed"], "correlation_key": '"key-1"'}
    return {
        "graph": {
            "schema_version": 1,
            "key": "correlated",
            "purpose": "operations",
            "authority": "assist",
            "nodes": [
                {"id": "start", "kind": "start"},
                {"id": "hold", "kind": "wait_for_event", "config": config, "timeout_seconds": 3600},
                {"id": "end", "kind": "end"},
            ],
            "edges": [
                {"from": {"node": "start", "port": "success"}, "to": {"node": "hold"}},
                {"from": {"node": "hold", "port": "received"}, "to": {"node": "end"}},
                {"from": {"node": "hold", "port": "timeout"}, "to": {"node": "end"}},
            ],
        }
    }


@pytest.mark.parametrize(("key", "state"), [("key-1", "succeeded"), ("", "succeeded"), ("key-2", "waiting")])
def test_a_correlated_wait_takes_its_key_and_what_was_sent_to_the_run_without_one(
    key: str, state: str
) -> None:
    world = World()
    run = world.start(world.publish(correlated_graph()))
    world.settle()
    world.event(run, "notice.completed", key=key, payload={})
    world.settle()
    assert world.run(run).state == state
