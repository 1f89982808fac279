"""S3: one transient error in the recovery loop left work pending for ever (dbos-transact-py 716).

Here the sweep handles each thing on its own: an error on any one call leaves the rest served, and what failed is
served on the next tick. Every call of a sweep fails once, for good, with each kind of error.

Breaks without: reconcile._guarded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from casegraph.application.advance_run import advance_run
from casegraph.domain.head import shard_of
from casegraph.errors import Throttled
from casegraph.testing.faults import Call
from casegraph.testing.world import World
from tests.protocol.graphs import person, sender

MINUTE = 60_000
RUNS = 3


@dataclass
class OneCallFails:
    """From the n-th call of the sweep on, the same call fails with every retry; then all goes well again.

    `error` is what the call raises; a call that fails with something that is not retried fails once.
    """

    number: int = 0
    error: Exception = field(default_factory=lambda: Throttled("the store asks for a slower pace"))
    seen: list[str] = field(default_factory=list)
    active: bool = False
    failures: int = 0

    def before(self, call: Call) -> None:
        if not self.active:
            return
        self.seen.append(call.name)
        tries = 8 if isinstance(self.error, Throttled) else 1
        if 0 < self.number <= len(self.seen) < self.number + tries:
            self.failures += 1
            raise self.error

    def after(self, call: Call) -> None:
        pass

    def copies(self) -> Sequence[int]:
        return (0,)

    def lag(self) -> int:
        return 0


class Overdue:
    """Runs and an effect that are overdue without any job, and a time-boxed pause that is over."""

    def __init__(self) -> None:
        self.nemesis = OneCallFails()
        self.world = World(seed="sweep", nemesis=self.nemesis)
        self.world.connector("mail")
        reviewed, sent = self.world.publish(person()), self.world.publish(sender())
        self.effect = self.world.start(sent, {"key": "k"})
        self._advance(self.effect)
        self.paused = self.world.start(reviewed, {"key": "k"})
        self._advance(self.paused)
        self.world.pause(self.paused, until=self.world.now + MINUTE)
        self.runs = [self.world.start(reviewed, {"key": "k"}) for _ in range(RUNS)]
        self.world.site.queue.messages.clear()
        self.world.site.time.to(self.world.now + 3 * MINUTE)

    def _advance(self, run: str) -> None:
        advance_run(self.world.ports(), run, self.world.site.invocation())

    def tick(self) -> set[str]:
        """One sweep; what it served: jobs that it sent, pauses that it ended."""
        self.nemesis.active = True
        self.world.sweep()
        self.nemesis.active = False
        served = {m.body["run_id"] for m in self.world.site.queue.messages}
        if self.world.run(self.paused).state != "paused":
            served.add(self.paused)
        return served

    @property
    def all(self) -> set[str]:
        return {self.effect, self.paused, *self.runs}


def numbers() -> Iterator[int]:
    """Every call of a sweep that finds all this: counted on one that goes well."""
    calm = Overdue()
    assert calm.tick() == calm.all
    return iter(range(1, len(calm.nemesis.seen) + 1))


@pytest.mark.parametrize(
    "error", [Throttled("slower"), RuntimeError("a bug that one item shows")], ids=["throttled", "unexpected"]
)
def test_whatever_call_fails_the_rest_is_served_and_the_failed_one_on_the_next_tick(error: Exception) -> None:
    for number in numbers():
        overdue = Overdue()
        overdue.nemesis.number, overdue.nemesis.error = number, error
        served = overdue.tick()
        assert overdue.nemesis.failures
        missed = overdue.all - served
        assert len({shard_of(run) for run in missed}) <= 1, f"call {number} cost more than its own: {missed}"
        overdue.nemesis.number = 0
        overdue.world.site.time.to(overdue.world.now + MINUTE)
        assert missed <= overdue.tick(), f"what call {number} cost was not served on the next tick"
