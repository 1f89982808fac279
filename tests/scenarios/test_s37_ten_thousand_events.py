"""S37: a run that had taken in 10,000 events: each next one cost more than the one before.

Here a burst reads the head and the outputs that its nodes reference, not the history: the ten-thousandth event costs
the requests and the units that the tenth did, and the head does not grow.

Breaks without: reads._read_rows by key (a burst that reads the log), one count per node in Draft._next_occurrence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from casegraph.adapters.meter import Meter, MeteredItemStore
from casegraph.adapters.sizes import item_size
from casegraph.application.accept_event import Event, accept_for_run
from casegraph.application.advance_run import Advanced, advance_run
from casegraph.application.context import Ports
from casegraph.domain.head import head_key
from casegraph.domain.segment import SEGMENT_PREFIX
from casegraph.domain.writes import Table
from tests.protocol.graphs import graph, wait
from tests.protocol.kit import Bench

EVENTS = 10_000
GRAPH = graph(
    "listen_for_ever",
    [{**wait("listen", seconds=86_400), "max_visits": 100_000}],
    ["start.success > listen", "listen.received > listen", "listen.timeout > end"],
)


@dataclass(frozen=True)
class Cost:
    """What one event costs, from its arrival to the next wait."""

    requests: int
    write_units: int
    read_units: float
    head_bytes: int


def one_event(bench: Bench, ports: Ports, meter: Meter, run: str, number: int) -> Cost:
    meter.reset()
    bench.pass_time(1_000)
    accept_for_run(ports, run, Event("step.done", f"event-{number}", "", {"again": False}, "world"))
    assert advance_run(ports, run, bench.site.invocation()) is Advanced.RELEASED
    head = bench.site.memory.get(head_key(run))
    assert head is not None
    return Cost(sum(meter.requests.values()), meter.write_units, meter.read_units, item_size(head))


@pytest.mark.slow
def test_the_ten_thousandth_event_costs_what_the_tenth_did() -> None:
    bench = Bench(GRAPH)
    run = bench.started()
    meter = Meter()
    ports = replace(bench.ports, store=MeteredItemStore(bench.site.memory, meter))
    costs = []
    for number in range(1, EVENTS + 1):
        costs.append(one_event(bench, ports, meter, run, number))
        bench.clear_jobs()
    tenth, last = costs[9], costs[-1]
    print(f"event 10: {tenth}\nevent {EVENTS}: {last}")
    assert last.requests == tenth.requests
    assert last.write_units <= tenth.write_units * 1.1
    assert last.read_units <= tenth.read_units * 1.1
    assert last.head_bytes <= tenth.head_bytes + 32
    assert bench.site.memory.count(Table.RUNS, f"RUN#{run}", prefix=SEGMENT_PREFIX) == EVENTS + 2
    assert bench.head(run).inbox == ()
