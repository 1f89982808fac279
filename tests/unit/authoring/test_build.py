"""The source form becomes the canonical document, node by node (architecture.md 6.2)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from casegraph.authoring.check import check
from casegraph.authoring.folder import load_bundle, read_folder
from casegraph.local.bundled import bundled

EXAMPLE = bundled("workflows/illegal-content-notice")
CANONICAL = Path(__file__).parent / "illegal-content-notice.json"

HEAD = "schema_version: 1\nkey: k\npurpose: report\nauthority: assist\nnodes:\n"


def graph_of(folder: Path, nodes: str, head: str = HEAD) -> dict[str, Any]:
    (folder / "workflow.yaml").write_text(head + nodes)
    graph = load_bundle(folder)["graph"]
    assert isinstance(graph, dict)
    return graph


def node_of(folder: Path, fields: str, head: str = HEAD) -> dict[str, Any]:
    found: dict[str, Any] = graph_of(folder, "  a:\n" + fields, head)["nodes"][1]
    return found


def edges_of(graph: dict[str, Any]) -> list[str]:
    return [f"{e['from']['node']}.{e['from']['port']} > {e['to']['node']}" for e in graph["edges"]]


def form(folder: Path, name: str, *outcomes: str) -> None:
    (folder / "forms").mkdir(exist_ok=True)
    schema = {"properties": {"outcome": {"enum": list(outcomes)}}, "required": ["outcome"]}
    (folder / "forms" / f"{name}.json").write_text(json.dumps(schema))


def test_the_example_gives_the_digest_of_its_canonical_document(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "flow")
    (tmp_path / "flow" / "workflow.yaml").unlink()
    shutil.copy(CANONICAL, tmp_path / "flow" / "workflow.json")
    assert check(tmp_path / "flow").digest == check(EXAMPLE).digest


def test_start_and_end_are_added_where_the_file_leaves_them_out(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, "  a: {kind: delay, for: 1h}\n")
    assert [node["id"] for node in graph["nodes"]] == ["start", "a", "end"]
    assert edges_of(graph) == ["start.success > a", "a.completed > end"]


def test_start_and_end_of_the_file_stay(tmp_path: Path) -> None:
    nodes = "  begin: {kind: start}\n  a: {kind: delay, for: 1h, next: done}\n  done: {kind: end}\n"
    graph = graph_of(tmp_path, nodes)
    assert [node["id"] for node in graph["nodes"]] == ["begin", "a", "done"]
    assert edges_of(graph) == ["begin.success > a", "a.completed > done"]


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("7d", 604_800), ("24h", 86_400), ("90s", 90), ("1h30m", 5_400), ("1.5h", 5_400), ("500ms", 0.5)],
)
def test_durations_become_seconds(tmp_path: Path, written: str, seconds: float) -> None:
    fields = f"    kind: wait_for_event\n    event_types: [x.y]\n    timeout: {written}\n    due: {written}\n"
    node = node_of(tmp_path, fields)
    assert (node["timeout_seconds"], node["due_seconds"]) == (seconds, seconds)
    assert node_of(tmp_path, f"    kind: delay\n    for: {written}\n")["config"] == {"for_seconds": seconds}


@pytest.mark.parametrize(
    ("written", "cel"),
    [
        ("=input.a.b", "input.a.b"),
        ("text", '"text"'),
        ("'say \"yes\"'", '"say \\"yes\\""'),
        ("off", '"off"'),
        ("2026-01-01", '"2026-01-01"'),
        ("20", "20"),
        ("-2.5", "-2.5"),
        ("true", "true"),
        ("null", "null"),
        ("[]", "[]"),
        ("[1, x]", '[1, "x"]'),
        ("{a: =input.b, c: 1}", '{"a": (input.b), "c": 1}'),
        ("|-\n        a\n        b", '"a\\nb"'),
        ("'=\"=\"'", '"="'),
    ],
)
def test_what_starts_with_an_equals_sign_is_cel_and_the_rest_is_literal(
    tmp_path: Path, written: str, cel: str
) -> None:
    fields = f"    kind: decision\n    with:\n      outcome: {written}\n"
    assert node_of(tmp_path, fields)["input_mapping"] == {"outcome": cel}


def test_cases_are_always_cel_in_their_order(tmp_path: Path) -> None:
    fields = "    kind: condition\n    cases:\n      z: input.score > 5\n      b: 'true'\n      c: true\n"
    config = node_of(tmp_path, fields)["config"]
    assert config == {
        "cases": [
            {"port": "z", "when": "input.score > 5"},
            {"port": "b", "when": "true"},
            {"port": "c", "when": "true"},
        ]
    }


def test_a_correlation_key_may_be_an_expression_or_a_literal(tmp_path: Path) -> None:
    fields = "    kind: wait_for_event\n    event_types: [x.y]\n    timeout: 1h\n    correlation_key: {}\n"
    assert node_of(tmp_path, fields.format("=input.id"))["config"]["correlation_key"] == "input.id"
    assert node_of(tmp_path, fields.format("fixed"))["config"]["correlation_key"] == '"fixed"'


def test_a_poll_is_written_with_an_expression_and_a_duration(tmp_path: Path) -> None:
    fields = "    kind: enrichment\n    component_id: x\n    poll: {until: =result.done, interval: 30s, attempts: 5}\n"
    assert node_of(tmp_path, fields)["config"] == {
        "component_id": "x",
        "poll": {"until": "result.done", "interval_seconds": 30, "attempts": 5},
    }


def test_an_instant_stays_what_it_is(tmp_path: Path) -> None:
    fields = "    kind: delay\n    until: {}\n"
    assert node_of(tmp_path, fields.format("2026-01-01T00:00:00Z"))["config"] == {
        "until": "2026-01-01T00:00:00Z"
    }
    assert node_of(tmp_path, fields.format("=input.at"))["config"] == {"until": "input.at"}


def test_without_next_every_ordinary_port_leads_to_the_next_node_of_the_file(tmp_path: Path) -> None:
    form(tmp_path, "f", "yes", "no")
    nodes = (
        "  a: {kind: human_task, queue_id: q, form: f, timeout: 1h, next: {timeout: c, '*': b}}\n"
        "  b: {kind: human_task, queue_id: q, form: f, timeout: 1h}\n"
        "  c: {kind: delay, for: 1h}\n"
    )
    assert edges_of(graph_of(tmp_path, nodes)) == [
        "start.success > a", "a.yes > b", "a.no > b", "a.timeout > c",
        "b.yes > c", "b.no > c",
        "c.completed > end",
    ]  # fmt: skip


def test_what_went_wrong_is_led_on_only_by_name(tmp_path: Path) -> None:
    nodes = "  a: {kind: enrichment, component_id: x, next: b}\n  b: {kind: delay, for: 1h}\n"
    assert "a.error > b" not in edges_of(graph_of(tmp_path, nodes))
    nodes = nodes.replace("next: b", "next: {error: end}")
    assert edges_of(graph_of(tmp_path, nodes))[1:3] == ["a.success > b", "a.error > end"]
    nodes = nodes.replace("{error: end}", "{'*': b}")
    assert edges_of(graph_of(tmp_path, nodes))[1:3] == ["a.success > b", "a.error > b"]


def test_defaults_reach_the_nodes_that_say_nothing_else(tmp_path: Path) -> None:
    head = HEAD.replace(
        "nodes:\n",
        "defaults: {on_error: late, retry: {max_attempts: 5, initial_backoff: 2s}, timeout: 2d}\nnodes:\n",
    )
    nodes = (
        "  ask: {kind: enrichment, component_id: x}\n"
        "  again: {kind: enrichment, component_id: x, retry: {max_attempts: 1}}\n"
        "  wait: {kind: wait_for_event, event_types: [x.y], next: {timeout: late, received: end}}\n"
        "  tell: {kind: send_message, connector_id: m, recovery: manual, with: {template: t}}\n"
        "  late: {kind: enrichment, component_id: x}\n"
    )
    graph = graph_of(tmp_path, nodes, head)
    node = {entry["id"]: entry for entry in graph["nodes"]}
    assert node["ask"]["retry"] == {"max_attempts": 5, "initial_backoff_seconds": 2}
    assert node["again"]["retry"] == {"max_attempts": 1}
    # An effect keeps the outbox's schedule unless the node itself says less.
    assert "retry" not in node["tell"]
    assert node["wait"]["timeout_seconds"] == 172_800
    assert [edge for edge in edges_of(graph) if ".error" in edge] == [
        "ask.error > late", "again.error > late", "tell.error > late",
    ]  # fmt: skip


def test_branches_may_name_where_they_lead(tmp_path: Path) -> None:
    nodes = (
        "  fork: {kind: parallel, branches: {left: a, right: b}}\n"
        "  a: {kind: delay, for: 1h, next: meet}\n"
        "  b: {kind: delay, for: 2h}\n"
        "  meet: {kind: join}\n"
    )
    graph = graph_of(tmp_path, nodes)
    assert graph["nodes"][1]["config"] == {"branches": ["left", "right"]}
    assert edges_of(graph)[1:5] == [
        "fork.left > a", "fork.right > b", "a.completed > meet", "b.completed > meet",
    ]  # fmt: skip


def test_forms_are_named_referenced_or_written_on_the_spot(tmp_path: Path) -> None:
    form(tmp_path, "f", "yes")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "g.yaml").write_text("properties: {outcome: {enum: [no]}}\n")
    task = "kind: human_task, queue_id: q, timeout: 1h"
    nodes = (
        f"  a: {{{task}, form: f}}\n"
        f"  b: {{{task}, form: {{$ref: forms/f.json}}}}\n"
        f"  c: {{{task}, form: {{$ref: shared/g.yaml}}}}\n"
        f"  d: {{{task}, form: {{properties: {{outcome: {{enum: [maybe]}}}}}}}}\n"
    )
    graph = graph_of(tmp_path, nodes)
    assert [node["config"]["form"] for node in graph["nodes"][1:-1]] == ["f", "f", "g", "d"]
    forms = load_bundle(tmp_path)["forms"]
    assert {name: found["properties"]["outcome"]["enum"] for name, found in forms.items()} == {
        "f": ["yes"],
        "g": ["no"],
        "d": ["maybe"],
    }


def test_policies_and_messages_come_in_by_their_files(tmp_path: Path) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "spam.md").write_text("# Spam\n")
    (tmp_path / "messages").mkdir()
    (tmp_path / "messages" / "hello.yaml").write_text("subject: off\nbody: |\n  Hello {{name}}\n")
    graph_of(tmp_path, "  a: {kind: delay, for: 1h}\n")
    bundle = read_folder(tmp_path).bundle
    assert bundle["policies"] == {"spam": "# Spam\n"}
    assert bundle["messages"] == {"hello": {"subject": "off", "body": "Hello {{name}}\n"}}


def test_a_graph_of_five_thousand_nodes_is_built(tmp_path: Path) -> None:
    nodes = "".join(f"  n{i}: {{kind: delay, for: 1h}}\n" for i in range(5_000))
    graph = graph_of(tmp_path, nodes)
    assert (len(graph["nodes"]), len(graph["edges"])) == (5_002, 5_001)


def test_a_linked_run_that_is_awaited_takes_the_timeout_of_the_defaults(tmp_path: Path) -> None:
    head = HEAD.replace("nodes:\n", "defaults: {timeout: 2d, due: 1d}\nnodes:\n")
    fields = "    kind: start_linked_workflow\n    workflow_key: other\n"
    awaited = node_of(tmp_path, fields + "    await: true\n", head)
    assert awaited["config"] == {"workflow_key": "other", "await": True}
    assert awaited["timeout_seconds"] == 172_800
    assert "due_seconds" not in awaited
    assert "timeout_seconds" not in node_of(tmp_path, fields, head)
