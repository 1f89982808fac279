"""Defects that a reviewer found, each as the test that would have found it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from casegraph.application import lease
from casegraph.application.accept_event import Event, accept_for_run
from casegraph.application.advance_run import Advanced
from casegraph.application.parked_events import accept_by_key
from casegraph.errors import Conflict, InvalidInput
from casegraph.runtime.lazy_schemas import LazyJsonSchemas
from tests.protocol import graphs
from tests.protocol.kit import Bench


def test_a_stale_cleanup_does_not_release_the_lease_of_the_worker_after_it() -> None:
    bench = Bench(graphs.sender())
    run = bench.started()
    bench.clear_jobs()
    bench.world.terminate(run)
    bench.clear_jobs()
    calls: list[str] = []
    claimed: list[Any] = []

    def freeze(name: str) -> None:
        calls.append(name)
        if name == "store.transact" and calls.count(name) == 1:
            bench.deliver(run)  # dispatch cancels the effect first: the page fails on that row alone
            calls.append("cancelled")
        elif name == "store.get" and "cancelled" in calls and not claimed:
            bench.pass_time(30 * 60_000)
            claimed.append(lease.claim(bench.ports, run, bench.now + 30_000))

    result = bench.advance(run, bench.site.worker("A", skew=0, pause=freeze))
    assert result is Advanced.LEASE_LOST
    assert bench.head(run).claim_id == claimed[0].claim_id


def test_a_lease_is_given_back_after_an_error_though_a_signal_came_in_between() -> None:
    bench = Bench(graphs.listener())
    run = bench.started()
    bench.pass_time(3_600_000)
    head = lease.claim(bench.ports, run, bench.now + 30_000)
    assert not isinstance(head, lease.Refused)
    bench.world.event(run, "step.done", key="k", payload={"again": False})
    lease.release_after_error(bench.ports, head)
    after = bench.head(run)
    assert after.claim_id is None
    assert after.attempts == 1


def keyed(event_id: str, key: str = "K", queues: tuple[str, ...] | None = None, **payload: Any) -> Event:
    return Event("step.done", event_id, key, payload or {"again": False}, "sender", queues)


def test_a_refused_event_by_key_is_not_kept_for_another_run() -> None:
    bench = Bench(graphs.listener(correlation_key="input.key"))
    first = bench.started({"key": "K"})
    accept_for_run(bench.ports, first, keyed("e1", "elsewhere"))
    before = bench.site.memory.items()
    with pytest.raises(Conflict, match="e1"):
        accept_by_key(bench.ports, keyed("e1", again=True))
    assert bench.site.memory.items() == before
    second = bench.started({"key": "K"})
    assert bench.head(second).outcome is None


def test_an_event_id_under_another_key_is_refused() -> None:
    bench = Bench(graphs.listener(correlation_key="input.key"))
    assert accept_by_key(bench.ports, keyed("e1", "one")).run_id is None
    with pytest.raises(Conflict, match="another content"):
        accept_by_key(bench.ports, keyed("e1", "two"))


def test_an_event_by_key_is_checked_against_the_schema_of_the_graph_that_waits() -> None:
    bench = Bench(graphs.listener(correlation_key="input.key"))
    ports = replace(bench.ports, schemas=LazyJsonSchemas())
    run = bench.started({"key": "K"})
    before = bench.site.memory.items()
    with pytest.raises(InvalidInput, match="payload"):
        accept_by_key(ports, keyed("e1", again=1234))
    assert bench.site.memory.items() == before
    assert accept_by_key(ports, keyed("e1")).run_id == run


def started_in(bench: Bench, queue_id: str) -> str:
    run = bench.start({"key": "K"}, queue_id=queue_id)
    bench.advance(run)
    return run


def test_an_event_by_key_reaches_only_runs_of_its_senders_queues_now_and_later() -> None:
    bench = Bench(graphs.listener(correlation_key="input.key"))
    run = started_in(bench, "inbox")
    assert accept_by_key(bench.ports, keyed("e1", queues=("elsewhere",))).run_id is None
    assert bench.head(run).outcome is None
    bench.pass_time(1_000)
    later = started_in(bench, "inbox")
    assert bench.rows(later, "EVENT#") == [], "what was parked may not reach it either"
    assert accept_by_key(bench.ports, keyed("e2", queues=("inbox",))).run_id == run


def test_the_wait_after_a_hundred_that_have_ended_gets_the_event() -> None:
    bench = Bench(graphs.listener(correlation_key="input.key"))
    for _ in range(101):
        bench.world.terminate(bench.started({"key": "K"}))
    run = bench.started({"key": "K"})
    assert accept_by_key(bench.ports, keyed("e1")).run_id == run
