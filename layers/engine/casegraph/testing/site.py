"""An installation in memory: stores, queue and outside of a test world, and the ports of each of its workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from casegraph.adapters.memory import MemoryBlobStore, MemoryItemStore, SeededIds
from casegraph.application.advance_run import advance_run
from casegraph.application.context import Ports
from casegraph.application.deliver_effect import deliver_effect
from casegraph.application.ports import Components
from casegraph.application.publish import publish
from casegraph.application.versions import StoredVersions, Versions
from casegraph.testing.faults import (
    CallCounter,
    Calm,
    FaultyBlobStore,
    FaultyItemStore,
    FaultyJobQueue,
    Gate,
    Nemesis,
)
from casegraph.testing.history import History, RecordingStore
from casegraph.testing.jobs import VirtualJobQueue
from casegraph.testing.outside import Notes, ScriptedComponents, ScriptedConnectors
from casegraph.testing.timeline import Invocation, SkewedClock, VirtualTime

# As in template.yaml: what one invocation of execute or dispatch may take.
INVOCATION_MILLISECONDS = 30_000


@dataclass(frozen=True, slots=True)
class Version:
    """A published version, as a run is started from it."""

    workflow_key: str
    version: int
    digest: str
    authority: str


class _NoComponents:
    """Nothing is known of components but what a bundle says itself."""

    def output_schema(self, component_id: str) -> dict[str, Any] | None:
        """See `ComponentSchemas.output_schema`."""
        return None


class Site:
    """Everything that outlives a worker. One seed decides every identity, jitter and fault."""

    def __init__(
        self, start_at: int, seed: object, nemesis: Nemesis | None = None, *, index_lag_milliseconds: int = 0
    ) -> None:
        self.seed = seed
        self.time = VirtualTime(start_at)
        self.nemesis: Nemesis = nemesis or Calm()
        self.counter = CallCounter()
        self.history = History()
        self.memory = MemoryItemStore(SkewedClock(self.time), index_lag_milliseconds=index_lag_milliseconds)
        self.store = RecordingStore(self.memory, self.time, self.history, self.nemesis.lag)
        self.blobs = MemoryBlobStore()
        self.queue = VirtualJobQueue(self.time)
        self.scripted = ScriptedComponents()
        self.components: Components = self.scripted
        self.connectors = ScriptedConnectors()
        self.notes = Notes()
        self.versions: Versions = StoredVersions(self.memory, self.blobs)
        self._published = 0

    def worker(
        self,
        name: str,
        *,
        skew: int = 0,
        pause: Callable[[str], None] = lambda name: None,
        sleep: Callable[[int], None] | None = None,
    ) -> Ports:
        """The ports of one worker: its own skewed clock, identities, and gate for faults."""
        gate = Gate(name, self.nemesis, self.counter, pause)
        return Ports(
            store=FaultyItemStore(self.store.as_writer(name), gate),
            blobs=FaultyBlobStore(self.blobs, gate),
            jobs=FaultyJobQueue(self.queue, gate),
            clock=SkewedClock(self.time, skew, sleep),
            ids=SeededIds(f"{self.seed}/{name}"),
            components=self.components,
            connectors=self.connectors,
            journal=self.notes,
            versions=self.versions,
        )

    def reader(self, name: str = "reader") -> Ports:
        """Ports for looking on and for setting up: nothing goes wrong for them, and their calls are not counted."""
        gate = Gate(name, Calm(), CallCounter(), lambda name: None)
        return replace(
            self.worker(name),
            store=FaultyItemStore(self.store.as_writer(name), gate),
            blobs=FaultyBlobStore(self.blobs, gate),
        )

    def publish(self, bundle: Mapping[str, Any]) -> Version:
        """Publish a canonical bundle. Raises `InvalidInput("graph_invalid")` with every problem."""
        self._published += 1
        done = publish(
            self.reader(f"publisher-{self._published}"),
            _NoComponents(),
            bundle["graph"]["key"],
            dict(bundle),
            by="world",
            idempotency_key=f"publish-{self._published}",
        )
        authority = self.versions.graph(done.digest).document.authority
        return Version(done.workflow_key, done.version, done.digest, authority)

    def invocation(self, milliseconds: int = INVOCATION_MILLISECONDS) -> Invocation:
        """The deadline of an invocation that starts now."""
        return Invocation(self.time, self.time.at + milliseconds)


def handle(ports: Ports, body: Mapping[str, Any], deadline: Invocation) -> str:
    """What the execute and dispatch functions do with one job."""
    if body["type"] == "advance_run":
        return advance_run(ports, body["run_id"], deadline).value
    return deliver_effect(ports, body["run_id"], body["effect_id"], deadline).value
