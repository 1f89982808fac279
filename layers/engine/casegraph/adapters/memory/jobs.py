"""The job queues in memory, as SQS standard queues behave: delay, visibility, at least once, no promised order."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from threading import Lock
from typing import Any

from casegraph.application.ports import Clock
from casegraph.errors import StoreRefused
from casegraph.limits import JOB_MAX_DELAY_MILLISECONDS

# The template's visibility timeout: six times a function's 60 s.
VISIBILITY_MILLISECONDS = 360_000
JOB_TYPES = ("advance_run", "deliver_effect")


@dataclass(slots=True)
class Message:
    """A job as a consumer gets it. receipt: what `done` and `release` are told; receives: how often it was taken."""

    receipt: int
    body: str
    visible_at: int
    receives: int = 0

    @property
    def job(self) -> dict[str, Any]:
        """The job, parsed anew."""
        parsed: dict[str, Any] = json.loads(self.body)
        return parsed


class MemoryJobQueue:
    """The `JobQueue` port in memory, and the consumer's side for a simulation."""

    def __init__(self, clock: Clock, *, visibility_milliseconds: int = VISIBILITY_MILLISECONDS) -> None:
        self._clock = clock
        self._visibility = visibility_milliseconds
        self._messages: dict[str, list[Message]] = {job_type: [] for job_type in JOB_TYPES}
        self._receipts = count(1)
        self._lock = Lock()

    def send(self, job: Mapping[str, Any], delay_seconds: int = 0) -> None:
        """See `JobQueue.send`."""
        check_job(job, delay_seconds)
        at = self._clock.now() + delay_seconds * 1000
        with self._lock:
            message = Message(next(self._receipts), json.dumps(dict(job)), at)
            self._messages[job["type"]].append(message)

    def depth(self, job_type: str) -> int:
        """See `JobQueue.depth`: those that could be taken now (SQS counts delayed and taken ones apart)."""
        now = self._clock.now()
        with self._lock:
            return sum(message.visible_at <= now for message in self._messages[job_type])

    def pop(self, job_type: str) -> Message | None:
        """Take the job that has been visible longest; it comes back after the visibility timeout unless `done`."""
        now = self._clock.now()
        with self._lock:
            ready = [message for message in self._messages[job_type] if message.visible_at <= now]
            if not ready:
                return None
            message = min(ready, key=lambda m: (m.visible_at, m.receipt))
            message.visible_at = now + self._visibility
            message.receives += 1
            return message

    def done(self, message: Message) -> None:
        """Delete a job that was taken; one that is gone already is no error."""
        with self._lock:
            for messages in self._messages.values():
                messages[:] = [known for known in messages if known.receipt != message.receipt]

    def release(self, message: Message) -> None:
        """Make a job that was taken visible at once (its function failed)."""
        with self._lock:
            message.visible_at = self._clock.now()

    def next_visible_at(self) -> int | None:
        """When the next job can be taken (it may be in the past), or None when there is none."""
        with self._lock:
            times = [message.visible_at for messages in self._messages.values() for message in messages]
        return min(times, default=None)

    def messages(self, job_type: str) -> list[Message]:
        """Every job that is not done, in order of sending: for a nemesis that drops, doubles and delays them."""
        return self._messages[job_type]


def check_job(job: Mapping[str, Any], delay_seconds: int) -> None:
    """Refuse what SQS or the consumers would not take: an unknown type, a delay beyond 15 minutes."""
    if job.get("type") not in JOB_TYPES:
        raise StoreRefused(f"a job's type is one of {', '.join(JOB_TYPES)}, not {job.get('type')!r}")
    if not 0 <= delay_seconds * 1000 <= JOB_MAX_DELAY_MILLISECONDS:
        raise StoreRefused(f"a job's delay is 0 to 900 seconds, not {delay_seconds}")
