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
from casegraph.application.versions import Versions


@dataclass(frozen=True)
class Ports:
    """The outside, as the use cases see it. installation_id stands on every record.

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
    read_threads: int = 1
