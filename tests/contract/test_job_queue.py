"""The job queue's contract, on every adapter."""

from __future__ import annotations

import json
import time

import pytest

from casegraph.errors import StoreRefused
from tests.contract.conftest import Jobs

ADVANCE = {"version": 1, "type": "advance_run", "job_id": "j1", "run_id": "r1"}
DELIVER = {"version": 1, "type": "deliver_effect", "job_id": "j2", "run_id": "r1", "effect_id": "e1"}


def test_each_type_of_job_goes_to_its_own_queue(jobs: Jobs) -> None:
    jobs.queue.send(ADVANCE)
    jobs.queue.send(DELIVER)
    assert (jobs.queue.depth("advance_run"), jobs.queue.depth("deliver_effect")) == (1, 1)
    assert json.loads(jobs.take("advance_run") or "") == ADVANCE
    assert json.loads(jobs.take("deliver_effect") or "") == DELIVER
    assert jobs.take("advance_run") is None


def test_a_delayed_job_is_not_taken_before_its_time(jobs: Jobs) -> None:
    jobs.queue.send(ADVANCE, delay_seconds=1)
    assert jobs.take("advance_run") is None
    assert jobs.queue.depth("advance_run") == 0
    time.sleep(1.2)
    assert jobs.take("advance_run") is not None


@pytest.mark.parametrize("delay_seconds", [-1, 901])
def test_a_delay_has_its_bounds(jobs: Jobs, delay_seconds: int) -> None:
    with pytest.raises(StoreRefused):
        jobs.queue.send(ADVANCE, delay_seconds=delay_seconds)


def test_a_job_of_an_unknown_type_is_refused(jobs: Jobs) -> None:
    with pytest.raises(StoreRefused):
        jobs.queue.send({"type": "other"})
