"""S42: API Gateway hands a list claim over as one string; roles and queues are whole words, or nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.http.harness import Api, review_bundle


def caller(roles: Any, queues: Any) -> dict[str, Any]:
    """Claims as the gateway gives them: strings already."""
    return {"sub": "anna", "casegraph_roles": roles, "casegraph_queues": queues}


@pytest.fixture(scope="module")
def api() -> Api:
    api = Api()
    api.queue("inbox", graph=review_bundle())
    api.report("inbox", "s")
    api.world.settle()
    return api


def test_a_list_claim_in_one_string_opens_what_it_names(api: Api) -> None:
    by = caller("[viewer reviewer]", "[archive inbox]")
    assert len(api.get("/v1/tasks?queue_id=inbox", by=by).body["items"]) == 1
    assert api.get("/v1/me", by=by).body["roles"] == ["reviewer", "viewer"]


@pytest.mark.parametrize(
    "roles", ["[reviewers]", "[review]", "[superreviewer]", "[xreviewer viewerx]", "[Reviewer]"]
)
def test_a_role_named_like_part_of_another_grants_nothing(api: Api, roles: str) -> None:
    answer = api.post("/v1/tasks/next", {"queue_id": "inbox"}, by=caller(roles, "[inbox]"))
    assert (answer.status, answer.code) == (403, "role_missing")


@pytest.mark.parametrize("queues", ["[inbox2]", "[in]", "[box]", "[my-inbox]", "[inbox.]", "[INBOX]"])
def test_a_queue_named_like_part_of_another_grants_nothing(api: Api, queues: str) -> None:
    answer = api.get("/v1/tasks?queue_id=inbox", by=caller("[reviewer]", queues))
    assert (answer.status, answer.code) == (404, "queue_not_found")


@pytest.mark.parametrize(
    "claim", ["[reviewer, admin]", "reviewer admin", '["reviewer"]', "[reviewer", "", "[*"]
)
def test_a_claim_that_cannot_be_parsed_grants_nothing(api: Api, claim: str) -> None:
    assert api.get("/v1/me", by=caller(claim, "*")).code == "role_missing"
    assert api.get("/v1/tasks?queue_id=inbox", by=caller("[reviewer]", claim)).code == "queue_not_found"
