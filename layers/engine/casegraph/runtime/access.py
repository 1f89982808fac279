"""Who may do what: one table of roles by route, and the check that an object exists for the caller."""

from __future__ import annotations

from casegraph.errors import Forbidden
from casegraph.runtime.identity import ROLES, Principal

EVERYONE = ROLES
WRITERS = frozenset({"publisher", "admin"})
OPERATORS = frozenset({"operator", "admin"})
STARTERS = frozenset({"operator", "publisher", "admin"})
INTAKE = frozenset({"reviewer", "operator", "admin"})
REVIEWERS = frozenset({"reviewer", "admin"})

ROLES_BY_ROUTE: dict[str, frozenset[str]] = {
    "POST /v1/workflows/validate": STARTERS,
    "POST /v1/workflows/{key}/versions": WRITERS,
    "GET /v1/workflows/{key}/versions": EVERYONE,
    "GET /v1/workflows/{key}/versions/{version}": EVERYONE,
    "PUT /v1/queues/{queue_id}": OPERATORS,
    "GET /v1/queues/{queue_id}": EVERYONE,
    "POST /v1/queues/{queue_id}/pins": STARTERS,
    "DELETE /v1/queues/{queue_id}/pins": STARTERS,
    "PUT /v1/connectors/{connector_id}": OPERATORS,
    "GET /v1/connectors/{connector_id}": EVERYONE,
    "POST /v1/reports": INTAKE,
    "GET /v1/reports": EVERYONE,
    "GET /v1/reports/{report_id}": EVERYONE,
    "POST /v1/runs": STARTERS,
    "GET /v1/runs": EVERYONE,
    "GET /v1/runs/{run_id}": EVERYONE,
    "GET /v1/runs/{run_id}/steps": EVERYONE,
    "GET /v1/runs/{run_id}/log": EVERYONE,
    "GET /v1/runs/{run_id}/why": EVERYONE,
    "POST /v1/runs/{run_id}/events": OPERATORS,
    "POST /v1/runs/{run_id}/pause": OPERATORS,
    "POST /v1/runs/{run_id}/resume": OPERATORS,
    "POST /v1/runs/{run_id}/terminate": OPERATORS,
    "POST /v1/events": OPERATORS,
    "GET /v1/tasks": EVERYONE,
    "POST /v1/tasks/next": REVIEWERS,
    "GET /v1/tasks/{task_id}": EVERYONE,
    "POST /v1/tasks/{task_id}/claim": REVIEWERS,
    "POST /v1/tasks/{task_id}/heartbeat": REVIEWERS,
    "POST /v1/tasks/{task_id}/release": REVIEWERS,
    "POST /v1/tasks/{task_id}/complete": REVIEWERS,
    "GET /v1/effects": EVERYONE,
    "GET /v1/me": EVERYONE,
}


def require_role(principal: Principal, route: str) -> None:
    """Raise `Forbidden` unless one of the caller's roles may use the route (`METHOD /path`)."""
    allowed = ROLES_BY_ROUTE[route]
    if not principal.roles & allowed:
        raise Forbidden(
            f"{route} needs one of the roles {', '.join(sorted(allowed))}",
            "role_missing",
            allowed=sorted(allowed),
            roles=sorted(principal.roles),
        )
