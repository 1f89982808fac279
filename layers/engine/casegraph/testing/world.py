"""The test kit: the real application code on memory stores and a virtual clock (architecture.md 10).

    world = World(start="2026-01-01T00:00:00Z", seed=1)
    world.component("text-signals", lambda input: {"severity": 4})
    world.connector("mail", outcomes=[Applied({"receipt": "r1"})])
    version = world.publish(bundle)
    run = world.start(version, input={...})
    world.settle()
    world.advance("3d")
    world.complete(world.task(run), by="reviewer-1", response={"outcome": "remove"})
    world.run(run).state

Everything happens in this thread. Time moves only in `advance` (and while the code itself sleeps).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from casegraph.application.accept_event import Accepted, Event, accept_for_run
from casegraph.application.context import Ports
from casegraph.application.control_run import Control, Controlled, pause, resume, terminate
from casegraph.application.intake_report import NewReport, TakenIn, intake_report, queue_of
from casegraph.application.parked_events import accept_by_key
from casegraph.application.ports import Connector
from casegraph.application.queues import pin_version, put_queue
from casegraph.application.reconcile import reconcile
from casegraph.application.start_run import NewRun, start_run
from casegraph.authoring.folder import load_bundle
from casegraph.domain.ids import derived_id
from casegraph.domain.task import OPEN_STATES
from casegraph.domain.writes import Item
from casegraph.errors import Retryable
from casegraph.limits import JOB_HOLD_MILLISECONDS
from casegraph.testing.faults import Nemesis
from casegraph.testing.jobs import Message
from casegraph.testing.lockstep import Killed
from casegraph.testing.outside import Answer, Scripted, ScriptedConnector
from casegraph.testing.people import do_task
from casegraph.testing.site import Site, Version, handle
from casegraph.testing.timeline import epoch_milliseconds, milliseconds
from casegraph.testing.view import RunView, rows_of, view_run

T = TypeVar("T")

# A world that handles so many jobs without the clock moving has found a loop.
MAX_JOBS_AT_ONE_INSTANT = 5_000
# How often a caller of the world repeats a request that was answered 503 or not at all.
MAX_CALLER_TRIES = 20
MINUTE = 60_000


class World:
    """One installation, one virtual clock, one seed. See the module's text for its use."""

    def __init__(
        self, start: str = "2026-01-01T00:00:00Z", seed: object = 1, nemesis: Nemesis | None = None
    ) -> None:
        self.site = Site(epoch_milliseconds(start), seed, nemesis)
        self.connectors: list[ScriptedConnector] = []
        self._workers = 0
        self._requests = 0
        self._ticked_at = self.site.time.at

    # -- the outside ------------------------------------------------------------------------------------------

    def component(self, component_id: str, answer: Answer) -> None:
        """Register a read-only component: a function of the mapped input; it may raise `NodeFailed`."""
        self.site.scripted.register(component_id, answer)

    def connector(
        self,
        connector_id: str,
        outcomes: Sequence[Scripted] | None = None,
        *,
        use: Connector | None = None,
        **options: Any,
    ) -> ScriptedConnector:
        """Register a connector with its outcomes in order (the last is repeated), or `use` one of your own."""
        if use is not None:
            self.site.connectors.register(connector_id, use)
        scripted = ScriptedConnector(connector_id, self.site.time, **options)
        self.connectors = [c for c in self.connectors if c.connector_id != connector_id] + [scripted]
        if outcomes:
            scripted.outcomes = list(outcomes)
        if use is None:
            self.site.connectors.register(connector_id, scripted)
        return scripted

    # -- what callers do --------------------------------------------------------------------------------------

    def publish(self, graph: Mapping[str, Any] | str | Path) -> Version:
        """Publish a canonical bundle, or a workflow folder."""
        if isinstance(graph, str | Path):
            return self.site.publish(load_bundle(Path(graph)))
        return self.site.publish(graph)

    def queue(self, queue_id: str, *, pin: Version | None = None, merge: str = "none") -> None:
        """Make a queue; its reports start runs of the pinned version. merge: `none` or `subject`."""
        self.call(lambda ports: put_queue(ports, queue_id, queue_id, merge, default=False))
        if pin is not None:
            self.call(lambda ports: pin_version(ports, queue_id, pin.workflow_key, pin.version, "world"))

    def report(
        self, queue: str, content: dict[str, Any], *, subject: str = "subject-1", key: str | None = None
    ) -> TakenIn:
        """Send a report to a queue; `run_id` of the answer is the run that it started or joined."""
        new = NewReport(subject_key=subject, content=content, queue_id=queue)
        name = key or self._request("report")
        return self.call(
            lambda ports: intake_report(
                ports, new, queue_of(ports, new), caller="world", idempotency_key=name
            )
        )

    def start(self, version: Version, input: Any = None, *, key: str | None = None, **facts: Any) -> str:
        """Start a run; returns its id. key: the caller's Idempotency-Key (a fresh one if None)."""
        run_id = derived_id("run", "world", key or self._request("start"))
        new = NewRun(
            run_id=run_id,
            workflow_key=version.workflow_key,
            version=version.version,
            digest=version.digest,
            authority=version.authority,
            input={} if input is None else input,
            started_by="world",
            **facts,
        )
        self.call(lambda ports: start_run(ports, new))
        return run_id

    def event(
        self, run: str | None, type: str, *, key: str = "", payload: Any = None, event_id: str | None = None
    ) -> Accepted:
        """Send an event to a run, or, when `run` is None, to whichever run waits for its type and key."""
        event = Event(type, event_id or self._request("event"), key, payload, "world")
        if run is None:
            return self.call(lambda ports: accept_by_key(ports, event))
        return self.call(lambda ports: accept_for_run(ports, run, event))

    def task(self, run: str) -> Item:
        """The run's open task; the oldest when there are several. Raises `LookupError` when there is none."""
        tasks = self.tasks(run)
        if not tasks:
            raise LookupError(f"run {run} has no open task; its state is {self.run(run).state}")
        return tasks[0]

    def tasks(self, run: str) -> list[Item]:
        """The run's open tasks, oldest first."""
        rows = [row for row in rows_of(self.site.reader(), run, "TASK#") if row["state"] in OPEN_STATES]
        return sorted(rows, key=lambda row: (row["created_at"], row["sk"]))

    def complete(self, task: Item, by: str, response: dict[str, Any]) -> Item:
        """Claim a task for a person and complete it; returns its row. Raises `Conflict` with who was first."""
        run_id, step = task["run_id"], task["step_id"]
        return self.call(lambda ports: do_task(ports, run_id, step, by, response))

    def pause(self, run: str, *, until: int | None = None) -> Controlled:
        """Pause a run, optionally until an instant (epoch ms)."""
        control = self._control("pause")
        return self.call(lambda ports: pause(ports, run, control, until=until))

    def resume(self, run: str, *, deadlines: str = "shift") -> Controlled:
        """Resume a paused run."""
        control = self._control("resume")
        return self.call(lambda ports: resume(ports, run, control, deadlines=deadlines))

    def terminate(self, run: str) -> Controlled:
        """End a run."""
        control = self._control("terminate")
        return self.call(lambda ports: terminate(ports, run, control))

    def run(self, run: str) -> RunView:
        """What the run looks like now."""
        return view_run(self.site.reader(), run)

    # -- time -------------------------------------------------------------------------------------------------

    @property
    def now(self) -> int:
        """The virtual instant, epoch ms."""
        return self.site.time.at

    def settle(self) -> None:
        """Handle jobs until none is left that is visible now: every run is terminal, waiting or in attention."""
        handled, instant = 0, self.site.time.at
        while messages := self.site.queue.visible():
            self._handle(messages[0])
            handled = handled + 1 if instant == self.site.time.at else 0
            instant = self.site.time.at
            if handled > MAX_JOBS_AT_ONE_INSTANT:
                raise AssertionError(f"the world does not come to rest: {messages[0].body}")

    def advance(self, duration: str | int | float | timedelta) -> None:
        """Let time pass: jobs, timers and the minutely sweep happen in order, each at its own instant."""
        target = self.site.time.at + milliseconds(duration)
        self.settle()
        while (instant := self._next_instant(target)) is not None:
            self.site.time.to(instant)
            tick_at = self._tick_at()
            if tick_at is not None and tick_at <= instant:
                self._ticked_at = instant
                self.sweep()
            self.settle()
        self.site.time.to(target)

    def sweep(self) -> None:
        """One tick of the scheduled reconcile."""
        self.attempt(lambda ports: reconcile(ports, self.site.invocation(55_000)))

    def _next_instant(self, target: int) -> int | None:
        instants = [self.site.queue.next_visible(), self._tick_at()]
        future = [at for at in instants if at is not None and at <= target]
        return max(min(future), self.site.time.at) if future else None

    def _tick_at(self) -> int | None:
        """The next minute at which the sweep has anything to look at."""
        due = self.site.store.next_due()
        if due is None:
            return None
        wanted = max(due - JOB_HOLD_MILLISECONDS, self._ticked_at + 1)
        return -(-wanted // MINUTE) * MINUTE

    # -- workers ----------------------------------------------------------------------------------------------

    def ports(self) -> Ports:
        """The ports of a new worker."""
        self._workers += 1
        return self.site.worker(f"worker-{self._workers}")

    def call(self, request: Callable[[Ports], T]) -> T:
        """A caller's request: repeated, as a client would, when it was answered 503 or not at all."""
        for _ in range(MAX_CALLER_TRIES):
            try:
                return request(self.ports())
            except (Retryable, Killed):
                self.site.time.to(self.site.time.at + 500)
        raise AssertionError("a caller's request was never answered")

    def attempt(self, work: Callable[[Ports], object]) -> bool:
        """One invocation; False when it failed or was killed."""
        try:
            work(self.ports())
        except (Retryable, Killed):
            return False
        return True

    def _handle(self, message: Message) -> None:
        queue = self.site.queue
        queue.receive(message)
        if message in queue.dead:
            return
        if self.attempt(lambda ports: handle(ports, message.body, self.site.invocation())):
            queue.delete(message)

    def _request(self, what: str) -> str:
        self._requests += 1
        return f"{what}-{self._requests}"

    def _control(self, operation: str) -> Control:
        return Control("operator-1", "test", self._request(operation))
