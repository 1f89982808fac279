"""Connectors: what a receiver's answer means, where calls may go, and that nothing is recorded twice."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from casegraph.adapters.connector_registry import ConnectorRegistry
from casegraph.adapters.http_connector import ANSWER_MAX_BYTES, HttpConnector
from casegraph.adapters.memory import ManualClock, MemoryItemStore
from casegraph.adapters.public_address import is_public
from casegraph.adapters.recorder_connector import RecorderConnector, ledger_pk
from casegraph.application.connectors import connector_key
from casegraph.application.ports import (
    Applied,
    EffectRequest,
    NotFoundThere,
    Rejected,
    RetryLater,
    Unknown,
)
from casegraph.domain.writes import Key, Put, Table
from casegraph.errors import NodeFailed, OutcomeUnknown

REQUEST = EffectRequest("run-1.tell~1.~1", "mail", "send_message", "key-1", 2, {"to": "did:example:a"}, 2.0)


@dataclass
class Receiver:
    """A server on this machine that answers as it is told. status 0: it hangs up; -1: it never answers."""

    status: int = 200
    body: bytes = b'{"receipt": "r1"}'
    headers: dict[str, str] = field(default_factory=dict)
    seen: list[tuple[dict[str, str], Any]] = field(default_factory=list)
    port: int = 0
    stopping: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    state = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            state.seen.append(({k.lower(): v for k, v in self.headers.items()}, json.loads(body)))
            if state.status <= 0:
                if state.status < 0:
                    state.stopping.wait(5)
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self.send_response(state.status)
            for name, value in state.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(state.body)))
            self.end_headers()
            self.wfile.write(state.body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield state
    state.stopping.set()
    server.shutdown()
    thread.join()
    server.server_close()


def to(receiver: Receiver) -> HttpConnector:
    return HttpConnector(receiver.url, allowed_hosts=["127.0.0.1"])


def test_a_receiver_that_did_it_is_applied_with_its_answer(receiver: Receiver) -> None:
    assert to(receiver).deliver(REQUEST) == Applied({"status": 200, "answer": {"receipt": "r1"}})
    ((headers, body),) = receiver.seen
    assert headers["idempotency-key"] == "key-1"
    assert headers["host"] == f"127.0.0.1:{receiver.port}"
    assert body == {
        "effect_id": REQUEST.effect_id,
        "operation": "send_message",
        "attempt": 2,
        "payload": REQUEST.payload,
    }


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (204, Applied({"status": 204})),
        (302, Rejected("http_302")),
        (400, Rejected("http_400")),
        (404, Rejected("http_404")),
        (408, RetryLater("http_408")),
        (409, Rejected("http_409")),
        (425, RetryLater("http_425")),
        (429, RetryLater("http_429")),
        (500, Unknown("http_500")),
        (503, Unknown("http_503")),
    ],
)
def test_a_status_means_one_outcome(receiver: Receiver, status: int, outcome: object) -> None:
    receiver.status, receiver.body = status, b""
    receiver.headers = {"Location": receiver.url}
    assert to(receiver).deliver(REQUEST) == outcome
    assert len(receiver.seen) == 1


def test_a_connection_that_is_lost_after_sending_is_unknown(receiver: Receiver) -> None:
    receiver.status = 0
    assert isinstance(to(receiver).deliver(REQUEST), Unknown)


def test_a_receiver_that_does_not_answer_in_time_is_unknown(receiver: Receiver) -> None:
    receiver.status = -1
    request = EffectRequest("e", "mail", "send_message", "k", 1, {}, 0.2)
    assert to(receiver).deliver(request) == Unknown("receiver_timeout")


def test_a_receiver_that_cannot_be_reached_was_not_asked(receiver: Receiver) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/"
    assert HttpConnector(url, allowed_hosts=["127.0.0.1"]).deliver(REQUEST) == RetryLater("no_connection")


def test_an_answer_without_end_is_cut(receiver: Receiver) -> None:
    receiver.body = b"x" * (ANSWER_MAX_BYTES + 1)
    assert to(receiver).deliver(REQUEST) == Applied({"status": 200, "truncated": True})


def test_a_private_address_is_called_only_when_its_host_is_allowed(receiver: Receiver) -> None:
    assert HttpConnector(receiver.url).deliver(REQUEST) == Rejected("address_not_allowed")
    name = f"http://receiver.example:{receiver.port}/"
    inside = HttpConnector(name, resolver=lambda host, port: ["203.0.113.7", "10.0.0.7"])
    assert inside.deliver(REQUEST) == Rejected("address_not_allowed")
    assert receiver.seen == []


def test_the_address_that_was_checked_is_the_one_that_is_called(receiver: Receiver) -> None:
    answers = iter([["127.0.0.1"], ["10.0.0.7"]])
    name = f"http://receiver.example:{receiver.port}/"
    connector = HttpConnector(name, allowed_hosts=["receiver.example"], resolver=lambda *_: next(answers))
    assert isinstance(connector.deliver(REQUEST), Applied)
    assert receiver.seen[0][0]["host"] == f"receiver.example:{receiver.port}"


def test_a_name_that_does_not_resolve_is_tried_again() -> None:
    def nowhere(host: str, port: int) -> list[str]:
        raise socket.gaierror("no such name")

    assert HttpConnector("http://receiver.example/", resolver=nowhere).deliver(REQUEST) == RetryLater(
        "name_not_resolved"
    )


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "224.0.0.1",
        "255.255.255.255", "::1", "::", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1",
        "64:ff9b::a00:1", "2002:7f00:1::",
    ],
)  # fmt: skip
def test_these_addresses_are_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8"])
def test_these_addresses_are_public(address: str) -> None:
    assert is_public(address)


def test_the_recorder_keeps_one_row_for_one_operation_key() -> None:
    store, clock = MemoryItemStore(ManualClock()), ManualClock()
    recorder = RecorderConnector(store, clock)
    assert recorder.look_up(REQUEST) == NotFoundThere()
    first, second = recorder.deliver(REQUEST), recorder.deliver(REQUEST)
    assert first == second == recorder.look_up(REQUEST) == Applied({"receipt": "key-1"})
    (row,) = store.query(Table.CATALOG, ledger_pk("mail")).items
    assert (row["sk"], row["calls"], json.loads(row["payload"])) == ("key-1", 2, REQUEST.payload)


def test_a_recorder_whose_store_does_not_say_leaves_the_outcome_unknown() -> None:
    class Silent(MemoryItemStore):
        def write(self, write: Any) -> Any:
            raise OutcomeUnknown("lost")

    assert RecorderConnector(Silent(ManualClock()), ManualClock()).deliver(REQUEST) == Unknown(
        "outcome_unknown"
    )


def put(store: MemoryItemStore, **settings: Any) -> None:
    key = connector_key("mail")
    store.write(Put(key, {"pk": key.pk, "sk": key.sk, "settings": settings}, ()))


def test_a_connector_is_unknown_until_it_was_put() -> None:
    clock = ManualClock()
    store = MemoryItemStore(clock)
    registry = ConnectorRegistry(store, clock)
    with pytest.raises(NodeFailed, match="mail") as caught:
        registry.get("mail")
    assert caught.value.code == "connector_unknown"
    put(store, kind="recorder")
    assert isinstance(registry.get("mail"), RecorderConnector)


def test_a_change_of_a_connector_is_seen_within_seconds() -> None:
    clock = ManualClock()
    store = MemoryItemStore(clock)
    put(store, kind="recorder")
    registry = ConnectorRegistry(store, clock)
    first = registry.get("mail")
    put(store, kind="http", url="https://receiver.example/", visibility_seconds=5)
    assert registry.get("mail") is first
    clock.advance(5_000)
    changed = registry.get("mail")
    assert isinstance(changed, HttpConnector)
    assert changed.visibility_seconds == 5
    clock.advance(5_000)
    assert registry.get("mail") is changed


def test_the_local_run_records_what_an_unknown_connector_would_send() -> None:
    clock = ManualClock()
    registry = ConnectorRegistry(MemoryItemStore(clock), clock, fallback={"kind": "recorder"})
    assert isinstance(registry.get("anything"), RecorderConnector)


def test_the_key_of_a_ledger_is_its_connector() -> None:
    assert Key(Table.CATALOG, ledger_pk("a"), "x") != Key(Table.CATALOG, ledger_pk("b"), "x")
