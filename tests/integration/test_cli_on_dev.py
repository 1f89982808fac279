"""A newcomer's way through docs/tutorials/first-run.md, command by command, on a real `casegraph dev`."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from casegraph.cli.exits import Exit
from casegraph.local.aws_process import free_port
from casegraph.local.bundled import bundled
from tests.integration.dev_process import DevProcess, casegraph

pytestmark = [pytest.mark.local_aws, pytest.mark.slow, pytest.mark.timeout(300)]

EXAMPLE = str(bundled("workflows/illegal-content-notice"))
QUEUE = "illegal-content"
OTHER = "tools.ozone.report.defs#reasonOther"
CASE = 'harmless: input.reasonType.endsWith("reasonOther")'
NEXT = "next: {incomplete: ask_notifier, harmless: close_harmless"
DECISION = """\
  close_harmless:
    kind: decision
    with: {outcome: none, policies: [], reason: no rule is about this}
    next: end
"""
SPAM = "tools.ozone.report.defs#reasonMisleadingSpam"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with a running `casegraph dev`, the example published and pinned."""
    directory = tmp_path_factory.mktemp("home")
    dev = DevProcess(directory, free_port())
    dev.start()
    dev.wait_until_it_answers()
    casegraph(directory, "connector", "put", "mail", "--kind", "recorder")
    published = casegraph(directory, "publish", EXAMPLE)
    casegraph(directory, "queue", "put", QUEUE, "--name", "Illegal content", "--merge", "subject")
    casegraph(directory, "queue", "pin", QUEUE, published["key"], str(published["version"]))
    yield directory
    assert dev.end() == 0, dev.output


def report(home: Path, name: str, reason: str, reason_type: str = SPAM, **more: Any) -> Any:
    did = f"did:example:{name}"
    content = {
        "reasonType": reason_type,
        "reason": reason,
        "subject": {"did": did},
        "reportedBy": "did:example:me",
    }
    body = {"queue_id": QUEUE, "subject_key": did, "content": content, **more}
    return casegraph(home, "report", "send", json.dumps(body))


def eventually(ask: Callable[[], Any], reached: Callable[[Any], bool]) -> Any:
    deadline = time.monotonic() + 30
    while True:
        answer = ask()
        if reached(answer):
            return answer
        assert time.monotonic() < deadline, answer
        time.sleep(0.3)


def stands_at(home: Path, run_id: str, step: str) -> Any:
    return eventually(
        lambda: casegraph(home, "run", "why", run_id),
        lambda why: step in [w["step"] for w in why["waits_for"]],
    )


def ended(home: Path, run_id: str) -> Any:
    return eventually(lambda: casegraph(home, "run", "show", run_id), lambda run: run["state"] == "succeeded")


def test_i_am_who_the_context_says_or_whom_i_name(home: Path) -> None:
    assert casegraph(home, "me")["subject"] == "admin"
    reviewer = casegraph(home, "me", "--as", "reviewer-1")
    assert (reviewer["subject"], reviewer["roles"], reviewer["queues"]) == (
        "reviewer-1",
        ["reviewer"],
        ["*"],
    )


def test_a_report_is_decided_by_a_reviewer_and_the_log_holds(home: Path) -> None:
    sent = report(home, "gnome-shop", "The same advertisement was posted forty times.")
    why = stands_at(home, sent["run_id"], "review#1")
    assert "a reviewer of queue illegal-content" in why["sentence"]
    task = casegraph(home, "task", "next", "--queue", QUEUE, "--as", "reviewer-1")
    assert (task["state"], task["claimed_by"], task["report_id"]) == (
        "claimed",
        "reviewer-1",
        sent["report_id"],
    )
    decision = json.dumps({"outcome": "remove", "facts": "Seen forty times."})
    done = casegraph(home, "task", "complete", task["task_id"], decision, "--as", "reviewer-1")
    assert (done["outcome"], done["completed_by"]) == ("remove", "reviewer-1")
    run = ended(home, sent["run_id"])
    assert [step["step"] for step in run["steps"]][-3:] == ["record#1", "tell_notifier#1", "end#1"]
    assert casegraph(home, "run", "log", sent["run_id"])["chain"] == {"verified": True, "faults": []}
    refused = casegraph(
        home, "task", "complete", task["task_id"], decision, "--as", "reviewer-2", code=Exit.REFUSED
    )
    assert (refused["error"]["code"], refused["error"]["details"]["who"]) == ("task_completed", "reviewer-1")


def test_an_incomplete_report_waits_for_its_notifier_and_goes_on_with_the_answer(home: Path) -> None:
    sent = report(home, "quiet-shop", "Look.")
    stands_at(home, sent["run_id"], "await_completion#1")
    answer = json.dumps({"explanation": "The shop sells the same gnome under ten names, see its page."})
    casegraph(home, "event", "send", "notice.completed", answer, "--key", sent["report_id"])
    stands_at(home, sent["run_id"], "review#1")


def test_a_second_report_on_the_subject_joins_the_run(home: Path) -> None:
    first = report(home, "echo-shop", "The shop repeats each answer a hundred times a day.")
    second = report(home, "echo-shop", "It repeats itself, I have counted eighty answers.")
    assert (second["merged"], second["run_id"]) == (True, first["run_id"])
    listed = casegraph(home, "run", "list", "--report", second["report_id"])["items"]
    assert [run["run_id"] for run in listed] == [first["run_id"]]


