"""The demo's reports are what the demo promises: thirty, createReport's shape, all cases, nobody real."""

from __future__ import annotations

import json
from collections import Counter

import jsonschema
import pytest

from casegraph.local.bundled import bundled
from casegraph.local.demo.driver import Outcome
from casegraph.local.demo.reports import WORKFLOW_FOLDER, DemoReport, load_reports
from casegraph.local.demo.reviewers import decide
from casegraph.local.demo.workflow import example_bundle, short_bundle

REPORTS = load_reports()
# complete_enough asks for more below this length.
ENOUGH_CHARACTERS = 30


def test_there_are_thirty_of_several_reason_types() -> None:
    assert len(REPORTS) == 30
    reasons = Counter(report.content["reasonType"] for report in REPORTS)
    assert len(reasons) >= 8
    assert all(reason.startswith("tools.ozone.report.defs#reason") for reason in reasons)


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: str(report.index))
def test_each_has_createreports_shape_and_names_nobody_real(report: DemoReport) -> None:
    schema = json.loads((bundled(WORKFLOW_FOLDER) / "schemas" / "notice.json").read_text())
    jsonschema.validate(report.content, schema)
    assert set(report.content["subject"]) in ({"did"}, {"uri", "cid"})
    assert "did:example:" in report.subject_key
    assert report.content["reportedBy"].startswith("did:example:")


def test_incomplete_ones_are_completed_or_time_out() -> None:
    incomplete = [r for r in REPORTS if len(r.content["reason"]) < ENOUGH_CHARACTERS]
    assert Counter("timeout" if r.times_out else r.completed_by for r in incomplete) == {
        "run": 3,
        "key": 2,
        "timeout": 1,
    }
    assert [r for r in REPORTS if r not in incomplete and (r.completed_by or r.times_out)] == []
    assert all(len(r.explanation) >= ENOUGH_CHARACTERS for r in incomplete if r.completed_by)


def test_what_merges_is_on_the_subject_of_an_earlier_report() -> None:
    merging = [r for r in REPORTS if r.merges_into is not None]
    assert len(merging) == 4
    for report in merging:
        into = REPORTS[report.merges_into or 0]
        assert into.index < report.index
        assert (into.subject_key, into.queue_id, into.expected) == (
            report.subject_key,
            report.queue_id,
            report.expected,
        )
    assert len({r.subject_key for r in REPORTS}) == len(REPORTS) - len(merging)


def test_the_reviewers_decide_what_is_expected() -> None:
    for report in REPORTS:
        if not report.times_out:
            assert decide(report.content["reasonType"])["outcome"] == report.expected, report.index
    assert {r.expected for r in REPORTS} == {"remove", "restrict", "none", "escalated"}


def test_the_reviewers_fill_the_form_of_the_workflow() -> None:
    form = json.loads((bundled(WORKFLOW_FOLDER) / "forms" / "notice-review.json").read_text())
    for report in REPORTS:
        jsonschema.validate(decide(report.content["reasonType"]), form)


def test_the_short_copy_differs_in_its_name_and_one_timeout_only() -> None:
    ours, short = example_bundle(), short_bundle(5)
    changed = {
        name for name in ours["graph"] if name != "nodes" and ours["graph"][name] != short["graph"][name]
    }
    assert changed == {"key", "name"}
    nodes = [(a, b) for a, b in zip(ours["graph"]["nodes"], short["graph"]["nodes"], strict=True) if a != b]
    ((before, after),) = nodes
    assert after == {**before, "timeout_seconds": 5}
    assert before["timeout_seconds"] == 7 * 86_400


@pytest.mark.parametrize(
    ("state", "decision", "code", "expected", "right"),
    [
        ("succeeded", "remove", "complete", "remove", True),
        ("succeeded", "escalated", "escalated", "escalated", True),
        ("succeeded", "escalated", "complete", "escalated", False),
        ("succeeded", "none", "complete", "remove", False),
        ("waiting", "remove", "", "remove", False),
        ("failed", "remove", "complete", "remove", False),
    ],
)
def test_a_run_is_as_expected_only_with_state_decision_and_end(
    state: str, decision: str, code: str, expected: str, right: bool
) -> None:
    assert Outcome("run-1", 1, state, decision, code, expected).as_expected is right
