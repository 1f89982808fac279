"""What differs between two bundles is told in the words of the graph."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from casegraph.authoring.check import check
from casegraph.authoring.diff import diff
from casegraph.cli.main import app
from casegraph.local.bundled import bundled

EXAMPLE = bundled("workflows/illegal-content-notice")


def changed(change: Any) -> list[str]:
    before = check(EXAMPLE).required()
    after = copy.deepcopy(before)
    change(after)
    return [str(entry) for entry in diff(before, after)]


def node(bundle: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(n for n in bundle["graph"]["nodes"] if n["id"] == name)
    return found


def test_a_bundle_does_not_differ_from_itself() -> None:
    assert changed(lambda bundle: None) == []


def test_fields_of_nodes_are_told_one_by_one() -> None:
    def change(bundle: dict[str, Any]) -> None:
        node(bundle, "review")["timeout_seconds"] = 3600.0
        node(bundle, "review")["config"]["queue_id"] = "other"
        del node(bundle, "await_completion")["max_visits"]

    assert changed(change) == [
        "- node await_completion /max_visits: 3",
        "~ node review /timeout_seconds: 86400 -> 3600",
        "~ node review /config/queue_id: illegal-content -> other",
    ]


def test_nodes_and_edges_come_and_go() -> None:
    def change(bundle: dict[str, Any]) -> None:
        graph = bundle["graph"]
        graph["nodes"].insert(1, {"id": "pause", "kind": "delay", "config": {"for_seconds": 60}})
        graph["edges"][0]["to"]["node"] = "pause"
        graph["edges"].append(
            {"from": {"node": "pause", "port": "completed"}, "to": {"node": "load_context"}}
        )
        graph["edges"] = [
            e for e in graph["edges"] if e["from"] != {"node": "tell_notifier", "port": "error"}
        ]

    assert changed(change) == [
        "+ node pause: delay",
        "~ edge start.success: load_context -> pause",
        "- edge tell_notifier.error: escalate",
        "+ edge pause.completed: load_context",
    ]


def test_envelope_forms_and_messages_are_compared() -> None:
    def change(bundle: dict[str, Any]) -> None:
        bundle["graph"]["name"] = "New"
        bundle["graph"]["deadline_seconds"] = 60
        bundle["forms"]["notice-review"]["title"] = "Decide"
        del bundle["messages"]["ask-notifier"]
        bundle["policies"]["spam"] = "No spam.\nEver."

    assert changed(change) == [
        "~ graph /name: Illegal-content notice (Art. 16) -> New",
        "+ graph /deadline_seconds: 60",
        "~ forms notice-review /title: Decision about a notice -> Decide",
        "- messages ask-notifier",
        "+ policies spam",
    ]


def test_a_change_of_the_order_alone_is_told() -> None:
    def change(bundle: dict[str, Any]) -> None:
        nodes = bundle["graph"]["nodes"]
        nodes[2], nodes[3] = nodes[3], nodes[2]

    assert changed(change) == ["~ graph /nodes: order of the nodes -> another order"]


def test_the_command_compares_a_folder_with_what_was_built_before(tmp_path: Path) -> None:
    built = tmp_path / "before.json"
    run = CliRunner().invoke
    assert run(app, ["build", str(EXAMPLE), "-o", str(built)]).exit_code == 0
    same = run(app, ["diff", str(built), str(EXAMPLE)])
    assert (same.exit_code, "No difference" in same.stdout) == (0, True)
    other = json.loads(built.read_text())
    other["graph"]["name"] = "Other"
    (tmp_path / "after.json").write_text(json.dumps(other))
    answer = run(app, ["diff", str(built), str(tmp_path / "after.json"), "--json"])
    assert [change["field"] for change in json.loads(answer.stdout)["changes"]] == ["/name"]


def test_what_is_no_bundle_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"graph": {}}')
    result = CliRunner().invoke(app, ["diff", str(tmp_path / "x.json"), str(EXAMPLE)])
    assert (result.exit_code, "workflow_invalid" in result.stderr) == (1, True)
