"""Messages of a queue as the event that Lambda's event source mapping sends to a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from casegraph.local.credentials import REGION

if TYPE_CHECKING:
    from mypy_boto3_sqs.type_defs import MessageTypeDef


def to_event(messages: Sequence[MessageTypeDef], queue_name: str) -> dict[str, Any]:
    """The event of one batch (docs.aws.amazon.com/lambda/latest/dg/with-sqs.html)."""
    arn = f"arn:aws:sqs:{REGION}:000000000000:{queue_name}"
    return {"Records": [_record(message, arn) for message in messages]}


def failed_ids(response: Any) -> set[str] | None:
    """Message ids of a partial batch response; None: the whole batch failed (an answer that Lambda would not take)."""
    if response is None:
        return set()
    failures = response.get("batchItemFailures") if isinstance(response, Mapping) else None
    if failures is None:
        return set()
    ids = {failure.get("itemIdentifier") for failure in failures}
    return None if None in ids or "" in ids else {str(i) for i in ids}


def _record(message: MessageTypeDef, arn: str) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": dict(message.get("Attributes", {})),
        "messageAttributes": {},
        "md5OfBody": message.get("MD5OfBody", ""),
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
        "awsRegion": REGION,
    }
