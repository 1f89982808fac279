"""Section 12's counted rows for what exists: printed (`pytest -s`), and refused when they get worse.

Units are AWS's: 1 KB per write unit, twice in a transaction, and index entries written when their keys move.
"""

from __future__ import annotations

from typing import Any

import pytest

from casegraph.adapters.meter import Meter
from casegraph.application.advance_run import Advanced
from casegraph.testing.bundles import JsonObject, bundle, form, node
from tests.performance.metered import Metered

YES: JsonObject = {"cases": [{"port": "yes", "when": "true"}]}


def shown(name: str, meter: Meter) -> None:
    report = meter.report()
    print(
        f"\n{name}: {report['requests']} write units {report['write_units']} reads {report['read_units']['total']}"
    )


def fused_chain(length: int) -> JsonObject:
    names = [f"step_{number}" for number in range(length)]
    nodes = [node("start", "start"), *(node(name, "condition", YES) for name in names), node("end", "end")]
    wires = [f"start.success > {names[0]}"]
    for here, there in zip(names, [*names[1:], "end"], strict=True):
        wires += [f"{here}.yes > {there}", f"{here}.default > {there}"]
    return bundle("fused", nodes, wires)


def review_graph() -> JsonObject:
    task = node("review", "human_task", {"queue_id": "q", "form": "f"}, timeout_seconds=86_400)
    nodes = [node("start", "start"), task, node("end", "end")]
    wires = ["start.success > review", "review.accept > end", "review.timeout > end"]
    return bundle("review", nodes, wires, forms={"f": form("accept")})


def test_a_burst_without_outside_calls_is_two_requests_claim_and_commit() -> None:
    site = Metered()
    run_id = site.start(site.publish(fused_chain(10)))
    site.meter.reset()
    assert site.burst(run_id) is Advanced.RELEASED
    shown("burst, ten fused nodes to the end", site.meter)
    assert site.meter.report()["requests"] == {"TransactWriteItems": 1, "UpdateItem": 1}


def test_a_burst_that_reads_outputs_is_three_requests() -> None:
    site = Metered()
    nodes = [
        node("start", "start"),
        node("pick", "condition", {"cases": [{"port": "yes", "when": "input.ok == true"}]}),
        node("hold", "delay", {"for_seconds": 60}),
        node("again", "condition", {"cases": [{"port": "yes", "when": 'nodes.pick.port == "yes"'}]}),
        node("end", "end"),
    ]
    wires = [
        "start.success > pick", "pick.yes > hold", "pick.default > hold", "hold.completed > again",
        "again.yes > end", "again.default > end",
    ]  # fmt: skip
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    run_id = site.start(site.publish(bundle("reads", nodes, wires, input_schema=schema)), {"ok": True})
    site.burst(run_id)
    site.clock.advance(61_000)
    site.meter.reset()
    assert site.burst(run_id) is Advanced.RELEASED
    shown("burst that reads one output", site.meter)
    requests = site.meter.report()["requests"]
    assert requests == {"BatchGetItem": 1, "TransactWriteItems": 1, "UpdateItem": 1}


@pytest.mark.parametrize(
    ("graph", "head_and_segment", "rows"),
    [(fused_chain(1), 4, 0), (review_graph(), 4, 2)],
    ids=["ends", "opens a task"],
)
def test_a_commit_writes_head_and_segment_and_the_rows_that_open(
    graph: JsonObject, head_and_segment: int, rows: int
) -> None:
    site = Metered()
    run_id = site.start(site.publish(graph))
    site.meter.reset()
    site.burst(run_id)
    shown("first burst", site.meter)
    units = site.meter.report()["write_units"]["tables"]
    claim = 1
    assert units["runs/HEAD"] + units["runs/SEG"] == claim + head_and_segment
    assert units.get("runs/TASK", 0) == rows


def test_a_fused_chain_of_ten_costs_at_most_80_cents_per_million_nodes() -> None:
    site = Metered()
    version = site.publish(fused_chain(10))
    site.meter.reset()
    site.burst(site.start(version))
    shown("run of a fused chain of ten", site.meter)
    report = site.meter.report()
    dollars = report["write_units"]["total"] * 0.625 + report["read_units"]["total"] * 0.125
    jobs = report["requests"]["SendMessage"] * 3 * 0.40  # sent, received, deleted
    print(f"per million node executions: ${(dollars + jobs) / 12:.3f}")
    assert (dollars + jobs) / 12 <= 0.80


def looping(site: Metered, turns: int) -> tuple[str, Any]:
    """A run that goes round a loop of two commits until it has walked about `turns` times."""
    nodes = [
        node("start", "start"),
        node("hold", "delay", {"for_seconds": 1}, max_visits=100_000),
        node("again", "condition", YES, max_visits=100_000),
        node("end", "end"),
    ]
    wires = ["start.success > hold", "hold.completed > again", "again.yes > hold", "again.default > end"]
    run_id = site.start(site.publish(bundle("looping", nodes, wires)))
    for _ in range(turns):
        site.burst(run_id)
        site.clock.advance(1_500)
    return run_id, None


def test_a_step_costs_the_same_after_ten_and_after_ten_thousand_steps() -> None:
    def units_of_a_turn(turns: int) -> int:
        site = Metered()
        run_id, _ = looping(site, turns)
        site.meter.reset()
        site.burst(run_id)
        return site.meter.write_units

    early, late = units_of_a_turn(5), units_of_a_turn(5_000)
    print(f"\nwrite units of a turn: {early} after 10 steps, {late} after 10,000 steps")
    assert late <= 1.1 * early


def test_no_key_takes_more_than_a_thirty_second_of_a_uniform_load() -> None:
    site = Metered()
    version = site.publish(review_graph())
    site.meter.reset()
    for _ in range(2_000):
        site.burst(site.start(version))
    largest = site.meter.report()["largest_key"]
    print(f"\nlargest key of 2,000 runs that open a task: {largest}")
    assert largest["share"] <= 1 / 32


def test_a_job_that_finds_nothing_due_costs_one_request() -> None:
    site = Metered()
    run_id = site.start(site.publish(review_graph()))
    site.burst(run_id)
    site.meter.reset()
    assert site.burst(run_id) is Advanced.NOTHING_DUE
    assert site.meter.report()["requests"] == {"UpdateItem": 1}
