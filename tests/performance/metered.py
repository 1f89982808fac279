"""The real use cases on the metered memory store: what they ask of AWS is counted exactly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from casegraph.adapters.memory import ManualClock, MemoryBlobStore, MemoryItemStore, MemoryJobQueue, SeededIds
from casegraph.adapters.meter import Meter, MeteredBlobStore, MeteredItemStore, MeteredJobQueue
from casegraph.application.advance_run import Advanced, advance_run
from casegraph.application.context import Ports
from casegraph.application.deliver_effect import deliver_effect
from casegraph.application.publish import Published, publish
from casegraph.application.start_run import NewRun, start_run
from casegraph.application.versions import StoredVersions
from casegraph.domain.ids import derived_id
from casegraph.testing.outside import Notes, ScriptedComponents, ScriptedConnectors

START_AT = 1_800_000_000_000


class _Minute:
    """An invocation with plenty of time."""

    def remaining_milliseconds(self) -> int:
        """See `Deadline.remaining_milliseconds`."""
        return 60_000


class _NoSchemas:
    """Components say nothing of their results."""

    def output_schema(self, component_id: str) -> dict[str, Any] | None:
        """See `ComponentSchemas.output_schema`."""
        return None


class Metered:
    """One installation whose every store and queue call is counted in `meter`."""

    def __init__(self) -> None:
        self.meter = Meter()
        self.clock = ManualClock(START_AT)
        self.memory = MemoryItemStore(self.clock)
        self.queue = MemoryJobQueue(self.clock)
        self.components = ScriptedComponents()
        self.connectors = ScriptedConnectors()
        blobs = MeteredBlobStore(MemoryBlobStore(), self.meter)
        store = MeteredItemStore(self.memory, self.meter)
        self.ports = Ports(
            store=store,
            blobs=blobs,
            jobs=MeteredJobQueue(self.queue, self.meter),
            clock=self.clock,
            ids=SeededIds(1),
            components=self.components,
            connectors=self.connectors,
            journal=Notes(),
            versions=StoredVersions(store, blobs),
        )
        self._started = 0

    def publish(self, bundle: Mapping[str, Any]) -> Published:
        """Publish, and load the version once, as a warm function has."""
        key = bundle["graph"]["key"]
        version = publish(
            self.ports, _NoSchemas(), key, dict(bundle), by="measure", idempotency_key=f"{key}-published"
        )
        self.ports.versions.graph(version.digest)
        return version

    def start(self, version: Published, given: Any = None) -> str:
        """Start one run."""
        self._started += 1
        run_id = derived_id("run", version.digest, self._started)
        new = NewRun(
            run_id=run_id,
            workflow_key=version.workflow_key,
            version=version.version,
            digest=version.digest,
            authority="assist",
            input={} if given is None else given,
            started_by="measure",
        )
        start_run(self.ports, new)
        return run_id

    def burst(self, run_id: str) -> Advanced:
        """One pass over one run."""
        return advance_run(self.ports, run_id, _Minute())

    def settle(self) -> None:
        """Do every job that is due now."""
        while True:
            message = self.queue.pop("advance_run") or self.queue.pop("deliver_effect")
            if message is None:
                return
            job = json.loads(message.body)
            if job["type"] == "advance_run":
                advance_run(self.ports, job["run_id"], _Minute())
            else:
                deliver_effect(self.ports, job["run_id"], job["effect_id"], _Minute())
            self.queue.done(message)
