"""Tasks: people's work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from casegraph.client.paging import pages
from casegraph.client.transport import Json, Transport, segment


class Tasks:
    """Tasks of queues. A claim has a generation; completion, heartbeat and release name the one they hold."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, queue_id: str) -> Iterator[Json]:
        """Open tasks of a queue."""
        return pages(self._transport, "/tasks", queue_id=queue_id)

    def next(self, queue_id: str) -> Json | None:
        """Claim the most urgent task of a queue; None when there is none to do."""
        answer = self._transport.post(
            "/tasks/next", {"queue_id": queue_id}, idempotency_key=self._transport.new_key()
        )
        task: Json | None = answer.get("task")
        return task

    def get(self, task_id: str) -> Json:
        """One task with its form and what it is about."""
        return self._transport.get(f"/tasks/{segment(task_id)}")

    def claim(self, task_id: str) -> Json:
        """Claim this very task."""
        return self._act(task_id, "claim", {})

    def heartbeat(self, task_id: str, generation: int) -> Json:
        """Keep a claim for another period."""
        return self._act(task_id, "heartbeat", {"generation": generation})

    def release(self, task_id: str, generation: int) -> Json:
        """Give a claimed task back to its queue."""
        return self._act(task_id, "release", {"generation": generation})

    def complete(self, task_id: str, generation: int, response: Mapping[str, Any]) -> Json:
        """Decide. The same decision again is answered the same; another one raises `Conflict` with who and when."""
        return self._act(task_id, "complete", {"generation": generation, "response": dict(response)})

    def _act(self, task_id: str, verb: str, body: Json) -> Json:
        return self._transport.post(
            f"/tasks/{segment(task_id)}/{verb}", body, idempotency_key=self._transport.new_key()
        )
