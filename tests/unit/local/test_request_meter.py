"""The demo's cost: what each function asked of AWS, at list prices."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from casegraph.local.request_meter import RequestMeter


def called(meter: RequestMeter, operation: str, thread: str, capacity: Any = None) -> None:
    """One answered call in a thread of this name."""
    answer = {} if capacity is None else {"ConsumedCapacity": capacity}
    model = SimpleNamespace(name=operation)
    caller = threading.Thread(target=lambda: meter._after(model, answer), name=thread)
    caller.start()
    caller.join()


def test_units_are_priced_and_shared_out_by_function() -> None:
    meter = RequestMeter()
    called(meter, "TransactWriteItems", "execute-2", [{"CapacityUnits": 6.0}, {"CapacityUnits": 4.0}])
    called(meter, "GetItem", "Thread-9 (process_request_thread)", {"CapacityUnits": 1.0})
    called(meter, "Query", "reconcile", {"CapacityUnits": 0.5})
    called(meter, "SendMessage", "dispatch-0")
    report = meter.report(runs=2)
    assert (report["requests"], report["write_units"], report["read_units"]) == (4, 10, 1.5)
    # 0.625 and 0.125 dollars per million units; a job is three requests of 0.4 dollars per million.
    assert report["microdollars_by_function"] == {
        "api": 0.12,
        "execute": 6.25,
        "dispatch": 1.2,
        "reconcile": 0.06,
    }
    assert report["microdollars"] == 7.64
    assert report["microdollars_per_run"] == 3.82


def test_capacity_is_asked_for_only_where_dynamodb_gives_it() -> None:
    meter = RequestMeter()
    asked: dict[str, Any] = {}
    meter._ask_for_capacity(asked, SimpleNamespace(name="UpdateItem"))
    assert asked == {"ReturnConsumedCapacity": "TOTAL"}
    other: dict[str, Any] = {}
    meter._ask_for_capacity(other, SimpleNamespace(name="DescribeTable"))
    assert other == {}


def test_no_run_costs_nothing_a_run() -> None:
    assert RequestMeter().report(runs=0)["microdollars_per_run"] == 0
