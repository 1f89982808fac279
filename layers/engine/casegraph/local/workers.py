"""What Lambda's pollers and EventBridge do on AWS: threads that take jobs from the real queues and call the handlers.

A message is deleted when the handler did not name it as failed; everything else comes back after the visibility
timeout, as does all that a killed process held.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from casegraph.local.credentials import LOCAL_CREDENTIALS, REGION
from casegraph.local.sqs_event import failed_ids, to_event
from casegraph.runtime.settings import Settings

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_sqs.type_defs import MessageTypeDef

LOGGER = logging.getLogger("casegraph.local")
# One invocation on a laptop. On AWS it is a minute; here a killed process should be waited for less long, but one
# call of a component or connector (10 s) and a commit must fit.
INVOCATION_SECONDS = 20.0
# Longer than an invocation, the skew of lease and writer and a little more: a job that comes back finds its run's
# lease expired, so that work goes on at once after a kill.
VISIBILITY_SECONDS = 28
# Shorter than SQS's most (20 s), so that Ctrl-C is answered soon.
LONG_POLL_SECONDS = 2
EXECUTE_THREADS = 3
DISPATCH_THREADS = 2
DISPATCH_BATCH = 10
RECONCILE_SECONDS = 5.0
# After an error of the queue itself (the AWS process restarts).
ERROR_PAUSE_SECONDS = 1.0

Invoke = Callable[[dict[str, Any]], Any]


@dataclass(frozen=True, slots=True)
class Source:
    """One queue and the function that it feeds."""

    name: str
    queue_url: str
    invoke: Invoke
    batch_size: int
    threads: int


class Workers:
    """All threads of the local run."""

    def __init__(self, settings: Settings, execute: Invoke, dispatch: Invoke, reconcile: Invoke) -> None:
        self._settings = settings
        self._sources = (
            Source("execute", settings.execute_queue_url, execute, 1, EXECUTE_THREADS),
            Source("dispatch", settings.dispatch_queue_url, dispatch, DISPATCH_BATCH, DISPATCH_THREADS),
        )
        self._reconcile = reconcile
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start polling and sweeping; the first sweep is at once, for what an earlier process left."""
        for source in self._sources:
            for number in range(source.threads):
                self._spawn(f"{source.name}-{number}", partial(self._poll, source))
        self._spawn("reconcile", self._sweep)

    def stop(self) -> None:
        """Let every invocation that is under way end, and take no more messages."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _spawn(self, name: str, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _poll(self, source: Source) -> None:
        sqs = _client(self._settings)
        while not self._stopping.is_set():
            try:
                serve_once(sqs, source, LONG_POLL_SECONDS)
            except (BotoCoreError, ClientError) as error:
                LOGGER.warning("%s: the queue does not answer (%s)", source.name, type(error).__name__)
                self._stopping.wait(ERROR_PAUSE_SECONDS)

    def _sweep(self) -> None:
        while not self._stopping.is_set():
            try:
                self._reconcile({"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}})
            except Exception:
                # As on AWS: a failed invocation is logged, and the schedule invokes again.
                LOGGER.exception("reconcile failed")
            self._stopping.wait(RECONCILE_SECONDS)


def serve_once(sqs: SQSClient, source: Source, wait_seconds: int) -> int:
    """Take one batch, call the function, delete what succeeded; how many messages came."""
    received = sqs.receive_message(
        QueueUrl=source.queue_url,
        MaxNumberOfMessages=source.batch_size,
        WaitTimeSeconds=wait_seconds,
        VisibilityTimeout=VISIBILITY_SECONDS,
        MessageSystemAttributeNames=["All"],
    )
    messages = received.get("Messages", [])
    if messages:
        _delete(sqs, source, _succeeded(source, messages))
    return len(messages)


def _succeeded(source: Source, messages: list[MessageTypeDef]) -> list[MessageTypeDef]:
    try:
        failed = failed_ids(source.invoke(to_event(messages, source.queue_url.rpartition("/")[2])))
    except Exception:
        # As on AWS: an invocation that raised leaves its whole batch in the queue.
        LOGGER.exception("%s failed", source.name)
        return []
    return [] if failed is None else [m for m in messages if m["MessageId"] not in failed]


def _delete(sqs: SQSClient, source: Source, messages: list[MessageTypeDef]) -> None:
    if not messages:
        return
    sqs.delete_message_batch(
        QueueUrl=source.queue_url,
        Entries=[
            {"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]}
            for number, message in enumerate(messages)
        ],
    )


def _client(settings: Settings) -> SQSClient:
    return boto3.session.Session().client(
        "sqs",
        endpoint_url=settings.aws_endpoint_url,
        region_name=REGION,
        aws_access_key_id=LOCAL_CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=LOCAL_CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
        config=Config(read_timeout=LONG_POLL_SECONDS + 10, retries={"max_attempts": 1, "mode": "standard"}),
    )
