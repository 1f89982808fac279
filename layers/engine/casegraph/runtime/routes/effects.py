"""The effects of a run."""

from __future__ import annotations

from typing import Annotated

from pydantic import StringConstraints

from casegraph.application import cursors, queries
from casegraph.application.heads import read_head
from casegraph.errors import NotFound
from casegraph.runtime.endpoint import Call, Reply, get
from casegraph.runtime.models import Listing


class EffectQuery(Listing):
    """A list of effects is a run's."""

    run_id: Annotated[str, StringConstraints(min_length=1, max_length=200)]


def index(call: Call) -> Reply:
    """The effects of a run and their states; no payloads."""
    query = call.filters(EffectQuery)
    head = read_head(call.ports, query.run_id)
    if not call.principal.sees(head.queue_id):
        raise NotFound(f"there is no run {query.run_id}", "run_not_found", run_id=query.run_id)
    bound = {"run_id": query.run_id}
    position = cursors.decode("effects", bound, query.cursor, str, prefixes=("EFFECT#",))
    items, more = queries.list_effects(
        call.ports, query.run_id, position[0] if position else None, query.limit
    )
    cursor = cursors.encode("effects", bound, None if more is None else [more])
    return Reply({"items": items, "next_cursor": cursor})


ROUTES = (get("/v1/effects", index),)
