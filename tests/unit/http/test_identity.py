"""Claims are parsed exactly, in one place; what cannot be parsed grants nothing."""

from __future__ import annotations

from typing import Any

import pytest

from casegraph.errors import Unauthenticated
from casegraph.runtime.identity import Principal, principal_of, words


def event(**claims: Any) -> dict[str, Any]:
    return {"requestContext": {"authorizer": {"jwt": {"claims": claims}}}}


def test_a_list_claim_comes_apart_into_whole_words() -> None:
    caller = principal_of(event(sub="anna", r="[reviewer operator]", q="[a b-2]"), "r", "q")
    assert caller == Principal("anna", frozenset({"reviewer", "operator"}), frozenset({"a", "b-2"}))


@pytest.mark.parametrize("claim", ["reviewer", "[reviewer]", ["reviewer"]])
def test_one_role_may_come_in_each_known_form(claim: Any) -> None:
    assert principal_of(event(sub="anna", r=claim), "r", "q").roles == {"reviewer"}


@pytest.mark.parametrize(
    "claim",
    [
        "[reviewer, operator]", "[reviewer  operator]", "[ reviewer]", "reviewer operator", "[reviewer", "reviewer]",
        '["reviewer"]', "[reviewer\\noperator]", "[reviewer\noperator]", "reviewer\n", 7, True, None, {"reviewer": 1},
        ["reviewer", 3], [["reviewer"]], "[[reviewer]]",
    ],
)  # fmt: skip
def test_a_claim_that_is_not_exactly_of_a_known_form_grants_nothing(claim: Any) -> None:
    caller = principal_of(event(sub="anna", r=claim, q=claim), "r", "q")
    assert (caller.roles, caller.queues) == (frozenset(), frozenset())


@pytest.mark.parametrize("claim", ["*", "[*]", ["*"]])
def test_a_star_alone_is_every_queue(claim: Any) -> None:
    assert principal_of(event(sub="anna", q=claim), "r", "q").sees("anything")


@pytest.mark.parametrize("claim", ["[* a]", ["*", "a"], "a*", "[a*]"])
def test_a_star_among_other_words_is_no_claim(claim: Any) -> None:
    caller = principal_of(event(sub="anna", q=claim), "r", "q")
    assert not caller.sees("a")
    assert not caller.sees("b")


def test_a_star_is_no_role() -> None:
    assert principal_of(event(sub="anna", r="*"), "r", "q").roles == frozenset()


def test_words_of_an_empty_list_are_none_at_all() -> None:
    assert words("[]") == frozenset()


def test_what_is_in_no_queue_is_seen_by_role_alone() -> None:
    assert principal_of(event(sub="anna"), "r", "q").sees(None)


@pytest.mark.parametrize("subject", [None, "", 7, "a\nb", "x" * 257])
def test_a_token_that_names_nobody_is_refused(subject: Any) -> None:
    with pytest.raises(Unauthenticated):
        principal_of(event(sub=subject), "r", "q")


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"requestContext": {}},
        {"requestContext": {"authorizer": None}},
        {"requestContext": {"authorizer": {"jwt": {"claims": "sub=anna"}}}},
    ],
)
def test_an_event_that_no_authorizer_has_seen_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(Unauthenticated):
        principal_of(bad, "r", "q")
