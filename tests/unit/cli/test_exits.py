"""What the shell sees, and what a person reads, when a command does not get what it wants."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from casegraph.cli.exits import Exit, Group, NotReached, code_of, report
from casegraph.cli.main import app
from casegraph.cli.output import text
from casegraph.client.errors import NoConnection
from casegraph.errors import CasegraphError, Conflict, InvalidInput


@pytest.fixture
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CASEGRAPH_URL", raising=False)
    monkeypatch.delenv("CASEGRAPH_TOKEN", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InvalidInput("no"), Exit.REFUSED),
        (Conflict("no"), Exit.REFUSED),
        (NotReached("not yet"), Exit.NOT_REACHED),
        (NoConnection("nobody"), Exit.NO_CONNECTION),
    ],
)
def test_an_error_has_its_exit_code(error: CasegraphError, code: Exit) -> None:
    assert code_of(error) is code


def test_usage_is_exit_code_2(empty_directory: Path) -> None:
    assert CliRunner().invoke(app, ["run", "show"]).exit_code == Exit.USAGE
    assert CliRunner().invoke(app, ["no-such-noun"]).exit_code == Exit.USAGE


def test_without_a_context_the_error_says_how_to_get_one(empty_directory: Path) -> None:
    result = CliRunner().invoke(app, ["me"])
    assert result.exit_code == Exit.REFUSED
    assert "casegraph dev" in result.stderr


def test_nobody_at_the_address_is_exit_code_4(empty_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASEGRAPH_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("CASEGRAPH_TOKEN", "t")
    result = CliRunner().invoke(app, ["task", "complete", "t1", "{}", "--generation", "1"])
    assert result.exit_code == Exit.NO_CONNECTION


def test_wrong_json_is_refused_with_its_place(empty_directory: Path) -> None:
    result = CliRunner().invoke(app, ["event", "send", "a.b", '{"x": }', "--run", "r"])
    assert result.exit_code == Exit.REFUSED
    assert "line 1, column 7" in result.stderr


def test_an_event_needs_a_receiver(empty_directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASEGRAPH_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("CASEGRAPH_TOKEN", "t")
    result = CliRunner().invoke(app, ["event", "send", "a.b"])
    assert (result.exit_code, "--run" in result.stderr) == (Exit.REFUSED, True)


def test_every_problem_is_shown_with_its_file_and_place(capsys: pytest.CaptureFixture[str]) -> None:
    problem = {
        "file": "workflow.yaml",
        "line": 7,
        "column": 3,
        "pointer": "/nodes/2",
        "message": "unknown kind",
        "hint": "one of ...",
    }
    report(
        InvalidInput("2 problems", "graph_invalid", problems=[problem, "another"], hint="fix them"),
        as_json=False,
    )
    shown = capsys.readouterr().err
    assert "graph_invalid: 2 problems" in shown
    assert "workflow.yaml:7:3#/nodes/2: unknown kind (one of ...)" in shown
    assert "another" in shown
    assert "hint: fix them" in shown


def test_an_error_under_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    report(Conflict("taken", "task_claimed", who="reviewer-2"), as_json=True)
    error = json.loads(capsys.readouterr().err)["error"]
    assert error == {"code": "task_claimed", "message": "taken", "details": {"who": "reviewer-2"}}


def test_control_characters_are_shown_and_not_sent_to_the_terminal() -> None:
    assert text("a\x1b[31mred\x07") == "a\\x1b[31mred\\x07"
    assert text("two\nlines") == "two\nlines"


def test_every_group_reports_errors_the_same_way() -> None:
    assert isinstance(app.info.cls, type)
    assert issubclass(app.info.cls, Group)
