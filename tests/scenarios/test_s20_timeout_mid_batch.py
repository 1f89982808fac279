"""S20: a function that runs out of time in the middle of a batch gives back what it did not start, and only that."""

from __future__ import annotations

import json
from typing import Any

import pytest

from casegraph.application.ports import Deadline
from casegraph.limits import COMMIT_RESERVE_MILLISECONDS
from casegraph.runtime.batch import serve_batch
from casegraph.runtime.observability import LambdaJournal

NEEDED = 10_000


class Clocked:
    """Lambda's context with a clock that only the served records move."""

    aws_request_id = "request-1"

    def __init__(self, milliseconds: int) -> None:
        self.left = milliseconds

    def get_remaining_time_in_millis(self) -> int:
        return self.left


@pytest.fixture
def journal() -> LambdaJournal:
    return LambdaJournal("ERROR")


def batch(count: int) -> dict[str, Any]:
    records = [
        {"messageId": f"m{n}", "body": json.dumps({"n": n}), "eventSource": "aws:sqs", "attributes": {}}
        for n in range(count)
    ]
    return {"Records": records}


def failed(answer: dict[str, Any]) -> list[str]:
    return [entry["itemIdentifier"] for entry in answer["batchItemFailures"]]


def test_records_that_were_not_started_come_back_and_none_runs_twice(journal: LambdaJournal) -> None:
    served: list[int] = []
    context = Clocked(60_000)

    def serve(body: str, deadline: Deadline) -> None:
        served.append(json.loads(body)["n"])
        context.left -= 20_000

    first = serve_batch(batch(10), context, journal, serve, NEEDED)
    assert served == [0, 1, 2]
    assert failed(first) == [f"m{n}" for n in range(3, 10)]
    context.left = 1_000_000
    again = {"Records": [r for r in batch(10)["Records"] if r["messageId"] in failed(first)]}
    assert failed(serve_batch(again, context, journal, serve, NEEDED)) == []
    assert served == list(range(10))


@pytest.mark.parametrize(("left", "started"), [(0, True), (-1, False)])
def test_a_record_starts_only_when_it_can_end_in_time(
    journal: LambdaJournal, left: int, started: bool
) -> None:
    served: list[str] = []
    context = Clocked(NEEDED + COMMIT_RESERVE_MILLISECONDS + left)
    answer = serve_batch(batch(1), context, journal, lambda body, _: served.append(body), NEEDED)
    assert (bool(served), failed(answer)) == (started, [] if started else ["m0"])


def test_a_record_that_fails_does_not_bring_the_others_back(journal: LambdaJournal) -> None:
    def serve(body: str, deadline: Deadline) -> None:
        if json.loads(body)["n"] == 1:
            raise RuntimeError("a bug")

    assert failed(serve_batch(batch(3), Clocked(60_000), journal, serve, NEEDED)) == ["m1"]


def test_a_batch_of_which_all_fail_is_still_answered_record_by_record(journal: LambdaJournal) -> None:
    assert failed(serve_batch(batch(3), Clocked(0), journal, lambda *_: None, NEEDED)) == ["m0", "m1", "m2"]
