"""The tutorial "your first workflow" is run as it stands: every command, every line that it shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from casegraph.cli.main import app

TUTORIAL = Path(__file__).parents[3] / "docs" / "tutorials" / "first-workflow.md"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def edit(file: str, old: str, new: str) -> None:
    text = Path(file).read_text()
    assert text.count(old) == 1, (file, old)
    Path(file).write_text(text.replace(old, new))


def commands() -> list[tuple[str, list[str]]]:
    """Each command of the tutorial with the lines that it shows."""
    found: list[tuple[str, list[str]]] = []
    for language, body in BLOCK.findall(TUTORIAL.read_text()):
        if language != "console":
            continue
        for line in body.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ casegraph "), []))
            else:
                found[-1][1].append(line)
    return found


def blocks(language: str) -> list[str]:
    return [body for found, body in BLOCK.findall(TUTORIAL.read_text()) if found == language]


def test_the_tutorial_does_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _schema, nodes, tell, small = *blocks("json"), *blocks("yaml")
    flow, schema = "refund/workflow.yaml", "refund/schemas/request.json"

    def misspell() -> None:
        edit(flow, "timeout: escalate", "timeout: esclate")

    def let_small_amounts_through() -> None:
        edit(flow, "timeout: esclate", "timeout: escalate")
        start = '  "required": ["text", "from"],\n  "properties": {\n'
        edit(schema, start, _schema)
        edit(flow, "nodes:\n", nodes)

    def correct() -> None:
        edit(flow, "input.amount < 20", "input.amount < 20.0")
        text = Path(flow).read_text()
        line = next(line for line in text.splitlines(keepends=True) if "template: outcome" in line)
        edit(flow, line, tell)

    def send_an_amount() -> None:
        for name in ("accepted", "declined", "nobody"):
            case = f"refund/cases/{name}.yaml"
            edit(case, "from: someone@example.org}", "from: someone@example.org, amount: 80.0}")
            edit(case, "path: [review", "path: [size.default, review")

    def cover() -> None:
        Path("refund/cases/small.yaml").write_text(small)

    before = {2: misspell, 3: let_small_amounts_through, 4: correct, 6: send_an_amount, 7: cover}
    for number, (command, lines) in enumerate(commands()):
        before.get(number, lambda: None)()
        result = CliRunner().invoke(app, command.split())
        refused = any(line.startswith(("workflow_invalid", "cases_failed")) for line in lines)
        assert (command, result.exit_code) == (command, 1 if refused else 0), result.output
        shown = re.sub(r"sha256:[0-9a-f]{64}", "sha256:...", result.stdout + "\n" + result.stderr)
        for line in lines:
            assert line == "..." or line in shown.splitlines(), (command, line, shown)
    assert number == 10
