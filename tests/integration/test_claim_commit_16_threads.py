"""Sixteen workers on one run, on the local AWS process: one lease at a time, and no update lost.

The claim is the kernel's own conditional update; the commit has the kernel's fences (generation, claim, revision) and
the segment beside it. Each worker has a client of its own, as each Lambda has.
"""

from __future__ import annotations

import threading
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import pytest

from casegraph.adapters.aws_clients import dynamodb_client
from casegraph.adapters.clock import RandomIds
from casegraph.adapters.dynamodb.store import DynamoDBItemStore
from casegraph.application.lease import claim_update
from casegraph.application.ports import ItemStore
from casegraph.domain.writes import Absent, Compare, Item, Key, Put, Rule, Table, Update
from casegraph.errors import ConditionsFailed, Retryable
from casegraph.runtime.settings import Settings

pytestmark = pytest.mark.local_aws

T = TypeVar("T")
WORKERS = 16
COMMITS_PER_WORKER = 6
NOW = 1_800_000_000_000
NEW = Rule("new_item", Absent(("pk",)), "a second segment of the same revision must not replace the first")


@dataclass
class Race:
    """One run, its workers' stores, and what they saw."""

    stores: list[ItemStore]
    head: Key
    generations: Counter[int] = field(default_factory=Counter)
    commits: Counter[int] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, work: Callable[[int], object]) -> None:
        """Let every worker do it at the same time."""
        start = threading.Barrier(len(self.stores))

        def one(number: int) -> None:
            start.wait()
            work(number)

        with ThreadPoolExecutor(len(self.stores)) as pool:
            for done in [pool.submit(one, number) for number in range(len(self.stores))]:
                done.result()

    def claimed(self, number: int) -> Item | None:
        """The head, if this worker got the lease."""
        run_id = self.head.pk.removeprefix("RUN#")
        claim_id = f"{number}-{uuid.uuid4().hex}"
        update = claim_update(run_id, claim_id, NOW, NOW + 60_000)
        try:
            item = patiently(lambda: self.stores[number].write(update))
        except ConditionsFailed as failed:
            # After a lost reply the refusal shows this worker's own claim.
            item = failed.failures[0].old_item
            if item is None or item.get("claim_id") != claim_id:
                return None
        assert item is not None
        with self.lock:
            self.generations[item["generation"]] += 1
        return item

    def committed(self, number: int, *, base: Item, release: bool) -> bool:
        """Whether this worker's commit on that head went through."""
        fences = tuple(
            Rule(f"same_{name}", Compare((name,), "=", base[name]), "a stale worker changes nothing")
            for name in ("generation", "claim_id", "revision")
        )
        revision = base["revision"] + 1
        update = Update(
            self.head,
            fences,
            set={("revision",): revision, ("last_writer",): number},
            remove=(("claim_id",), ("lease_until",)) if release else (),
        )
        segment = Put(
            Key(Table.RUNS, self.head.pk, f"SEG#{revision:010d}"),
            {"writer": number, "release": release},
            (NEW,),
        )
        token = uuid.uuid4().hex
        try:
            patiently(lambda: self.stores[number].transact([update, segment], token))
        except ConditionsFailed:
            return False
        with self.lock:
            self.commits[revision] += 1
        return True


def patiently(call: Callable[[], T]) -> T:
    """The answer, after as many tries as it takes; the stand-in is local, so that a retry needs no jitter."""
    while True:
        try:
            return call()
        except Retryable:
            continue


@pytest.fixture
def race(local_aws: Settings) -> Race:
    stores: list[ItemStore] = [
        DynamoDBItemStore(dynamodb_client(local_aws.aws_endpoint_url), local_aws.table_name)
        for _ in range(WORKERS)
    ]
    head = Key(Table.RUNS, f"RUN#{RandomIds().new()}", "HEAD")
    stores[0].write(
        Put(head, {"generation": 0, "attempts": 0, "penalty": 0, "revision": 0, "wake_at": NOW}, (NEW,))
    )
    return Race(stores, head)


def test_exactly_one_of_sixteen_claims_wins_each_time(race: Race) -> None:
    for round_number in range(1, 6):
        race.run(race.claimed)
        assert race.generations == dict.fromkeys(range(1, round_number + 1), 1)
        race.stores[0].write(Update(race.head, (), remove=(("claim_id",), ("lease_until",))))
    item = race.stores[0].get(race.head)
    assert item is not None
    assert (item["generation"], item["attempts"]) == (5, 5)


def test_sixteen_workers_commit_in_turn_and_no_revision_is_lost(race: Race) -> None:
    def work(number: int) -> None:
        left = COMMITS_PER_WORKER
        while left:
            base = race.claimed(number)
            if base is not None:
                assert race.committed(number, base=base, release=True)
                left -= 1

    race.run(work)
    total = WORKERS * COMMITS_PER_WORKER
    item = race.stores[0].get(race.head)
    assert item is not None
    assert (item["revision"], item["generation"]) == (total, total)
    assert race.commits == dict.fromkeys(range(1, total + 1), 1)
    assert race.generations == dict.fromkeys(range(1, total + 1), 1)
    assert race.stores[0].count(Table.RUNS, race.head.pk, prefix="SEG#") == total


def test_of_sixteen_commits_on_the_same_head_one_goes_through_and_writes_the_only_segment(race: Race) -> None:
    base = race.claimed(0)
    assert base is not None
    for revision in range(1, 6):
        race.run(partial(race.committed, release=False, base=base))
        assert race.commits == dict.fromkeys(range(1, revision + 1), 1)
        head = race.stores[0].get(race.head)
        segment = race.stores[0].get(Key(Table.RUNS, race.head.pk, f"SEG#{revision:010d}"))
        assert head is not None
        assert segment is not None
        assert (head["revision"], head["last_writer"]) == (revision, segment["writer"])
        base = head
