"""The demo's reviewers: people who take the next task, fill its form and take the next one, over the API."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from casegraph.client.client import CasegraphClient
from casegraph.client.transport import Json
from casegraph.errors import CasegraphError, Conflict, NotFound, Retryable
from casegraph.local.demo.reports import QUEUE

# A reviewer who found nothing to do looks again after this.
IDLE_SECONDS = 0.3
# Decisions by reason type; what is not listed is no violation.
_REMOVE = ("MisleadingSpam", "MisleadingScam", "RuleProhibitedSales")
_RESTRICT = ("MisleadingImpersonation", "MisleadingBot", "MisleadingElections", "RuleBanEvasion")
POLICIES = {"remove": ["example-policy-removal"], "restrict": ["example-policy-visibility"], "none": []}


def decide(reason_type: str) -> Json:
    """The filled form for a reason type (`tools.ozone.report.defs#reason...`)."""
    reason = reason_type.rpartition("#reason")[2]
    outcome = "remove" if reason in _REMOVE else "restrict" if reason in _RESTRICT else "none"
    return {
        "outcome": outcome,
        "facts": f"Looked at the subject and its history; reported as {reason}.",
        "policies": POLICIES[outcome],
    }


class Reviewer(threading.Thread):
    """One person at work until `stop`. What goes wrong at the other end is tried again: a claim is kept there."""

    def __init__(self, name: str, client: CasegraphClient, decided: Callable[[str, str], None]) -> None:
        """decided: called with the reviewer's name and the outcome after each decision."""
        super().__init__(name=name, daemon=True)
        self._client = client
        self._decided = decided
        self._stopping = threading.Event()
        self.failure: CasegraphError | None = None

    def stop(self) -> None:
        """Finish the task at hand, and no other."""
        self._stopping.set()

    def run(self) -> None:
        """Work."""
        while not self._stopping.is_set():
            try:
                worked = self._work()
            except Retryable:
                # The API went away in between; a task that it gave us without our knowing is ours in the list.
                worked = self._finish_what_is_mine()
            except CasegraphError as failure:
                self.failure = failure
                return
            if not worked:
                self._stopping.wait(IDLE_SECONDS)

    def _work(self) -> bool:
        task = self._client.tasks.next(QUEUE)
        if task is None:
            return self._finish_what_is_mine()
        self._complete(task)
        return True

    def _complete(self, task: Json) -> None:
        response = decide(_reason_type(task))
        try:
            self._client.tasks.complete(task["task_id"], task["generation"], response)
        except (Conflict, NotFound):
            # Somebody else's, expired or cancelled: not ours any more.
            return
        self._decided(self.name, response["outcome"])

    def _finish_what_is_mine(self) -> bool:
        try:
            mine = [t for t in self._client.tasks.list(QUEUE) if t.get("claimed_by") == self.name]
            for task in mine:
                self._complete(self._client.tasks.claim(task["task_id"]))
        except (Retryable, Conflict, NotFound):
            return False
        return bool(mine)


def _reason_type(task: Json) -> str:
    shown: Any = task["input"]
    return str(shown["reason_type"])
