"""What the handlers of this process ask of AWS, counted at the SDK boundary and priced by list prices.

DynamoDB is asked for the consumed capacity of each call. The local AWS process gives it right for writes and for small
reads, and leaves out what a refused write would cost: the cost of a demo is an estimate; `tests/performance` counts
exactly.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any

import boto3

from casegraph.adapters.meter import Meter
from casegraph.adapters.prices import cost_of

# Threads are named after the function whose jobs they take (local/workers.py); all others answer requests.
_JOBS = ("execute", "dispatch", "reconcile")
_API = "api"
_CAPACITY_OF = frozenset(
    {
        "PutItem", "UpdateItem", "DeleteItem", "GetItem", "BatchGetItem", "Query", "TransactWriteItems",
    }
)  # fmt: skip
_READS = frozenset({"GetItem", "BatchGetItem", "Query"})


class RequestMeter:
    """Counts by function. Attach it before the handlers make their clients."""

    def __init__(self) -> None:
        self._meters = {name: Meter() for name in (_API, *_JOBS)}
        self._lock = threading.Lock()

    def attach(self) -> None:
        """Watch every client that `boto3.client` makes from now on."""
        boto3.setup_default_session()
        assert boto3.DEFAULT_SESSION is not None
        events = boto3.DEFAULT_SESSION.events
        events.register("before-parameter-build.dynamodb.*", self._ask_for_capacity)
        for service in ("dynamodb", "sqs", "s3"):
            events.register(f"after-call.{service}.*", self._after)

    def report(self, runs: int) -> dict[str, Any]:
        """Requests, units and microdollars, together and by function; per run, when there are runs."""
        with self._lock:
            dollars = {name: cost_of(meter).total for name, meter in self._meters.items()}
            total = sum(dollars.values())
            return {
                "estimate": True,
                "requests": sum(m.requests.total() for m in self._meters.values()),
                "write_units": round(sum(m.write_units for m in self._meters.values()), 1),
                "read_units": round(sum(m.read_units for m in self._meters.values()), 1),
                "microdollars": _micro(total),
                "microdollars_per_run": _micro(total / runs) if runs else 0,
                "microdollars_by_function": {name: _micro(value) for name, value in dollars.items()},
            }

    def _ask_for_capacity(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        if model.name in _CAPACITY_OF:
            params["ReturnConsumedCapacity"] = "TOTAL"

    def _after(self, model: Any, parsed: Mapping[str, Any], **_: Any) -> None:
        role = threading.current_thread().name.partition("-")[0]
        meter = self._meters[role if role in _JOBS else _API]
        units = sum(_capacities(parsed.get("ConsumedCapacity")))
        with self._lock:
            meter.requests[model.name] += 1
            if model.name in _READS:
                meter.index_reads["all"] = meter.index_reads.get("all", 0.0) + units
            else:
                meter.table_writes["all"] += round(units)


def _capacities(consumed: Any) -> Iterable[float]:
    entries = consumed if isinstance(consumed, list) else [consumed] if consumed else []
    return (float(entry.get("CapacityUnits", 0)) for entry in entries)


def _micro(dollars: float) -> float:
    return round(dollars * 1_000_000, 2)
