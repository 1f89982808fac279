"""The demo's exit code and document follow from what became of the runs."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from casegraph.cli import demo
from casegraph.cli.exits import Exit
from casegraph.cli.main import app
from casegraph.local.demo.driver import Outcome, Result

GOOD = Outcome("run-1", 2, "succeeded", "remove", "complete", "remove")
WRONG = Outcome("run-2", 1, "waiting", "", "", "none")


class Server:
    """A server that is up without anything behind it."""

    context = SimpleNamespace(url="http://127.0.0.1:1")
    log_file = Path("handlers.log")
    meter = SimpleNamespace(
        report=lambda runs: {"microdollars_per_run": 70.0, "write_units": 9, "read_units": 8, "requests": 7}
    )

    def __init__(self, options: Any) -> None:
        pass

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *outcomes: Outcome) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "DevServer", Server)
    monkeypatch.setattr(demo, "_play", lambda server, say: Result(3, 1, list(outcomes)))


def test_all_as_expected_is_exit_code_0(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    played(monkeypatch, tmp_path, GOOD)
    done = CliRunner().invoke(app, ["demo"])
    assert done.exit_code == Exit.DONE
    assert "3 reports, 1 merged, 1 runs: 1 as expected, 0 not." in done.stdout
    assert "http://127.0.0.1:1/v1" in done.stdout


def test_one_run_that_is_not_is_exit_code_1_and_is_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    played(monkeypatch, tmp_path, GOOD, WRONG)
    done = CliRunner().invoke(app, ["demo"])
    assert done.exit_code == Exit.REFUSED
    (line,) = [line for line in done.stdout.splitlines() if "run-2" in line]
    assert "NOT AS EXPECTED" in line


def test_json_is_one_document(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    played(monkeypatch, tmp_path, GOOD, WRONG)
    done = CliRunner().invoke(app, ["demo", "--json"])
    assert done.exit_code == Exit.REFUSED
    result = json.loads(done.stdout)
    assert (result["reports"], result["runs"], result["expected"], result["unexpected"]) == (3, 2, 1, 1)
    assert done.stderr == ""
