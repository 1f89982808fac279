"""DynamoDB's errors, translated once: by code and reason, most specific first, never by message text.

ConditionalCheckFailedException    ConditionsFailed, with the old item
TransactionCanceledException       by its reasons, item by item (see `_cancelled`)
TransactionConflictException       TransactionConflict
TransactionInProgressException     OutcomeUnknown: an identical transaction is still under way
IdempotentParameterMismatch...     TokenReused
ValidationException                StoreRefused
throttles, 5xx, lost connections   see adapters/aws_errors.py
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from casegraph.adapters.aws_errors import Kind, common_error, error_code
from casegraph.adapters.dynamodb.marshal import from_attributes
from casegraph.adapters.evaluate import failed_rules
from casegraph.domain.writes import Write
from casegraph.errors import (
    CasegraphError,
    ConditionsFailed,
    ItemFailure,
    OutcomeUnknown,
    StoreRefused,
    Throttled,
    TokenReused,
    TransactionConflict,
)

THROTTLED_REASONS = frozenset({"ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded"})
REFUSED_REASONS = frozenset({"ValidationError", "ItemCollectionSizeLimitExceeded"})
REFUSED_CODES = frozenset({"ValidationException", "ItemCollectionSizeLimitExceededException"})


@contextmanager
def translating(kind: Kind, writes: Sequence[Write] = ()) -> Iterator[None]:
    """Raise what the SDK raises in the block as the engine's errors; unknown ones as they are.

    writes: what was sent, so that a failure names the rules that failed.
    """
    try:
        yield
    except (ClientError, BotoCoreError, ResponseParserError) as error:
        meant = _meaning(error, kind, writes)
        if meant is None:
            raise
        raise meant from error


def _meaning(error: Exception, kind: Kind, writes: Sequence[Write]) -> CasegraphError | None:
    if not isinstance(error, ClientError):
        return common_error(error, kind)
    # Beside `Error`, DynamoDB puts `Item` and `CancellationReasons` into the response.
    response: dict[str, Any] = dict(error.response)
    match error_code(error):
        case "ConditionalCheckFailedException":
            return ConditionsFailed([_failure(0, writes[0], response.get("Item"))])
        case "TransactionCanceledException":
            return _cancelled(response.get("CancellationReasons") or [], writes)
        case "TransactionConflictException":
            return TransactionConflict("another write was under way on this item")
        case "TransactionInProgressException":
            return OutcomeUnknown("the identical transaction is still under way; resend it")
        case "IdempotentParameterMismatchException":
            return TokenReused(
                "another transaction was sent with this token; a changed body takes a new token"
            )
        case code if code in REFUSED_CODES:
            return StoreRefused(
                f"{error.operation_name} was refused ({code}): {response['Error']['Message']}"
            )
        case _:
            return common_error(error, kind)


def _cancelled(reasons: Sequence[dict[str, Any]], writes: Sequence[Write]) -> CasegraphError | None:
    """What a cancelled transaction means.

    A conflict or throttle comes before failed conditions: its item was not looked at, so the picture is incomplete, and
    the same transaction once more gives the whole of it. A refusal comes last: it may follow from a failed condition.
    """
    codes = [reason.get("Code", "None") for reason in reasons]
    if "TransactionConflict" in codes:
        busy = [
            str(writes[number].key.sk) for number, code in enumerate(codes) if code == "TransactionConflict"
        ]
        return TransactionConflict(f"another write was under way on {', '.join(busy)}")
    if THROTTLED_REASONS & set(codes):
        return Throttled("a transaction was throttled")
    failures = [
        _failure(number, writes[number], reason.get("Item"))
        for number, reason in enumerate(reasons)
        if reason.get("Code") == "ConditionalCheckFailed"
    ]
    if failures:
        return ConditionsFailed(failures)
    for number, reason in enumerate(reasons):
        if reason.get("Code") in REFUSED_REASONS:
            return StoreRefused(f"write {number} was refused ({reason['Code']}): {reason.get('Message', '')}")
    return None


def _failure(number: int, write: Write, attributes: dict[str, Any] | None) -> ItemFailure:
    old = from_attributes(attributes) if attributes else None
    # DynamoDB evaluated the very item that it returned, so at least one rule fails; if not, all are named.
    failed = failed_rules(write.rules, old) or tuple(rule.name for rule in write.rules)
    return ItemFailure(number, failed, old)
