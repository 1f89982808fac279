"""`CasegraphClient`: the API's nouns, each a small object with its verbs."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import httpx

from casegraph.client.connectors import Connectors
from casegraph.client.events import Events
from casegraph.client.queues import Queues
from casegraph.client.reports import Reports
from casegraph.client.runs import Runs
from casegraph.client.tasks import Tasks
from casegraph.client.transport import Json, Transport
from casegraph.client.workflows import Workflows


class CasegraphClient:
    """A client of one Casegraph API as one person or service; usable from several threads.

    Errors are those of `casegraph.errors`, by status; `client.errors.NoConnection` when nothing answers. A retried
    mutation is done once: every one that creates carries an idempotency key (yours, or a fresh one for each call).
    """

    def __init__(self, base_url: str, token: str, *, http: httpx.Client | None = None) -> None:
        """base_url: the API's address without `/v1`; token: a bearer token (JWT)."""
        self.transport = Transport(base_url, token, http=http)
        self.workflows = Workflows(self.transport)
        self.queues = Queues(self.transport)
        self.reports = Reports(self.transport)
        self.runs = Runs(self.transport)
        self.connectors = Connectors(self.transport)
        self.events = Events(self.transport)
        self.tasks = Tasks(self.transport)

    def me(self) -> Json:
        """Who the token says that I am: subject, roles, queues."""
        return self.transport.get("/me")

    def close(self) -> None:
        """Close the connections."""
        self.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
