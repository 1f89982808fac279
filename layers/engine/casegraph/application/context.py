"""What every use case is given: the ports, composed once per process (`runtime/container.py`) or per test world."""

from __future__ import annotations

from dataclasses import dataclass

from casegraph.application.ports import (
    BlobStore,
    Clock,
    Components,
    Connectors,
    Ids,
    ItemStore,
    JobQueue,
    Journal,
)
from casegraph.application.schemas import Schemas
from casegraph.application.versions import Versions


@dataclass(frozen=True)
class Ports:
    """The outside, as the use cases see it. installation_id stands on every record.

    schemas: checks payloads of events by key, which are matched long after their request; None: not checked.
    read_threads: how many index shards a list reads at the same time; 1 keeps a simulation deterministic.
    """

    store: ItemStore
    blobs: BlobStore
    jobs: JobQueue
    clock: Clock
    ids: Ids
    components: Components
    connectors: Connectors
    journal: Journal
    versions: Versions
    installation_id: str = "default"
    schemas: Schemas | None = None
    read_threads: int = 1
