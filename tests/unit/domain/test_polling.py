"""An enrichment that polls (`poll.until`): asked again at its interval, done when the condition holds, bounded."""

from __future__ import annotations

from typing import Any

from casegraph.testing.world import World


def polling_graph(attempts: int) -> dict[str, Any]:
    poll = {"until": "result.ready == true", "interval_seconds": 60, "attempts": attempts}
    return {
        "graph": {
            "schema_version": 1,
            "key": "polling",
            "purpose": "operations",
            "authority": "assist",
            "nodes": [
                {"id": "start", "kind": "start"},
                {"id": "scan", "kind": "enrichment", "config": {"component_id": "scanner", "poll": poll}},
                {"id": "end", "kind": "end"},
                {"id": "gave_up", "kind": "end", "config": {"terminal_code": "gave_up"}},
            ],
            "edges": [
                {"from": {"node": "start", "port": "success"}, "to": {"node": "scan"}},
                {"from": {"node": "scan", "port": "success"}, "to": {"node": "end"}},
                {"from": {"node": "scan", "port": "error"}, "to": {"node": "gave_up"}},
            ],
        }
    }


def started(attempts: int, ready_at_call: int) -> tuple[World, str, list[int]]:
    world, calls = World(), []

    def scanner(_: Any) -> dict[str, Any]:
        calls.append(world.now)
        return {"ready": len(calls) >= ready_at_call, "calls": len(calls)}

    world.component("scanner", scanner)
    run = world.start(world.publish(polling_graph(attempts)))
    world.settle()
    return world, run, calls


def test_a_poll_asks_again_at_its_interval_until_the_condition_holds() -> None:
    world, run, calls = started(attempts=10, ready_at_call=3)
    assert world.run(run).state == "waiting"
    world.advance("10m")
    assert world.run(run).state == "succeeded"
    assert world.run(run).output["scan"] == {"ready": True, "calls": 3}
    assert [round((at - calls[0]) / 60_000) for at in calls] == [0, 1, 2]


def test_a_poll_that_is_used_up_takes_the_error_port() -> None:
    world, run, calls = started(attempts=4, ready_at_call=99)
    world.advance("1h")
    assert len(calls) == 4
    assert world.run(run).output["scan"] == {"error": {"code": "poll_exhausted", "attempts": 4}}
    assert world.run(run).output["gave_up"]["terminal_code"] == "gave_up"