def test_a_paused_run_stands_still_until_it_is_resumed_and_a_terminated_one_ends(home: Path) -> None:
    sent = report(home, "slow-shop", "The shop answers after a year, and then with an advertisement.")
    stands_at(home, sent["run_id"], "review#1")
    assert casegraph(home, "run", "pause", sent["run_id"], "--reason", "lunch")["state"] == "paused"
    assert casegraph(home, "run", "show", sent["run_id"])["state"] == "paused"
    casegraph(home, "run", "resume", sent["run_id"], "--reason", "lunch is over")
    stands_at(home, sent["run_id"], "review#1")
    casegraph(home, "run", "terminate", sent["run_id"], "--reason", "a test")
    run = casegraph(home, "run", "show", sent["run_id"])
    assert run["state"] == "terminated"


def test_a_changed_graph_runs_and_the_old_runs_keep_theirs(home: Path) -> None:
    old = report(home, "old-shop", "The shop sells old bread as new, every single morning.")
    _changed_workflow(home / "my-workflow")
    assert casegraph(home, "validate", "my-workflow")["valid"] is True
    published = casegraph(home, "publish", "my-workflow")
    casegraph(home, "queue", "pin", QUEUE, published["key"], str(published["version"]))
    harmless = report(
        home,
        "new-shop",
        "The shop has a door that is a little bit too green.",
        "tools.ozone.report.defs#reasonOther",
    )
    run = ended(home, harmless["run_id"])
    assert (run["workflow_key"], run["steps"][-2]["step"]) == ("my_notice", "close_harmless#1")
    assert casegraph(home, "run", "show", old["run_id"])["workflow_key"] == "illegal_content_notice"


def test_a_wrong_graph_is_refused_with_file_and_place_and_nothing_is_published(home: Path) -> None:
    folder = home / "wrong-workflow"
    _changed_workflow(folder, key="wrong_notice")
    _edit(folder, "harmless: close_harmless, ", "")
    for command in ("validate", "publish"):
        refused = casegraph(home, command, "wrong-workflow", code=Exit.REFUSED)["error"]
        problems = refused["details"]["problems"]
        places = {p["code"]: (p["file"], p["line"] > 1) for p in problems}
        assert places["unwired_port"] == ("wrong-workflow/workflow.yaml", True), problems
    assert (
        casegraph(home, "run", "start", "wrong_notice", code=Exit.REFUSED)["error"]["code"]
        == "workflow_not_found"
    )


def test_what_is_asked_for_and_is_not_there_is_refused(home: Path) -> None:
    assert casegraph(home, "run", "show", "run-0", code=Exit.REFUSED)["error"]["code"] == "run_not_found"
    assert casegraph(home, "me", "--as", "nobody", code=Exit.REFUSED)["error"]["code"] == "person_unknown"
    nothing = casegraph(home, "task", "next", "--queue", "empty-queue", code=Exit.NOT_REACHED)
    assert nothing["error"]["code"] == "no_task"
    forbidden = casegraph(home, "publish", EXAMPLE, "--as", "reviewer-1", code=Exit.REFUSED)
    assert forbidden["error"]["code"] == "role_missing"


def test_everything_is_there_after_a_restart(tmp_path: Path) -> None:
    dev = DevProcess(tmp_path, free_port())
    dev.start()
    dev.wait_until_it_answers()
    published = casegraph(tmp_path, "publish", EXAMPLE)
    casegraph(tmp_path, "queue", "put", QUEUE, "--name", "Illegal content")
    casegraph(tmp_path, "queue", "pin", QUEUE, published["key"], "1")
    sent = report(tmp_path, "kept-shop", "The shop keeps its promises, which is what I report.")
    stands_at(tmp_path, sent["run_id"], "review#1")
    assert dev.end() == 0, dev.output
    assert casegraph(tmp_path, "me", code=Exit.NO_CONNECTION)["error"]["code"] == "no_connection"
    dev.start()
    dev.wait_until_it_answers()
    task = casegraph(tmp_path, "task", "next", "--queue", QUEUE, "--as", "reviewer-2")
    decision = json.dumps({"outcome": "none", "facts": "Nothing is wrong."})
    casegraph(tmp_path, "task", "complete", task["task_id"], decision, "--as", "reviewer-2")
    ended(tmp_path, sent["run_id"])
    assert dev.end() == 0, dev.output


def _changed_workflow(folder: Path, key: str = "my_notice") -> None:
    """The change that the tutorial makes."""
    shutil.copytree(EXAMPLE, folder)
    _edit(folder, "key: illegal_content_notice", f"key: {key}")
    before = "    max_visits: 3\n    next: {incomplete: ask_notifier"
    _edit(folder, before, f"      {CASE}\n    max_visits: 3\n    {NEXT}")
    _edit(folder, "  escalate:\n", f"{DECISION}  escalate:\n")


def _edit(folder: Path, old: str, new: str) -> None:
    source = folder / "workflow.yaml"
    text = source.read_text()
    assert text.count(old) == 1, old
    source.write_text(text.replace(old, new))
