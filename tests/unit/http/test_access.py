"""One table of roles: every route is in it, the reference lists it, and nobody else gets in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from casegraph.runtime.access import EVERYONE, ROLES_BY_ROUTE
from casegraph.runtime.http import ROUTES
from casegraph.runtime.identity import ROLES
from tests.unit.http.harness import Api

REFERENCE = Path(__file__).parents[3] / "docs/reference/http-api.md"
_ROW = re.compile(r"^\| ((?:GET|POST|PUT|DELETE) /v1/\S+) \| ([^|;]+)", re.MULTILINE)


@pytest.fixture(scope="module")
def api() -> Api:
    return Api()


def test_every_route_has_its_roles_and_every_role_entry_its_route() -> None:
    assert {route.name for route in ROUTES} == set(ROLES_BY_ROUTE)


def test_the_reference_lists_every_route_with_its_roles() -> None:
    documented = {
        route: EVERYONE if roles.strip() == "all" else frozenset({*roles.strip().split(", "), "admin"})
        for route, roles in _ROW.findall(REFERENCE.read_text())
    }
    assert documented == ROLES_BY_ROUTE


@pytest.mark.parametrize("route", sorted(ROLES_BY_ROUTE))
def test_a_route_opens_to_its_roles_and_to_no_other(api: Api, route: str) -> None:
    method, _, path = route.partition(" ")
    target = re.sub(r"{version}", "1", re.sub(r"{(?!version)\w+}", "x", path))
    for role in sorted(ROLES):
        claims = {"sub": "anna", "casegraph_roles": [role], "casegraph_queues": ["*"]}
        answer = api.call(method, target, {} if method != "GET" else None, by=claims)
        refused = answer.status == 403 and answer.code == "role_missing"
        assert refused == (role not in ROLES_BY_ROUTE[route]), (role, answer.body)


@pytest.mark.parametrize("route", sorted(ROLES_BY_ROUTE))
def test_no_route_opens_without_a_role_or_a_token(api: Api, route: str) -> None:
    method, _, path = route.partition(" ")
    target = re.sub(r"{\w+}", "1", path)
    nobody = {"sub": "anna", "casegraph_roles": "[]", "casegraph_queues": "*"}
    assert api.call(method, target, by=nobody).status == 403
    assert api.call(method, target, by=None).status == 401
