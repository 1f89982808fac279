"""S17: every TransactionCanceledException became a 404.

Conflicts and throttles are tried again with jitter, failed conditions become the typed failure of their item at once,
and nothing else is guessed. The answers are DynamoDB's, given to the real adapter and the real retry.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from casegraph.adapters.aws_clients import dynamodb_client
from casegraph.adapters.dynamodb.store import DynamoDBItemStore
from casegraph.adapters.memory import ManualClock
from casegraph.application.context import Ports
from casegraph.application.persistence import transact
from casegraph.domain.writes import Absent, Check, Exists, Key, Put, Rule, Table, Write
from casegraph.errors import ConditionsFailed, StoreRefused, TransactionConflict
from casegraph.limits import MAX_STORE_TRIES, RETRY_JITTER_MILLISECONDS
from casegraph.testing.site import Site

HEAD, TASK = Key(Table.RUNS, "RUN#r", "HEAD"), Key(Table.RUNS, "RUN#r", "TASK#review#1")
WRITES: list[Write] = [
    Check(HEAD, (Rule("item_exists", Exists(("pk",)), "a test"),)),
    Put(TASK, {"state": "open"}, (Rule("new_item", Absent(("pk",)), "a test"),)),
]
NONE, CONFLICT, THROTTLE = {"Code": "None"}, {"Code": "TransactionConflict"}, {"Code": "ThrottlingError"}
TAKEN = {"Code": "ConditionalCheckFailed", "Item": {"pk": {"S": "RUN#r"}, "state": {"S": "completed"}}}


class World:
    """One worker whose DynamoDB answers as it is told."""

    def __init__(self) -> None:
        client = dynamodb_client()
        self.clock = ManualClock(0)
        self.slept: list[int] = []
        self.tokens: list[str] = []
        client.meta.events.register("provide-client-params.dynamodb.TransactWriteItems", self._note)
        self.stubber = Stubber(client)
        store = DynamoDBItemStore(client, lambda table: table.value)
        self.ports: Ports = replace(Site(0, 1).worker("w"), store=store, clock=self)

    def _note(self, params: dict[str, Any], **_: Any) -> None:
        self.tokens.append(params["ClientRequestToken"])

    def now(self) -> int:
        return self.clock.now()

    def sleep(self, milliseconds: int) -> None:
        self.slept.append(milliseconds)

    def cancels(self, *reasons: dict[str, Any]) -> None:
        fields = {"CancellationReasons": list(reasons)}
        self.stubber.add_client_error(
            "transact_write_items", "TransactionCanceledException", modeled_fields=fields
        )


@pytest.fixture
def world() -> Iterator[World]:
    made = World()
    with made.stubber:
        yield made
        made.stubber.assert_no_pending_responses()


def test_conflicts_and_throttles_are_tried_again_with_jitter_until_it_is_done(world: World) -> None:
    world.cancels(CONFLICT, NONE)
    world.cancels(NONE, THROTTLE)
    world.cancels(CONFLICT, TAKEN)
    world.stubber.add_response("transact_write_items", {})
    transact(world.ports, WRITES)
    low, high = RETRY_JITTER_MILLISECONDS
    assert len(world.slept) == 3
    assert all(low <= wait <= high for wait in world.slept)
    assert len(set(world.slept)) > 1
    assert len(set(world.tokens)) == 1


def test_a_conflict_that_does_not_end_is_told_as_a_conflict(world: World) -> None:
    for _ in range(MAX_STORE_TRIES):
        world.cancels(CONFLICT, NONE)
    with pytest.raises(TransactionConflict) as raised:
        transact(world.ports, WRITES)
    assert raised.value.status == 503


def test_a_failed_condition_is_told_at_once_with_its_item(world: World) -> None:
    world.cancels(NONE, TAKEN)
    with pytest.raises(ConditionsFailed) as raised:
        transact(world.ports, WRITES)
    (failure,) = raised.value.failures
    assert (failure.index, failure.rules) == (1, ("new_item",))
    assert failure.old_item is not None
    assert failure.old_item["state"] == "completed"
    assert world.slept == []


def test_a_refusal_is_no_conflict_and_is_not_tried_again(world: World) -> None:
    world.cancels(NONE, {"Code": "ValidationError", "Message": "an expression is wrong"})
    with pytest.raises(StoreRefused) as raised:
        transact(world.ports, WRITES)
    assert raised.value.status == 500


def test_an_unknown_reason_is_raised_as_it_came(world: World) -> None:
    world.cancels(NONE, {"Code": "SomethingNew"})
    with pytest.raises(ClientError):
        transact(world.ports, WRITES)
