"""The adapters that the contract suites run on: memory, moto in this process, the local AWS process."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from moto import mock_aws

from casegraph.adapters.aws_clients import dynamodb_client, s3_client, sqs_client
from casegraph.adapters.clock import SystemClock
from casegraph.adapters.dynamodb.store import DynamoDBItemStore
from casegraph.adapters.memory import ManualClock, MemoryBlobStore, MemoryItemStore, MemoryJobQueue
from casegraph.adapters.s3 import S3BlobStore
from casegraph.adapters.sqs import SqsJobQueue
from casegraph.application.ports import BlobStore, ItemStore, JobQueue
from casegraph.domain.writes import Key, Table
from casegraph.runtime.settings import Settings
from tests.contract.tables import create_tables

ADAPTERS = (
    "memory",
    pytest.param("moto", marks=pytest.mark.moto),
    pytest.param("local", marks=pytest.mark.local_aws),
)


@pytest.fixture(params=ADAPTERS)
def adapter(request: pytest.FixtureRequest) -> str:
    """Which adapter this test runs on."""
    return str(request.param)


@pytest.fixture
def store(adapter: str, request: pytest.FixtureRequest) -> Iterator[ItemStore]:
    """An item store; the local one is shared, so tests write under `fresh` ids only."""
    if adapter == "memory":
        yield MemoryItemStore(ManualClock(1_000))
    elif adapter == "moto":
        with mock_aws():
            client = dynamodb_client()
            create_tables(client)
            yield DynamoDBItemStore(client, lambda table: table.value)
    else:
        settings: Settings = request.getfixturevalue("local_aws")
        yield DynamoDBItemStore(dynamodb_client(settings.aws_endpoint_url), settings.table_name)


@pytest.fixture
def blobs(adapter: str, request: pytest.FixtureRequest) -> Iterator[BlobStore]:
    """A blob store."""
    if adapter == "memory":
        yield MemoryBlobStore()
    elif adapter == "moto":
        with mock_aws():
            client = s3_client()
            client.create_bucket(Bucket="payloads")
            yield S3BlobStore(client, "payloads")
    else:
        settings: Settings = request.getfixturevalue("local_aws")
        yield S3BlobStore(s3_client(settings.aws_endpoint_url), settings.payload_bucket)


@dataclass(frozen=True)
class Jobs:
    """A job queue, and how a test takes a job's body from it (None: none that could be taken)."""

    queue: JobQueue
    take: Callable[[str], str | None]


@pytest.fixture
def jobs(adapter: str, request: pytest.FixtureRequest) -> Iterator[Jobs]:
    """A job queue with the consumer's side."""
    if adapter == "memory":
        memory = MemoryJobQueue(SystemClock())

        def take_from_memory(job_type: str) -> str | None:
            message = memory.pop(job_type)
            return None if message is None else message.body

        yield Jobs(memory, take_from_memory)
    elif adapter == "moto":
        with mock_aws():
            yield _sqs_jobs(None)
    else:
        settings: Settings = request.getfixturevalue("local_aws")
        yield _sqs_jobs(settings.aws_endpoint_url)


def _sqs_jobs(endpoint_url: str | None) -> Jobs:
    client = sqs_client(endpoint_url)
    # Queues of this test's own: the local run's could hold other tests' jobs.
    names = {t: f"{t.replace('_', '-')}-{uuid.uuid4().hex}" for t in ("advance_run", "deliver_effect")}
    urls = {t: client.create_queue(QueueName=name)["QueueUrl"] for t, name in names.items()}

    def take(job_type: str) -> str | None:
        messages = client.receive_message(QueueUrl=urls[job_type]).get("Messages", [])
        for message in messages:
            client.delete_message(QueueUrl=urls[job_type], ReceiptHandle=message["ReceiptHandle"])
        return messages[0]["Body"] if messages else None

    return Jobs(SqsJobQueue(client, urls["advance_run"], urls["deliver_effect"]), take)


@pytest.fixture
def fresh() -> Callable[..., Key]:
    """Keys that no other test has: `fresh("HEAD")`, `fresh("A", Table.REPORTS)`; all in one partition per table."""
    own = uuid.uuid4().hex

    def key(sk: str, table: Table = Table.RUNS) -> Key:
        return Key(table, f"TEST#{own}", sk)

    return key
