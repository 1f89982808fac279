"""The job queues on SQS: one queue for each type of job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from casegraph.adapters.aws_errors import translating
from casegraph.adapters.refusals import JOB_TYPES, check_job

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient


class SqsJobQueue:
    """The `JobQueue` port. client: made by `aws_clients.sqs_client`."""

    def __init__(self, client: SQSClient, execute_queue_url: str, dispatch_queue_url: str) -> None:
        self._client = client
        self._urls = dict(zip(JOB_TYPES, (execute_queue_url, dispatch_queue_url), strict=True))

    def send(self, job: Mapping[str, Any], delay_seconds: int = 0) -> None:
        """See `JobQueue.send`."""
        check_job(job, delay_seconds)
        body = json.dumps(dict(job), separators=(",", ":"))
        with translating("write"):
            self._client.send_message(
                QueueUrl=self._urls[job["type"]], MessageBody=body, DelaySeconds=delay_seconds
            )

    def depth(self, job_type: str) -> int:
        """See `JobQueue.depth`: SQS's approximate number of visible messages."""
        with translating("read"):
            answer = self._client.get_queue_attributes(
                QueueUrl=self._urls[job_type], AttributeNames=["ApproximateNumberOfMessages"]
            )
        return int(answer["Attributes"]["ApproximateNumberOfMessages"])
