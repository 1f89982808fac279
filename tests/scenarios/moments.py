"""Races at exact calls: what another does just before the n-th call of a worker."""

from __future__ import annotations

from collections.abc import Callable

from tests.protocol.kit import Bench


def at_call(number: int, do: Callable[[], object]) -> Callable[[str], None]:
    """A worker's `pause`: `do` happens just before its n-th call."""
    seen: list[str] = []

    def pause(name: str) -> None:
        seen.append(name)
        if len(seen) == number:
            do()

    return pause


def calls_of_first_burst(bench: Bench) -> list[str]:
    """The names of the calls that the burst makes which starts a run of the bench's graph."""
    run = bench.start()
    calls: list[str] = []
    bench.advance(run, bench.site.worker("counted", pause=calls.append))
    return calls
