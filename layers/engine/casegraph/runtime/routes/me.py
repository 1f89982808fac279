"""Who the caller is."""

from __future__ import annotations

from casegraph.runtime.access import ROLES_BY_ROUTE
from casegraph.runtime.endpoint import Call, Reply, get


def show(call: Call) -> Reply:
    """Subject, roles, queues, and the routes that these roles open."""
    me = call.principal
    allowed = sorted(route for route, roles in ROLES_BY_ROUTE.items() if roles & me.roles)
    return Reply(
        {
            "subject": me.subject,
            "roles": sorted(me.roles),
            "queues": sorted(me.queues),
            "allowed_routes": allowed,
        }
    )


ROUTES = (get("/v1/me", show),)
