"""Store calls with patience: conflicts, throttles and transient failures are tried again with jitter.

They are never read as busy or as nothing to do (protocol.md 2). An unknown outcome is the caller's to resolve,
because only it knows how to recognise its own write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from casegraph.application.context import Ports
from casegraph.domain.writes import Item, Put, Write
from casegraph.errors import OutcomeUnknown, Retryable
from casegraph.limits import MAX_STORE_TRIES, RETRY_JITTER_MILLISECONDS

T = TypeVar("T")


def patiently(ports: Ports, call: Callable[[], T], *, resend_unknown: bool = True) -> T:
    """The answer of `call`, tried again up to `MAX_STORE_TRIES` times.

    resend_unknown: whether repeating the identical call after a lost reply is right (reads; writes that recognise
    themselves). Raises the last `Retryable`; `OutcomeUnknown` whenever any of the tries was one.
    """
    unknown: OutcomeUnknown | None = None
    for remaining in range(MAX_STORE_TRIES - 1, -1, -1):
        try:
            return call()
        except Retryable as failure:
            unknown = failure if isinstance(failure, OutcomeUnknown) else unknown
            if unknown is not None and (remaining == 0 or not resend_unknown):
                raise unknown from failure
            if remaining == 0:
                raise
            ports.clock.sleep(ports.ids.jitter(*RETRY_JITTER_MILLISECONDS))
    raise AssertionError("unreachable")


def stamped(ports: Ports, writes: Sequence[Write]) -> list[Write]:
    """The same writes, each new record with the installation that it belongs to (protocol.md 1)."""
    return [_stamped(ports, write) for write in writes]


def _stamped(ports: Ports, single: Write) -> Write:
    if not isinstance(single, Put):
        return single
    return replace(single, item={"installation_id": ports.installation_id, **single.item})


def transact(ports: Ports, writes: Sequence[Write]) -> None:
    """One transaction under a fresh token, resent as it is after a lost reply (the token makes that safe).

    A single write goes out as a plain conditional write's half price only where the caller chose so; here the
    token is what makes the resend exact. Raises `ConditionsFailed`.
    """
    token = ports.ids.new()
    records = stamped(ports, writes)
    patiently(ports, lambda: ports.store.transact(records, token))


def write(ports: Ports, single: Write) -> Item | None:
    """One conditional write that is safe to resend because its rules fail on its own effect, and the caller
    recognises that. Raises `ConditionsFailed`."""
    record = _stamped(ports, single)
    return patiently(ports, lambda: ports.store.write(record))
