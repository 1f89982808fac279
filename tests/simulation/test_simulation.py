"""The simulation: seeds by chance, judged by every checker; a failing seed prints the one command that repeats it.

SIMULATION_SEED=17 .venv/bin/python -m pytest tests/simulation/test_simulation.py
"""

from __future__ import annotations

import os

import pytest

from tests.simulation.judging import faults_of_seed

SEEDS = 200
# So many seeds per test, for spreading over processes.
CHUNK = 10
# Seeds that failed once are kept here, whatever the range above.
KEPT: tuple[int, ...] = ()


def _chunks() -> list[list[int]]:
    one = os.environ.get("SIMULATION_SEED")
    if one is not None:
        return [[int(one)]]
    chunks = [list(range(first, first + CHUNK)) for first in range(1, SEEDS + 1, CHUNK)]
    return [*chunks, list(KEPT)] if KEPT else chunks


@pytest.mark.parametrize("seeds", _chunks(), ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
def test_seeds_keep_every_invariant(seeds: list[int]) -> None:
    """Each seed: some runs, thirty minutes of faults and activity, then quiet; see `simulator.py`."""
    for seed in seeds:
        faults = faults_of_seed(seed)
        command = f"SIMULATION_SEED={seed} .venv/bin/python -m pytest tests/simulation/test_simulation.py"
        assert not faults, f"seed {seed} failed; repeat it with:\n    {command}\n" + "\n".join(faults)
