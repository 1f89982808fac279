"""How every SDK client is made: one attempt per call, short timeouts.

The SDK's own retries are off (protocol.md 3): it would repeat calls without knowing what they do, and hide from the
engine that an earlier attempt may have happened. Ours know what they repeat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import boto3
from botocore.config import Config

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sqs import SQSClient

# Making a connection inside a region takes milliseconds; a second is a lost packet, worth a new try.
CONNECT_TIMEOUT_SECONDS = 1
# Far above any answer of DynamoDB, far below an invocation, so that several tries fit.
READ_TIMEOUT_SECONDS = 5
# At least the threads of one process (limits.PARALLEL_CALLS_MAX), so that none waits for a connection.
MAX_CONNECTIONS = 32

CONFIG = Config(
    connect_timeout=CONNECT_TIMEOUT_SECONDS,
    read_timeout=READ_TIMEOUT_SECONDS,
    max_pool_connections=MAX_CONNECTIONS,
    retries={"total_max_attempts": 1, "mode": "standard"},
)


def dynamodb_client(endpoint_url: str | None = None) -> DynamoDBClient:
    """A client of DynamoDB; endpoint_url: of the local AWS process, None on AWS."""
    return boto3.client("dynamodb", endpoint_url=endpoint_url, config=CONFIG)


def s3_client(endpoint_url: str | None = None) -> S3Client:
    """A client of S3; endpoint_url: of the local AWS process, None on AWS."""
    path_style = CONFIG.merge(Config(s3={"addressing_style": "path"})) if endpoint_url else CONFIG
    return boto3.client("s3", endpoint_url=endpoint_url, config=path_style)


def sqs_client(endpoint_url: str | None = None) -> SQSClient:
    """A client of SQS; endpoint_url: of the local AWS process, None on AWS."""
    return boto3.client("sqs", endpoint_url=endpoint_url, config=CONFIG)
