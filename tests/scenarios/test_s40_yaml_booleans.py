"""S40: `authority: off`, `NO`, `yes` in a YAML graph became booleans.

A team wrote `authority: off` to switch a workflow off, and countries as `[DE, NO]`. Readers of YAML 1.1 turn these into
`false`; the workflow was published as something nobody had written. (The well-known "Norway problem".)

Here a source file is YAML 1.2 read by its core schema: they stay text, the canonical form shows them, and `fmt` quotes
them, so that other readers agree. Breaks without: yaml_tree.scalar (resolving plain scalars by YAML 1.1 instead).
"""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from casegraph.authoring.folder import load_bundle
from casegraph.cli.main import app

SOURCE = """\
schema_version: 1
key: norway
owner: yes
labels: {country: NO, since: 2026-01-01, at: 12:30}
purpose: report
authority: off
nodes:
  pick:
    kind: condition
    cases:
      on: input.country == "NO"
    next: {on: record, default: end}
  record:
    kind: decision
    with: {outcome: yes, reason: NO, severity: off, actor: 2026-01-01, policies: [n, y]}
"""


def graph_of(folder: Path) -> dict[str, object]:
    bundle = load_bundle(folder)
    graph = json.loads(json.dumps(bundle["graph"]))
    assert isinstance(graph, dict)
    return graph


def test_words_that_look_like_booleans_stay_words(tmp_path: Path) -> None:
    (tmp_path / "workflow.yaml").write_text(SOURCE)
    graph = graph_of(tmp_path)
    assert (graph["authority"], graph["owner"]) == ("off", "yes")
    assert graph["labels"] == {"country": "NO", "since": "2026-01-01", "at": "12:30"}
    nodes = graph["nodes"]
    assert isinstance(nodes, list)
    assert nodes[1]["config"]["cases"] == [{"port": "on", "when": 'input.country == "NO"'}]
    assert nodes[2]["input_mapping"] == {
        "outcome": '"yes"',
        "reason": '"NO"',
        "severity": '"off"',
        "actor": '"2026-01-01"',
        "policies": '["n", "y"]',
    }


def test_the_formatted_file_says_the_same_to_every_reader(tmp_path: Path) -> None:
    file = tmp_path / "workflow.yaml"
    file.write_text(SOURCE)
    before = graph_of(tmp_path)
    assert CliRunner().invoke(app, ["fmt", str(tmp_path)]).exit_code == 0
    text = file.read_text()
    assert "authority: 'off'" in text
    assert "{country: 'NO', since: '2026-01-01', at: '12:30'}" in text
    assert graph_of(tmp_path) == before
