"""Cases of a workflow folder run in virtual time; what does not hold is told with its place."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from casegraph.authoring.case_file import read_cases
from casegraph.authoring.check import check
from casegraph.cli.main import app
from casegraph.local.bundled import bundled
from casegraph.testing.cases import run_case

WORKFLOWS = sorted(path.parent for path in bundled("workflows").glob("*/workflow.yaml"))
FLOW = """\
schema_version: 1
key: small
purpose: operations
authority: assist
input_schema: {type: object, properties: {name: {type: string}}}
nodes:
  ask:
    kind: human_task
    queue_id: q
    form: {properties: {outcome: {enum: [good, bad]}}, required: [outcome]}
    timeout: 1d
    next: {'*': record}
  record:
    kind: decision
    with: {outcome: '=nodes.ask.?outcome.orValue("nobody")'}
"""
CASE = """\
input: {name: x}
steps:
  - +3h
  - complete: ask
    response: {outcome: good}
expect:
  path: [ask.good, record, end]
  decisions: [{outcome: good}]
"""


def folder_with(folder: Path, case: str, flow: str = FLOW) -> Path:
    (folder / "cases").mkdir()
    (folder / "workflow.yaml").write_text(flow)
    (folder / "cases" / "one.yaml").write_text(case)
    return folder


def failures_of(folder: Path, case: str) -> list[str]:
    checked = check(folder_with(folder, case))
    (file,) = read_cases(checked.folder)
    result = run_case(file, checked.required())
    return [f"{p.place.line}:{p.place.column} {p.code}: {p.message}" for p in result.failures]


def problems_of(folder: Path, case: str) -> list[str]:
    checked = check(folder_with(folder, case))
    read_cases(checked.folder)
    return [f"{p.place.line}:{p.place.column} {p.code}: {p.message}" for p in checked.folder.problems]


@pytest.mark.parametrize("folder", WORKFLOWS, ids=lambda path: path.name)
def test_the_cases_of_the_shipped_workflows_hold_and_take_every_edge(folder: Path) -> None:
    result = CliRunner().invoke(app, ["test", str(folder), "--coverage", "100"])
    assert result.exit_code == 0, result.output


def test_a_case_that_holds_passes(tmp_path: Path) -> None:
    assert failures_of(tmp_path, CASE) == []


@pytest.mark.parametrize(
    ("before", "after", "failure"),
    [
        ("[ask.good,", "[ask.bad,", "7:10 case_failed: step 1 of the path is ask.good, not ask.bad; "
         "path: ask.good, record.recorded, end"),
        ("record, end]", "record]", "7:3 case_failed: the path goes on: end"),
        ("{outcome: good}]", "{outcome: bad}]", None),
        ("+3h", "+25h", "4:5 no_open_task: 'ask' has no open task; the run is succeeded"),
        ("{outcome: good}\nexpect", "{outcome: fine}\nexpect", "5:5 schema_mismatch: 'fine' is not one of "
         "['good', 'bad'] (at outcome)"),
        ("{name: x}", "{name: 3}", "1:1 schema_mismatch: 3 is not of type 'string' (at name)"),
        ("expect:\n", "expect:\n  state: waiting\n", "7:10 case_failed: the run is succeeded, not waiting; "
         "path: ask.good, record.recorded, end"),
        ("expect:\n", "expect:\n  effects: [{connector: mail}]\n", "7:13 case_failed: it did not come"),
    ],
)  # fmt: skip
def test_what_does_not_hold_is_told_with_its_place(
    tmp_path: Path, before: str, after: str, failure: str | None
) -> None:
    found = failures_of(tmp_path, CASE.replace(before, after))
    assert found != []
    if failure is not None:
        assert found == [failure]


def test_time_passes_and_timers_fire_in_order(tmp_path: Path) -> None:
    case = "steps: [+23h, +2h]\nexpect: {path: [ask.timeout, record, end], decisions: [{outcome: nobody}]}\n"
    assert failures_of(tmp_path, case) == []


def test_where_it_waits_can_be_expected(tmp_path: Path) -> None:
    assert failures_of(tmp_path, "expect: {state: waiting, waiting: [ask], path: []}\n") == []


def test_a_refusal_can_be_expected(tmp_path: Path) -> None:
    late = "{complete: ask, response: {outcome: good}, refused: task_expired}"
    assert failures_of(tmp_path, f"steps: [+1d, {late}]\nexpect: {{}}\n") == []


def test_a_refusal_that_does_not_come_is_a_failure(tmp_path: Path) -> None:
    early = "{complete: ask, response: {outcome: good}, refused: task_expired}"
    found = failures_of(tmp_path, f"steps: [{early}]\nexpect: {{}}\n")
    assert found == ["1:61 case_failed: it was not refused as task_expired"]


def test_an_operator_may_end_the_run(tmp_path: Path) -> None:
    assert failures_of(tmp_path, "steps: [{operator: terminate}]\nexpect: {state: terminated}\n") == []


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ("steps: []\n", "1:1 missing_field: field 'expect' is missing"),
        ("expect: {paths: []}\n", "1:10 unknown_field: there is no field 'paths' here"),
        ("steps: [+3x]\nexpect: {}\n", "1:9 invalid_value: '3x' is no duration; write it like +3d or +90s"),
        ("steps: [3]\nexpect: {}\n", "1:9 invalid_value: a step is a span of time (+3d) or has one of: "
         "complete, event, report, wait, operator"),
        ("steps: [{complete: ask}]\nexpect: {}\n", "1:9 missing_field: field 'response' is missing"),
        ("steps: [{event: a.b, payload: =x[0]}]\nexpect: {}\n", "1:31 unquoted_expression: "
         "YAML would misread this expression"),
    ],
)  # fmt: skip
def test_a_case_that_cannot_be_read_says_where(tmp_path: Path, case: str, problem: str) -> None:
    assert problems_of(tmp_path, case) == [problem]


def test_edges_that_no_case_takes_are_listed(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["test", str(folder_with(tmp_path, CASE)), "--json"])
    assert result.exit_code == 0
    (workflow,) = json.loads(result.stdout)["workflows"]
    assert workflow["cases"] == {"one": {"passed": True, "failures": []}}
    assert workflow["coverage"]["untaken"] == ["ask.bad > record", "ask.timeout > record"]
    assert (workflow["coverage"]["edges"], workflow["coverage"]["taken"]) == (5, 3)


def test_a_failing_case_is_exit_code_1(tmp_path: Path) -> None:
    folder_with(tmp_path, CASE.replace("[ask.good,", "[ask.bad,"))
    result = CliRunner().invoke(app, ["test", str(tmp_path)])
    assert result.exit_code == 1
    assert "cases/one.yaml:7:10" in result.stderr


def test_too_little_coverage_is_exit_code_1(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["test", str(folder_with(tmp_path, CASE)), "--coverage", "80"])
    assert (result.exit_code, "coverage_low" in result.stderr) == (1, True)


def test_components_and_connectors_answer_in_turn(tmp_path: Path) -> None:
    flow = FLOW.partition("nodes:")[0] + (
        "nodes:\n"
        "  look: {kind: enrichment, component_id: lookup, retry: {max_attempts: 2}, next: {error: end}}\n"
        "  tell:\n"
        "    kind: send_message\n"
        "    connector_id: mail\n"
        "    recovery: idempotent\n"
        "    with: {template: hello, to: '=string(nodes.look.who)'}\n"
        "    next: {error: end}\n"
    )
    (tmp_path / "messages").mkdir()
    (tmp_path / "messages" / "hello.json").write_text('{"body": "Hello"}')
    case = (
        "components: {lookup: [{retry: busy}, {result: {who: someone}}]}\n"
        "connectors: {mail: [{retry: busy}, applied]}\n"
        "steps: [+1h]\n"
        "expect:\n"
        "  path: [look.success, tell.sent, end]\n"
        "  effects: [{connector: mail, to: someone}]\n"
    )
    checked = check(folder_with(tmp_path, case, flow))
    (file,) = read_cases(checked.folder)
    assert [str(p) for p in run_case(file, checked.required()).failures] == []


def test_the_package_runs_its_cases_from_anywhere(tmp_path: Path) -> None:
    shutil.copytree(WORKFLOWS[0], tmp_path / "copy")
    assert CliRunner().invoke(app, ["test", str(tmp_path)]).exit_code == 0
