"""The process that runs API, handlers and workers is killed (SIGKILL) in the middle of the demo, again and again.

Started again, every run reaches its expected outcome, no step's output is written twice, and no message reaches the
recorder twice. The local AWS process is the "cloud" here: it stays.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from casegraph.adapters.recorder_connector import ledger_pk
from casegraph.client import context
from casegraph.client.client import CasegraphClient
from casegraph.domain.ids import parse_public_id
from casegraph.domain.writes import Table
from casegraph.local.aws_process import LocalAws, free_port
from casegraph.local.demo.driver import CONNECTOR, Demo, Result
from casegraph.local.demo.reports import load_reports
from casegraph.local.stack import ensure_stack
from casegraph.runtime.container import build
from casegraph.runtime.settings import Settings
from tests.integration.dev_process import DevProcess

KILLS = 4
# Seconds between two kills: from before the server has answered once to the middle of the reviews.
BETWEEN = (0.5, 5.0)
SEED = int(os.environ.get("CASEGRAPH_SIGKILL_SEED", "20261201"))


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[LocalAws]:
    with LocalAws(tmp_path / "aws") as process:
        yield process


@pytest.fixture
def handlers(tmp_path: Path, cloud: LocalAws) -> Iterator[DevProcess]:
    process = DevProcess(tmp_path, free_port(), "--aws-endpoint", cloud.endpoint_url)
    process.start()
    process.wait_until_it_answers()
    yield process
    process.kill()


class Player(threading.Thread):
    """Plays the demo while the other thread kills."""

    def __init__(self, demo: Demo) -> None:
        super().__init__(daemon=True)
        self._demo = demo
        self.result: Result | None = None
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            self.result = self._demo.play()
        except BaseException as failure:  # noqa: BLE001 - raised again in the test's own thread
            self.failure = failure
        finally:
            self._demo.close()

    def finished(self) -> Result:
        self.join(500)
        if self.failure is not None:
            raise self.failure
        assert self.result is not None, "the demo did not end"
        return self.result


@pytest.mark.slow
@pytest.mark.local_aws
@pytest.mark.timeout(600)
def test_every_run_reaches_its_outcome_although_the_handlers_are_killed(
    tmp_path: Path, cloud: LocalAws, handlers: DevProcess
) -> None:
    print(f"seed {SEED}")
    chance = random.Random(SEED)
    lines: list[str] = []
    player = Player(
        Demo(context.load(tmp_path / ".casegraph"), load_reports(), say=lines.append, run_seconds=420)
    )
    player.start()
    for _ in range(KILLS):
        time.sleep(chance.uniform(*BETWEEN))
        handlers.kill()
        lines.append("KILLED")
        handlers.start()
    result = player.finished()
    assert result.unexpected == [], lines[-40:]
    assert (result.reports, result.merged, len(result.outcomes)) == (30, 4, 26)
    # The kills hit a demo that was under way.
    assert lines.count("KILLED") == KILLS
    assert any("runs have ended" in line for line in lines[lines.index("KILLED") :])
    _assert_no_step_twice(context.load(tmp_path / ".casegraph"), result)
    _assert_no_message_twice(ensure_stack(cloud.endpoint_url), result)


def _assert_no_step_twice(known: context.Context, result: Result) -> None:
    with CasegraphClient(known.url, known.token) as client:
        for outcome in result.outcomes:
            steps = Counter(step["step"] for step in client.runs.steps(outcome.run_id))
            assert [step for step, times in steps.items() if times > 1] == [], outcome


def _assert_no_message_twice(settings: Settings, result: Result) -> None:
    """One ledger entry for each message that the runs' paths call for: no less, and no more."""
    sent = Counter(_message(entry) for entry in _ledger(settings))
    assert [message for message, times in sent.items() if times > 1] == []
    asked = sum(step.startswith("ask_notifier") for _, step in sent)
    told = sum(step.startswith("tell_notifier") for _, step in sent)
    assert (asked, told) == (6, len(result.outcomes) - 1)


def _message(entry: dict[str, Any]) -> tuple[str, str]:
    """The run and step that an entry was sent by."""
    parsed = parse_public_id(entry["effect_id"])
    assert parsed is not None
    return parsed[0], parsed[1]


def _ledger(settings: Settings) -> list[dict[str, Any]]:
    container = build(settings)
    return container.ports.store.query(Table.CATALOG, ledger_pk(CONNECTOR), limit=1_000).items
