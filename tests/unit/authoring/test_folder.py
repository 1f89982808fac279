"""A workflow folder becomes one bundle; what is wrong in a file is named with the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from casegraph.authoring.folder import load_bundle, read_folder
from casegraph.errors import InvalidInput
from casegraph.local.bundled import bundled

EXAMPLE = bundled("workflows/illegal-content-notice")


def write(folder: Path, file: str, value: Any) -> None:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


def problem_of(folder: Path) -> tuple[str, str]:
    (problem,) = read_folder(folder).problems
    return str(problem.place), problem.code


def test_the_example_is_one_bundle_with_everything_inlined() -> None:
    bundle = load_bundle(EXAMPLE)
    assert set(bundle) == {"graph", "forms", "messages", "components"}
    assert bundle["graph"]["input_schema"]["required"] == ["reasonType", "subject", "reportedBy"]
    assert bundle["graph"]["event_schemas"]["notice.completed"]["required"] == ["explanation"]
    assert set(bundle["forms"]) == {"notice-review"}
    assert set(bundle["messages"]) == {"ask-notifier", "notifier-outcome"}
    assert "$ref" not in json.dumps(bundle)


def test_the_file_may_be_named_instead_of_the_folder() -> None:
    assert load_bundle(EXAMPLE / "workflow.yaml") == load_bundle(EXAMPLE)


def test_places_of_the_bundle_are_places_in_files() -> None:
    folder = read_folder(EXAMPLE)
    assert str(folder.places.find("/graph/input_schema/required/0")) == "schemas/notice.json:3:16"
    event = folder.places.find("/graph/event_schemas/notice.completed/properties/explanation/maxLength")
    assert str(event) == "schemas/notice-completed.json:5:52"
    assert str(folder.places.find("/forms/notice-review/title")) == "forms/notice-review.json:3:12"


def test_a_folder_without_a_graph_says_so(tmp_path: Path) -> None:
    assert problem_of(tmp_path) == ("workflow.yaml:1:1", "file_missing")


def test_a_folder_with_both_is_read_by_its_yaml(tmp_path: Path) -> None:
    write(tmp_path, "workflow.json", {"key": "from_json"})
    write(tmp_path, "workflow.yaml", "key: from_yaml\nnodes: {}\n")
    assert load_bundle(tmp_path)["graph"]["key"] == "from_yaml"
    assert load_bundle(tmp_path / "workflow.json")["graph"]["key"] == "from_json"


def test_malformed_json_has_line_and_column(tmp_path: Path) -> None:
    write(tmp_path, "workflow.json", '{"key": 1,\n  oops}')
    assert problem_of(tmp_path) == ("workflow.json:2:3", "malformed_json")


def test_a_schema_that_is_not_there_is_named_where_it_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path, "workflow.json", {"event_schemas": {"a/b": {"$ref": "schemas/none.json"}}})
    assert problem_of(tmp_path) == ("workflow.json:1:20", "file_missing")


@pytest.mark.parametrize("file", ["../secret.json", "/etc/hosts", "schemas/../../secret.json"])
def test_a_reference_out_of_the_folder_is_refused(tmp_path: Path, file: str) -> None:
    write(tmp_path, "secret.json", {"type": "object"})
    write(tmp_path / "flow", "workflow.json", {"input_schema": {"$ref": file}})
    assert problem_of(tmp_path / "flow") == ("workflow.json:1:2", "ref_outside")


def test_every_problem_is_reported_at_once(tmp_path: Path) -> None:
    write(tmp_path, "workflow.json", "[")
    write(tmp_path, "forms/a.json", "{")
    write(tmp_path, "messages/b.json", "nope")
    with pytest.raises(InvalidInput) as caught:
        load_bundle(tmp_path)
    files = [problem["file"] for problem in caught.value.details["problems"]]
    assert files == ["forms/a.json", "messages/b.json", "workflow.json"]


def test_json_too_deep_to_read_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    write(tmp_path, "workflow.json", "[" * 100_000)
    assert problem_of(tmp_path) == ("workflow.json:1:1", "unreadable")
