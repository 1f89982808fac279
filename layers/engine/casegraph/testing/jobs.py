"""The job queue of a test world: at least once, with visibility timeout and a dead-letter queue, on virtual time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from casegraph.testing.timeline import VirtualTime

# As in template.yaml: six times the function's timeout, and so many receives before the dead-letter queue.
VISIBILITY_MILLISECONDS = 180_000
MAX_RECEIVES = 5


@dataclass
class Message:
    """One job on its way. visible_at: from when it may be received (again)."""

    number: int
    body: dict[str, Any]
    visible_at: int
    receives: int = 0


@dataclass
class VirtualJobQueue:
    """Both queues of the engine; `dead` is the dead-letter queue."""

    time: VirtualTime
    messages: list[Message] = field(default_factory=list)
    dead: list[Message] = field(default_factory=list)
    sent: int = 0

    def send(self, job: Mapping[str, Any], delay_seconds: int = 0) -> None:
        """See `JobQueue.send`."""
        self.send_late(job, delay_seconds * 1000)

    def send_late(self, job: Mapping[str, Any], delay_milliseconds: int) -> None:
        """Send a job that becomes visible after so many milliseconds."""
        self.sent += 1
        self.messages.append(Message(self.sent, dict(job), self.time.at + delay_milliseconds))

    def depth(self, job_type: str) -> int:
        """See `JobQueue.depth`."""
        return sum(1 for message in self.messages if message.body["type"] == job_type)

    def visible(self) -> Sequence[Message]:
        """The messages that may be received now, in the order of becoming visible."""
        ready = [m for m in self.messages if m.visible_at <= self.time.at]
        return sorted(ready, key=lambda m: (m.visible_at, m.number))

    def next_visible(self) -> int | None:
        """When the next message becomes visible."""
        return min((m.visible_at for m in self.messages), default=None)

    def receive(self, message: Message) -> None:
        """Hide a message for its visibility timeout; one received too often goes to the dead-letter queue."""
        message.receives += 1
        message.visible_at = self.time.at + VISIBILITY_MILLISECONDS
        if message.receives > MAX_RECEIVES:
            self.messages.remove(message)
            self.dead.append(message)

    def delete(self, message: Message) -> None:
        """The job is done."""
        if message in self.messages:
            self.messages.remove(message)
