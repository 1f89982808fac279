"""A worker treats a batch as Lambda's poller does: what the handler named as failed stays in the queue."""

from __future__ import annotations

from typing import Any, cast

import pytest

from casegraph.local.workers import Source, serve_once


class Sqs:
    """A queue that hands out one batch and remembers what was deleted."""

    def __init__(self, *bodies: str) -> None:
        self.messages = [
            {
                "MessageId": f"m{n}",
                "ReceiptHandle": f"h{n}",
                "Body": body,
                "Attributes": {"ApproximateReceiveCount": "1"},
            }
            for n, body in enumerate(bodies)
        ]
        self.deleted: list[str] = []

    def receive_message(self, **request: Any) -> dict[str, Any]:
        assert request["VisibilityTimeout"] > 0
        return {"Messages": self.messages} if self.messages else {}

    def delete_message_batch(self, **request: Any) -> None:
        self.deleted += [entry["ReceiptHandle"] for entry in request["Entries"]]


def served(sqs: Sqs, handler: Any) -> tuple[int, list[str]]:
    source = Source("execute", "http://127.0.0.1:1/000000000000/execute", handler, 10, 1)
    return serve_once(cast(Any, sqs), source, 0), sqs.deleted


def test_messages_come_as_lambda_sends_them() -> None:
    events: list[dict[str, Any]] = []
    served(Sqs("one", "two"), events.append)
    first, second = events[0]["Records"]
    assert (first["messageId"], first["body"], second["body"]) == ("m0", "one", "two")
    assert first["attributes"] == {"ApproximateReceiveCount": "1"}
    assert (first["eventSource"], first["eventSourceARN"][-8:]) == ("aws:sqs", ":execute")


def test_what_succeeded_is_deleted() -> None:
    assert served(Sqs("a", "b"), lambda event: {"batchItemFailures": []}) == (2, ["h0", "h1"])


def test_what_failed_stays() -> None:
    answer = {"batchItemFailures": [{"itemIdentifier": "m0"}]}
    assert served(Sqs("a", "b"), lambda event: answer) == (2, ["h1"])


@pytest.mark.parametrize("identifier", ["", None])
def test_an_answer_that_names_no_message_fails_the_whole_batch(identifier: str | None) -> None:
    answer = {"batchItemFailures": [{"itemIdentifier": identifier}]}
    assert served(Sqs("a", "b"), lambda event: answer) == (2, [])


def test_a_handler_that_raises_leaves_its_batch(caplog: pytest.LogCaptureFixture) -> None:
    def handler(event: dict[str, Any]) -> None:
        raise ValueError("broken")

    assert served(Sqs("a"), handler) == (1, [])
    assert "execute failed" in caplog.text


def test_an_empty_queue_calls_nobody() -> None:
    assert served(Sqs(), lambda event: pytest.fail("called without a message")) == (0, [])
