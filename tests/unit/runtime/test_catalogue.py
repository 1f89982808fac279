"""The catalogue names every event and metric that the code uses, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import casegraph
from casegraph.runtime.catalogue import EVENTS, METRICS
from casegraph.runtime.observability import LambdaJournal

ENGINE = Path(casegraph.__file__).parent
_CALL = re.compile(r"journal\.(event|count)\(\s*\"([a-z_]+)\"")
_FORBIDDEN = re.compile(r"journal\.event\([^)]*(payload|message\s*=|token|\bname\s*=|subject|reason)")


def used() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {"event": set(), "count": set()}
    for path in ENGINE.rglob("*.py"):
        for kind, name in _CALL.findall(path.read_text()):
            found[kind].add(name)
    return found


def test_every_log_event_of_the_code_is_in_the_catalogue() -> None:
    assert used()["event"] - set(EVENTS) == set()


def test_every_metric_of_the_code_is_in_the_catalogue() -> None:
    assert used()["count"] - set(METRICS) == set()


def test_no_log_line_takes_a_payload_a_name_or_a_text() -> None:
    offences = [str(p) for p in ENGINE.rglob("*.py") if _FORBIDDEN.search(p.read_text())]
    assert offences == []


def test_a_counted_event_is_a_metric_of_the_invocation(capsys: pytest.CaptureFixture[str]) -> None:
    journal = LambdaJournal("ERROR")
    journal.event("lease_lost", run_id="run-1", generation=3)
    journal.count("job_nothing_due", 2)
    journal.flush()
    record = json.loads(capsys.readouterr().out.strip().splitlines()[-1])
    assert (record["lease_lost"], record["job_nothing_due"]) == ([1.0], [2.0])
    journal.flush()
    assert capsys.readouterr().out == ""
