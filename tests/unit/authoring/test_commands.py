"""The authoring commands on a folder: no server is asked, places are those of the files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from casegraph.authoring.check import check
from casegraph.authoring.scaffold import new_workflow
from casegraph.cli.main import app
from casegraph.errors import Conflict, InvalidInput


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    new_workflow("my-approval", tmp_path)
    return tmp_path / "my-approval"


def test_a_new_workflow_is_valid_formatted_and_tested(tmp_path: Path) -> None:
    assert run("new", "workflow", "my-approval", "--in", tmp_path).exit_code == 0
    assert run("validate", tmp_path / "my-approval").exit_code == 0
    assert run("fmt", "--check", tmp_path).exit_code == 0
    assert run("test", tmp_path, "--coverage", "100").exit_code == 0


@pytest.mark.parametrize("name", ["My", "1st", "a b", "../up", "", "a" * 65])
def test_a_name_that_is_no_key_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput):
        new_workflow(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_not_overwritten(folder: Path) -> None:
    with pytest.raises(Conflict):
        new_workflow(folder.name, folder.parent)


def test_what_is_built_has_the_digest_that_validate_shows(folder: Path, tmp_path: Path) -> None:
    assert run("build", folder, "-o", tmp_path / "bundle.json").exit_code == 0
    body = (tmp_path / "bundle.json").read_bytes()
    digest = "sha256:" + hashlib.sha256(body).hexdigest()
    assert json.loads(run("validate", folder, "--json").stdout)["digest"] == digest == check(folder).digest


def test_problems_are_shown_with_the_file_as_one_can_open_it(folder: Path) -> None:
    source = folder / "workflow.yaml"
    source.write_text(source.read_text().replace("timeout: escalate", "timeout: esclate"))
    result = run("validate", folder)
    assert result.exit_code == 1
    line = next(n for n, text in enumerate(source.read_text().splitlines(), 1) if "esclate" in text)
    assert f"{source}:{line}:21" in result.stderr
    assert "did you mean 'escalate'?" in result.stderr


def test_problems_under_json_are_one_document(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "workflow.yaml").write_text("kye: x\n")
    monkeypatch.setattr("sys.argv", ["casegraph", "validate", "--json"])
    problems = json.loads(run("validate", folder, "--json").stderr)["error"]["details"]["problems"]
    assert {"code", "file", "line", "column", "pointer", "message", "hint"} == set(problems[0])


def test_fmt_writes_only_what_changes(folder: Path) -> None:
    source = folder / "workflow.yaml"
    source.write_text(source.read_text().replace("purpose: report", "purpose:    report   "))
    checked = run("fmt", folder, "--check")
    assert (checked.exit_code, "workflow.yaml" in checked.stdout) == (1, True)
    assert "report   \n" in source.read_text()
    assert run("fmt", folder).exit_code == 0
    assert "report   \n" not in source.read_text()
    assert run("fmt", folder, "--check").exit_code == 0


def test_fmt_says_where_it_cannot_read(folder: Path) -> None:
    (folder / "workflow.yaml").write_text("a: [1\n")
    result = run("fmt", folder)
    assert (result.exit_code, "workflow.yaml:2:1" in result.stderr) == (1, True)


@pytest.mark.parametrize("command", ["validate", "test", "build"])
def test_a_folder_that_is_none_says_what_to_do(tmp_path: Path, command: str) -> None:
    result = run(command, tmp_path)
    assert result.exit_code == 1
    assert "workflow.yaml" in result.stderr
