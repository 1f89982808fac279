"""Counts what the engine asks of AWS: requests, units, bytes and the partition keys that take the writes.

`MeteredItemStore` wraps the memory store, where old and new item are known, so its units are exact (the local AWS
process's consumed capacity is not). `watch` hooks an SDK client, where only requests and bytes can be seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from casegraph.adapters.indexes import index_of
from casegraph.adapters.memory import MemoryItemStore
from casegraph.adapters.sizes import item_size
from casegraph.adapters.units import (
    EVENTUAL_FACTOR,
    TRANSACTION_FACTOR,
    index_entry,
    index_writes,
    read_units,
    write_units,
)
from casegraph.adapters.values import normal_item
from casegraph.application.ports import BlobStore, JobQueue, Page
from casegraph.domain.writes import Delete, Item, Key, Put, Table, Update, Write
from casegraph.errors import ConditionsFailed
from casegraph.limits import STORE_BATCH_GET_MAX_KEYS

# A query reads at most this much for one request.
QUERY_PAGE_BYTES = 1_048_576


@dataclass
class Meter:
    """Counts of one measurement. `reset` starts the next one. Thread-safe.

    table_writes, table_reads: units by "<table>/<kind of item>" (the sort key's first part: HEAD, SEG, TASK, ...);
    index_writes, index_reads: units by "<table>/<index>"; keys: write units by "<table>/<pk>" and
    "<table>/<index>/<partition key>"; failed: refused conditional calls by operation.
    """

    requests: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    table_writes: Counter[str] = field(default_factory=Counter)
    index_writes: Counter[str] = field(default_factory=Counter)
    table_reads: Counter[str] = field(default_factory=Counter)
    index_reads: dict[str, float] = field(default_factory=dict)
    keys: Counter[str] = field(default_factory=Counter)
    bytes_written: int = 0
    bytes_read: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False)

    def reset(self) -> None:
        """Forget everything."""
        with self._lock:
            for counts in (self.requests, self.failed, self.table_writes, self.index_writes):
                counts.clear()
            for more in (self.table_reads, self.keys):
                more.clear()
            self.index_reads.clear()
            self.bytes_written = self.bytes_read = 0

    @property
    def write_units(self) -> int:
        """Units of tables and indexes together."""
        return self.table_writes.total() + self.index_writes.total()

    @property
    def read_units(self) -> float:
        """Units of tables and indexes together."""
        return self.table_reads.total() + sum(self.index_reads.values())

    def request(self, operation: str, count: int = 1, *, sent: int = 0, received: int = 0) -> None:
        """Count requests, and the bytes that went each way."""
        with self._lock:
            self.requests[operation] += count
            self.bytes_written += sent
            self.bytes_read += received

    def wrote(self, key: Key, old: Item | None, new: Item | None, *, in_transaction: bool) -> None:
        """Count one item that was written, deleted or (old is new) checked."""
        units = write_units(old, new, in_transaction=in_transaction)
        with self._lock:
            self.table_writes[_kind(key.table, key.sk)] += units
            self.keys[f"{key.table}/{key.pk}"] += units
            self.bytes_written += 0 if new is old else item_size(new)
            for index, partition, index_units in index_writes(key.table, old, new):
                self.index_writes[f"{key.table}/{index.name}"] += index_units
                self.keys[f"{key.table}/{index.name}/{partition}"] += index_units

    def read(self, kind: str, size_bytes: int, factor: int = 1) -> None:
        """Count a strongly consistent read; factor: 2 in a transaction."""
        with self._lock:
            self.table_reads[kind] += read_units(size_bytes) * factor
            self.bytes_read += size_bytes

    def read_index(self, name: str, size_bytes: int) -> None:
        """Count an eventually consistent read."""
        with self._lock:
            units = read_units(size_bytes) * EVENTUAL_FACTOR
            self.index_reads[name] = self.index_reads.get(name, 0.0) + units
            self.bytes_read += size_bytes

    def report(self) -> dict[str, Any]:
        """Everything as plain JSON; `largest_key` is the key that took most of the write units, and its share."""
        with self._lock:
            key, units = self.keys.most_common(1)[0] if self.keys else ("", 0)
            return {
                "requests": dict(sorted(self.requests.items())),
                "failed": dict(sorted(self.failed.items())),
                "write_units": {
                    "total": self.write_units,
                    "tables": dict(sorted(self.table_writes.items())),
                    "indexes": dict(sorted(self.index_writes.items())),
                },
                "read_units": {
                    "total": self.read_units,
                    "tables": dict(sorted(self.table_reads.items())),
                    "indexes": dict(sorted(self.index_reads.items())),
                },
                "bytes": {"written": self.bytes_written, "read": self.bytes_read},
                "keys": len(self.keys),
                "largest_key": {"key": key, "share": units / self.write_units if self.write_units else 0.0},
            }


class MeteredItemStore:
    """The memory store with every call counted as DynamoDB would charge it."""

    def __init__(self, inner: MemoryItemStore, meter: Meter) -> None:
        self.inner = inner
        self.meter = meter

    def get(self, key: Key) -> Item | None:
        """See `ItemStore.get`."""
        item = self.inner.get(key)
        self.meter.request("GetItem")
        self.meter.read(_kind(key.table, key.sk), item_size(item))
        return item

    def batch_get(self, keys: Sequence[Key]) -> dict[Key, Item]:
        """See `ItemStore.batch_get`."""
        found = self.inner.batch_get(keys)
        wanted = dict.fromkeys(keys)
        self.meter.request("BatchGetItem", -(-len(wanted) // STORE_BATCH_GET_MAX_KEYS))
        for key in wanted:
            self.meter.read(_kind(key.table, key.sk), item_size(found.get(key)))
        return found

    def query(
        self,
        table: Table,
        pk: str,
        *,
        prefix: str = "",
        after: str | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> Page:
        """See `ItemStore.query`."""
        page = self.inner.query(table, pk, prefix=prefix, after=after, limit=limit, newest_first=newest_first)
        self._queried(_kind(table, prefix), sum(map(item_size, page.items)))
        return page

    def count(self, table: Table, pk: str, *, prefix: str = "") -> int:
        """See `ItemStore.count`: charged like reading what is counted."""
        number = self.inner.count(table, pk, prefix=prefix)
        items = self.inner.query(table, pk, prefix=prefix, limit=max(1, number)).items
        self._queried(_kind(table, prefix), sum(map(item_size, items)))
        return number

    def query_index(
        self,
        table: Table,
        index: str,
        pk: str,
        *,
        low: int | str | None = None,
        high: int | str | None = None,
        after: Any | None = None,
        limit: int = 100,
        newest_first: bool = False,
    ) -> Page:
        """See `ItemStore.query_index`."""
        page = self.inner.query_index(
            table, index, pk, low=low, high=high, after=after, limit=limit, newest_first=newest_first
        )
        size = sum(item_size(index_entry(index_of(table, index), item)) for item in page.items)
        self.meter.request("Query", max(1, -(-size // QUERY_PAGE_BYTES)))
        self.meter.read_index(f"{table}/{index}", size)
        return page

    def write(self, write: Write) -> Item | None:
        """See `ItemStore.write`."""
        operation = {Put: "PutItem", Update: "UpdateItem", Delete: "DeleteItem"}.get(type(write), "")
        old = self.inner.peek(write.key)
        self.meter.request(operation)
        try:
            answer = self.inner.write(write)
        except ConditionsFailed:
            self._refused(operation, [write], in_transaction=False)
            raise
        self.meter.wrote(write.key, old, self.inner.peek(write.key), in_transaction=False)
        return answer

    def transact(self, writes: Sequence[Write], token: str) -> None:
        """See `ItemStore.transact`. A resend under its token is charged as transactional reads."""
        olds = [self.inner.peek(write.key) for write in writes]
        resent = self.inner.knows_token(token)
        self.meter.request("TransactWriteItems")
        try:
            self.inner.transact(writes, token)
        except ConditionsFailed:
            self._refused("TransactWriteItems", writes, in_transaction=True)
            raise
        for write, old in zip(writes, olds, strict=True):
            new = self.inner.peek(write.key)
            if resent:
                self.meter.read(_kind(write.key.table, write.key.sk), item_size(new), TRANSACTION_FACTOR)
            else:
                self.meter.wrote(write.key, old, new, in_transaction=True)

    def _queried(self, kind: str, size_bytes: int) -> None:
        self.meter.request("Query", max(1, -(-size_bytes // QUERY_PAGE_BYTES)))
        self.meter.read(kind, size_bytes)

    def _refused(self, operation: str, writes: Sequence[Write], *, in_transaction: bool) -> None:
        """A refused write is charged by the larger of the item that is there and the one that was put.

        AWS says so of single writes; for a cancelled transaction it tells nothing, so this is the upper bound.
        """
        self.meter.failed[operation] += 1
        for write in writes:
            old = self.inner.peek(write.key)
            put = normal_item(write.item) if isinstance(write, Put) else None
            units = write_units(old, put, in_transaction=in_transaction)
            self.meter.table_writes[_kind(write.key.table, write.key.sk)] += units
            self.meter.keys[f"{write.key.table}/{write.key.pk}"] += units


class MeteredJobQueue:
    """A job queue whose sends are counted."""

    def __init__(self, inner: JobQueue, meter: Meter) -> None:
        self.inner = inner
        self.meter = meter

    def send(self, job: Mapping[str, Any], delay_seconds: int = 0) -> None:
        """See `JobQueue.send`."""
        self.meter.request("SendMessage")
        self.inner.send(job, delay_seconds)

    def depth(self, job_type: str) -> int:
        """See `JobQueue.depth`."""
        self.meter.request("GetQueueAttributes")
        return self.inner.depth(job_type)


class MeteredBlobStore:
    """A blob store whose calls are counted."""

    def __init__(self, inner: BlobStore, meter: Meter) -> None:
        self.inner = inner
        self.meter = meter

    def put(self, name: str, body: bytes) -> None:
        """See `BlobStore.put`."""
        self.meter.request("PutObject", sent=len(body))
        self.inner.put(name, body)

    def get(self, name: str) -> bytes | None:
        """See `BlobStore.get`."""
        body = self.inner.get(name)
        self.meter.request("GetObject", received=len(body or b""))
        return body

    def delete(self, name: str) -> None:
        """See `BlobStore.delete`."""
        self.meter.request("DeleteObject")
        self.inner.delete(name)


def watch(client: Any, meter: Meter) -> None:
    """Count the requests and body bytes of an SDK client (botocore's events), by operation."""

    def before(model: Any, params: Mapping[str, Any], **_: Any) -> None:
        body = params.get("body") or b""
        meter.request(model.name, sent=len(body) if isinstance(body, bytes | str) else 0)

    def after(model: Any, http_response: Any, **_: Any) -> None:
        # Reading a streamed body here would take it from the caller.
        if model.has_streaming_output:
            received = int(http_response.headers.get("Content-Length", 0))
        else:
            received = len(http_response.content)
        meter.request(model.name, 0, received=received)

    client.meta.events.register("before-call.*.*", before)
    client.meta.events.register("after-call.*.*", after)


def _kind(table: Table, sk: str) -> str:
    return f"{table}/{sk.split('#', 1)[0]}"
