"""List prices from one data file, and what a measurement costs at them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from casegraph.adapters.meter import Meter

# A job is sent, received and deleted: three requests, of which the engine makes the first (Lambda makes the others).
SQS_REQUESTS_PER_JOB = 3
_WRITES_TO_S3 = ("PutObject",)
_READS_FROM_S3 = ("GetObject",)


@dataclass(frozen=True, slots=True)
class Cost:
    """Dollars of one measurement, by service."""

    dynamodb_writes: float
    dynamodb_reads: float
    sqs: float
    s3: float

    @property
    def total(self) -> float:
        """All of them."""
        return self.dynamodb_writes + self.dynamodb_reads + self.sqs + self.s3


@cache
def prices() -> dict[str, Any]:
    """The price file: region, date, sources, dollars."""
    text = files("casegraph.adapters").joinpath("prices.json").read_text()
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def cost_of(meter: Meter) -> Cost:
    """What the counted requests and units cost (requests of storage, not the storage)."""
    per_million = {
        name: price / 1_000_000 for name, price in prices().items() if name.endswith("_per_million")
    }
    jobs = meter.requests["SendMessage"] * SQS_REQUESTS_PER_JOB + meter.requests["GetQueueAttributes"]
    puts = sum(meter.requests[name] for name in _WRITES_TO_S3)
    gets = sum(meter.requests[name] for name in _READS_FROM_S3)
    return Cost(
        dynamodb_writes=meter.write_units * per_million["dynamodb_write_request_units_per_million"],
        dynamodb_reads=meter.read_units * per_million["dynamodb_read_request_units_per_million"],
        sqs=jobs * per_million["sqs_requests_per_million"],
        s3=puts * per_million["s3_put_requests_per_million"]
        + gets * per_million["s3_get_requests_per_million"],
    )
