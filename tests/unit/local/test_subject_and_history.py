"""The example component answers the same for the same subject, and as its schema says."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from casegraph.application.ports import ComponentRequest
from casegraph.errors import NodeFailed
from casegraph.local.bundled import bundled
from casegraph.local.subject_and_history import OUTPUT_SCHEMA, subject_and_history

RECORD = {"uri": "at://did:example:baker/app.example.feed.post/3k", "cid": "bafyexample"}


def ask(**given: Any) -> Any:
    return subject_and_history(ComponentRequest("subject-and-history", "run", "step", given, 10)).result


@pytest.mark.parametrize("subject", [RECORD, *({"did": f"did:example:person-{n}"} for n in range(20))])
def test_the_answer_is_as_the_schema_says_and_always_the_same(subject: dict[str, str]) -> None:
    answer = ask(subject=subject)
    jsonschema.validate(answer, OUTPUT_SCHEMA)
    assert ask(subject=subject) == answer


def test_a_record_has_the_account_of_its_author() -> None:
    assert ask(subject=RECORD)["account"] == ask(subject={"did": "did:example:baker"})["account"]
    assert (ask(subject=RECORD)["kind"], ask(subject={"did": "did:example:baker"})["kind"]) == (
        "record",
        "account",
    )


def test_the_history_is_no_longer_than_asked_for() -> None:
    longest = max(
        (f"did:example:{n}" for n in range(20)), key=lambda did: len(ask(subject={"did": did})["history"])
    )
    assert len(ask(subject={"did": longest})["history"]) > 1
    assert len(ask(subject={"did": longest}, limit=1)["history"]) == 1


@pytest.mark.parametrize(
    "subject", [None, "did:example:baker", {}, {"uri": "https://example.org"}, {"did": 7}]
)
def test_a_subject_that_is_none_fails_with_a_code(subject: Any) -> None:
    with pytest.raises(NodeFailed) as caught:
        ask(subject=subject)
    assert (caught.value.code, caught.value.retryable) == ("subject_unreadable", False)


def test_the_example_workflow_has_this_schema() -> None:
    file = bundled("workflows/illegal-content-notice") / "components" / "subject-and-history.json"
    assert json.loads(file.read_text()) == {"output_schema": OUTPUT_SCHEMA}
