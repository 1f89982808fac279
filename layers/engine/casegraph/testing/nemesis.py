"""What goes wrong: by chance from a seed, or at exactly one call."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, fields

from casegraph.errors import (
    CasegraphError,
    OutcomeUnknown,
    Throttled,
    TransactionConflict,
    TransientFailure,
)
from casegraph.testing.faults import READ, SEND, TRANSACT, Call
from casegraph.testing.lockstep import Killed

BEFORE, AFTER, KILL_BEFORE, KILL_AFTER = "before", "after", "kill_before", "kill_after"


def refusal(call: Call, draw: float) -> CasegraphError:
    """An error that means that nothing happened, of the kinds this call may meet; draw: 0 <= draw < 1."""
    if call.kind == READ:
        return (
            Throttled("the store asks for a slower pace") if draw < 0.5 else TransientFailure("a read failed")
        )
    if call.kind == TRANSACT and draw < 0.4:
        return TransactionConflict("another transaction was under way")
    if draw < 0.7:
        return Throttled("the store asks for a slower pace")
    return OutcomeUnknown("the request was lost on its way")


def lost_reply(call: Call) -> CasegraphError:
    """An error that hides that the call had its effect."""
    return (
        TransientFailure("the answer was lost") if call.kind == READ else OutcomeUnknown("the reply was lost")
    )


@dataclass(frozen=True)
class Rates:
    """Chances per call (or per job, or per index read); a profile scales them."""

    before: float = 0.01
    after: float = 0.01
    kill_before: float = 0.002
    kill_after: float = 0.002
    stall: float = 0.004
    job_lost: float = 0.05
    job_doubled: float = 0.05
    job_late: float = 0.1
    index_lag: float = 0.2

    def varied(self, draw: random.Random) -> Rates:
        """Each chance multiplied by a drawn factor: some seeds are all kills, some all lost replies, some calm."""
        strength = draw.choice((0.0, 1.0, 1.0, 3.0))
        factors = {f.name: strength * draw.choice((0.0, 1.0, 2.0, 6.0)) for f in fields(self)}
        return Rates(**{name: min(0.4, getattr(self, name) * by) for name, by in factors.items()})


def _weight(call: Call) -> float:
    """A sweep reads nearly 200 index partitions: with every call's chance hardly one would end."""
    return 0.05 if call.name == "store.query_index" else 1.0


class RandomNemesis:
    """Faults by chance. `stop()` ends them: from then on nothing goes wrong (invariant 21)."""

    def __init__(self, seed: object, rates: Rates) -> None:
        self._random = random.Random(f"nemesis-{seed}")
        self._rates = rates
        self.active = True
        self.faults = 0

    def stop(self) -> None:
        """No more faults."""
        self.active = False

    def _happens(self, chance: float) -> bool:
        if not self.active or self._random.random() >= chance:
            return False
        self.faults += 1
        return True

    def before(self, call: Call) -> None:
        """Perhaps refuse the call, or kill its worker before the effect."""
        weight = _weight(call)
        if self._happens(self._rates.kill_before * weight):
            raise Killed(f"before {call.name} {call.number}")
        if self._happens(self._rates.before * weight):
            raise refusal(call, self._random.random())

    def after(self, call: Call) -> None:
        """Perhaps lose the reply, or kill the worker after the effect."""
        weight = _weight(call)
        if self._happens(self._rates.kill_after * weight):
            raise Killed(f"after {call.name} {call.number}")
        if self._happens(self._rates.after * weight):
            raise lost_reply(call)

    def copies(self) -> Sequence[int]:
        """Perhaps lose a job, double it or let it come late."""
        if self._happens(self._rates.job_lost):
            return ()
        late = self._random.randint(1, 90_000) if self._happens(self._rates.job_late) else 0
        if self._happens(self._rates.job_doubled):
            return (late, self._random.randint(0, 200_000))
        return (late,)

    def lag(self) -> int:
        """Perhaps answer an index read as of some seconds ago."""
        return self._random.randint(1, 20_000) if self._happens(self._rates.index_lag) else 0

    def stall(self) -> int:
        """Perhaps stop a worker for so many milliseconds, longer than its lease at times (S1)."""
        if not self._happens(self._rates.stall):
            return 0
        return self._random.choice((500, 5_000, 40_000, 400_000))


class NthCall:
    """Exactly one fault, at the n-th call: refused before, reply lost after, worker killed before or after.

    Index reads are not counted: a sweep makes nearly 200 of them, all alike. `counted`: the calls so far.
    """

    def __init__(self, number: int, how: str) -> None:
        self.number = number
        self.how = how
        self.counted = 0

    def before(self, call: Call) -> None:
        """The fault, if it is this call's."""
        if call.name == "store.query_index":
            return
        self.counted += 1
        if self.counted != self.number:
            return
        if self.how == KILL_BEFORE:
            raise Killed(f"before {call.name} {call.number}")
        if self.how == BEFORE:
            raise Throttled("refused") if call.kind in (READ, SEND) else OutcomeUnknown("lost on its way")

    def after(self, call: Call) -> None:
        """The fault, if it is this call's."""
        if self.counted != self.number or call.name == "store.query_index":
            return
        if self.how == KILL_AFTER:
            raise Killed(f"after {call.name} {call.number}")
        if self.how == AFTER:
            raise lost_reply(call)

    def copies(self) -> Sequence[int]:
        """As sent."""
        return (0,)

    def lag(self) -> int:
        """None."""
        return 0
