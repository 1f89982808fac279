"""How DynamoDB's and the SDK's errors are read: by code, reason and class, and what is unknown is raised as it came."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)
from botocore.stub import Stubber

from casegraph.adapters.aws_clients import dynamodb_client
from casegraph.adapters.dynamodb.store import DynamoDBItemStore
from casegraph.domain.writes import Absent, Check, Compare, Key, Put, Rule, Table, Update, Write
from casegraph.errors import (
    CasegraphError,
    ConditionsFailed,
    OutcomeUnknown,
    StoreRefused,
    Throttled,
    TokenReused,
    TransactionConflict,
    TransientFailure,
)

HEAD, SEGMENT = Key(Table.RUNS, "RUN#r", "HEAD"), Key(Table.RUNS, "RUN#r", "SEG#1")
FIRST = Rule("same_revision", Compare(("revision",), "=", 1), "a test")
NEW = Rule("new_item", Absent(("pk",)), "a test")
WRITES: list[Write] = [
    Update(HEAD, (FIRST,), add={("revision",): 1}),
    Put(SEGMENT, {"commit_id": "c"}, (NEW,)),
]
OLD_HEAD = {"pk": {"S": "RUN#r"}, "sk": {"S": "HEAD"}, "revision": {"N": "2"}}
NONE = {"Code": "None"}


class Stubbed:
    """A store whose next answers are given."""

    def __init__(self) -> None:
        self.client = dynamodb_client()
        self.stubber = Stubber(self.client)
        self.store = DynamoDBItemStore(self.client, lambda table: table.value)

    def fails(self, operation: str, code: str, status: int = 400, **fields: Any) -> None:
        self.stubber.add_client_error(operation, code, "text", http_status_code=status, modeled_fields=fields)

    def cancels(self, *reasons: dict[str, Any]) -> None:
        fields: dict[str, Any] = {"CancellationReasons": list(reasons)} if reasons else {}
        self.fails("transact_write_items", "TransactionCanceledException", **fields)


@pytest.fixture
def stubbed() -> Iterator[Stubbed]:
    stub = Stubbed()
    with stub.stubber:
        yield stub


def transact(stubbed: Stubbed) -> None:
    stubbed.store.transact(WRITES, "token")


@pytest.mark.parametrize(
    ("reasons", "expected"),
    [
        ([{"Code": "TransactionConflict"}, NONE], TransactionConflict),
        ([NONE, {"Code": "ThrottlingError"}], Throttled),
        ([NONE, {"Code": "ProvisionedThroughputExceeded"}], Throttled),
        ([NONE, {"Code": "ConditionalCheckFailed"}], ConditionsFailed),
        ([NONE, {"Code": "ValidationError", "Message": "too big"}], StoreRefused),
        ([NONE, {"Code": "ItemCollectionSizeLimitExceeded"}], StoreRefused),
        # What was not looked at comes first: the same transaction again tells the rest.
        ([{"Code": "TransactionConflict"}, {"Code": "ConditionalCheckFailed"}], TransactionConflict),
        ([{"Code": "ThrottlingError"}, {"Code": "ConditionalCheckFailed"}], Throttled),
        # An update that no longer fits follows from the change that failed the other's rule.
        ([{"Code": "ValidationError"}, {"Code": "ConditionalCheckFailed"}], ConditionsFailed),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "+".join(r["Code"] for r in value),
)
def test_every_reason_of_a_cancelled_transaction_is_told_apart(
    stubbed: Stubbed, reasons: list[dict[str, Any]], expected: type[CasegraphError]
) -> None:
    stubbed.cancels(*reasons)
    with pytest.raises(CasegraphError) as raised:
        transact(stubbed)
    assert type(raised.value) is expected
    assert isinstance(raised.value.__cause__, ClientError)


def test_a_cancelled_transaction_tells_write_by_write_which_rules_failed(stubbed: Stubbed) -> None:
    stubbed.cancels({"Code": "ConditionalCheckFailed", "Item": OLD_HEAD}, {"Code": "ConditionalCheckFailed"})
    with pytest.raises(ConditionsFailed) as raised:
        transact(stubbed)
    told = [(f.index, f.rules, f.old_item) for f in raised.value.failures]
    assert told == [
        (0, ("same_revision",), {"pk": "RUN#r", "sk": "HEAD", "revision": 2}),
        (1, ("new_item",), None),
    ]


@pytest.mark.parametrize("reasons", [[], [NONE, {"Code": "AccessDenied"}]], ids=["none", "unknown"])
def test_a_reason_that_nobody_knows_is_not_guessed(stubbed: Stubbed, reasons: list[dict[str, Any]]) -> None:
    stubbed.cancels(*reasons)
    with pytest.raises(ClientError):
        transact(stubbed)


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        ("TransactionInProgressException", 400, OutcomeUnknown),
        ("IdempotentParameterMismatchException", 400, TokenReused),
        ("ThrottlingException", 400, Throttled),
        ("ProvisionedThroughputExceededException", 400, Throttled),
        ("RequestLimitExceeded", 400, Throttled),
        ("ValidationException", 400, StoreRefused),
        ("InternalServerError", 500, OutcomeUnknown),
        ("ServiceUnavailable", 503, OutcomeUnknown),
    ],
)
def test_every_error_of_a_transaction_is_told_apart(
    stubbed: Stubbed, code: str, status: int, expected: type[CasegraphError]
) -> None:
    stubbed.fails("transact_write_items", code, status)
    with pytest.raises(CasegraphError) as raised:
        transact(stubbed)
    assert type(raised.value) is expected


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        ("TransactionConflictException", 400, TransactionConflict),
        ("ProvisionedThroughputExceededException", 400, Throttled),
        ("ValidationException", 400, StoreRefused),
        ("InternalServerError", 500, OutcomeUnknown),
    ],
)
def test_every_error_of_a_single_write_is_told_apart(
    stubbed: Stubbed, code: str, status: int, expected: type[CasegraphError]
) -> None:
    stubbed.fails("update_item", code, status)
    with pytest.raises(CasegraphError) as raised:
        stubbed.store.write(WRITES[0])
    assert type(raised.value) is expected


@pytest.mark.parametrize("operation", ["get_item", "query"])
def test_a_read_that_failed_on_the_way_may_be_repeated(stubbed: Stubbed, operation: str) -> None:
    stubbed.fails(operation, "InternalServerError", 500)
    with pytest.raises(TransientFailure):
        stubbed.store.get(HEAD) if operation == "get_item" else stubbed.store.query(Table.RUNS, "RUN#r")


@pytest.mark.parametrize("code", ["AccessDeniedException", "ResourceNotFoundException"])
def test_what_is_no_part_of_the_protocol_is_raised_as_it_came(stubbed: Stubbed, code: str) -> None:
    stubbed.fails("get_item", code)
    with pytest.raises(ClientError):
        stubbed.store.get(HEAD)


def failing(error: Exception) -> DynamoDBItemStore:
    """A store whose requests end in a connection error."""
    client = dynamodb_client("http://127.0.0.1:9")

    def fail(**_: Any) -> None:
        raise error

    client.meta.events.register("before-send.dynamodb", fail)
    return DynamoDBItemStore(client, lambda table: table.value)


URL = "http://127.0.0.1:9"
CALLS: dict[str, Callable[[DynamoDBItemStore], object]] = {
    "read": lambda store: store.get(HEAD),
    "write": lambda store: store.write(WRITES[0]),
    "transact": lambda store: store.transact(WRITES, "token"),
}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "error",
    [ReadTimeoutError(endpoint_url=URL), ConnectionClosedError(endpoint_url=URL)],
    ids=lambda error: type(error).__name__,
)
def test_a_lost_reply_leaves_a_write_unknown_and_a_read_repeatable(call: str, error: Exception) -> None:
    with pytest.raises(TransientFailure if call == "read" else OutcomeUnknown):
        CALLS[call](failing(error))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "error",
    [ConnectTimeoutError(endpoint_url=URL), EndpointConnectionError(endpoint_url=URL)],
    ids=lambda error: type(error).__name__,
)
def test_what_was_never_sent_did_not_happen(call: str, error: Exception) -> None:
    with pytest.raises(TransientFailure):
        CALLS[call](failing(error))


def test_missing_credentials_are_no_transient_failure() -> None:
    with pytest.raises(NoCredentialsError):
        failing(NoCredentialsError()).get(HEAD)


def test_the_sdk_makes_one_attempt_only() -> None:
    client = dynamodb_client("http://127.0.0.1:9")
    sent: list[str] = []
    client.meta.events.register("before-send.dynamodb", lambda **_: sent.append("request"))
    with pytest.raises(TransientFailure):
        DynamoDBItemStore(client, lambda table: table.value).get(HEAD)
    assert sent == ["request"]


def test_a_batch_reads_on_while_some_keys_are_left_and_stops_when_none_is_answered(stubbed: Stubbed) -> None:
    keys = [Key(Table.RUNS, "RUN#r", f"SEG#{n}") for n in range(3)]

    def row(n: int) -> dict[str, Any]:
        return {"pk": {"S": "RUN#r"}, "sk": {"S": f"SEG#{n}"}}

    def answer(found: list[int], left: list[int]) -> dict[str, Any]:
        unread = {"runs": {"Keys": [row(n) for n in left], "ConsistentRead": True}} if left else {}
        return {"Responses": {"runs": [row(n) for n in found]}, "UnprocessedKeys": unread}

    stubbed.stubber.add_response("batch_get_item", answer([0], [1, 2]))
    stubbed.stubber.add_response("batch_get_item", answer([1, 2], []))
    assert list(stubbed.store.batch_get(keys)) == keys
    stubbed.stubber.add_response("batch_get_item", answer([0], [1, 2]))
    stubbed.stubber.add_response("batch_get_item", answer([], [1, 2]))
    with pytest.raises(Throttled):
        stubbed.store.batch_get(keys)


def test_a_check_in_a_transaction_is_told_like_any_other_write(stubbed: Stubbed) -> None:
    stubbed.cancels({"Code": "ConditionalCheckFailed", "Item": OLD_HEAD})
    with pytest.raises(ConditionsFailed) as raised:
        stubbed.store.transact([Check(HEAD, (NEW, FIRST))], "token")
    assert raised.value.failures[0].rules == ("new_item", "same_revision")
