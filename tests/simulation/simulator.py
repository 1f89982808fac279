"""One seed of the simulation: workers in lock-step on virtual time, faults by chance, people, events and operators.

Everything that happens is drawn from the seed; a seed that fails fails again.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from casegraph.application.accept_event import Event, accept_for_run
from casegraph.application.context import Ports
from casegraph.application.control_run import Control, pause, resume, terminate
from casegraph.application.intake_report import NewReport, intake_report
from casegraph.application.parked_events import accept_by_key
from casegraph.application.ports import (
    Applied,
    ComponentAnswer,
    ComponentRequest,
    EffectRequest,
    NotFoundThere,
    Outcome,
    Rejected,
    RetryLater,
    Unknown,
)
from casegraph.application.queues import Pin, Queue
from casegraph.application.reconcile import reconcile
from casegraph.application.start_run import NewRun, start_run
from casegraph.domain.canonical import digest
from casegraph.domain.graph.bundle import bundle_digest
from casegraph.domain.graph.compiled import CompiledGraph, compile_bundle
from casegraph.domain.head import HEAD_SK, head_key
from casegraph.domain.ids import derived_id
from casegraph.domain.task import OPEN_STATES
from casegraph.domain.writes import Item
from casegraph.errors import CasegraphError, Conflict, NodeFailed, Retryable, TooMany
from casegraph.limits import EFFECT_CALL_TIMEOUT_SECONDS, FAR_FUTURE_AT, JOB_HOLD_MILLISECONDS
from casegraph.testing.history import Change, Fact
from casegraph.testing.jobs import Message
from casegraph.testing.lockstep import Killed, Task
from casegraph.testing.nemesis import RandomNemesis, Rates
from casegraph.testing.outside import Received
from casegraph.testing.people import do_task
from casegraph.testing.site import Site, handle
from tests.simulation.workloads import WORKLOADS, Workload

START_AT = 1_767_225_600_000
MINUTE = 60_000
ACTIVE = 30 * MINUTE
# Long enough for every deadline of every workload to pass.
DRAIN = 6 * 60 * MINUTE
MAX_RUNS = 8
MAX_WORKERS = 6
MAX_STEPS = 400_000
CALLER_TRIES = 12
VISIBILITY_SECONDS = 20


@lru_cache(maxsize=32)
def _graph(name: str) -> tuple[str, dict[str, Any], CompiledGraph]:
    bundle = next(w.bundle for w in WORKLOADS if w.name == name)
    return bundle_digest(bundle), bundle, compile_bundle(bundle)


class SharedVersions:
    """The workloads' graphs, compiled once for all seeds of a process."""

    def _find(self, wanted: str) -> tuple[str, dict[str, Any], CompiledGraph]:
        return next(found for w in WORKLOADS if (found := _graph(w.name))[0] == wanted)

    def graph(self, digest: str) -> CompiledGraph:
        """See `Versions.graph`."""
        return self._find(digest)[2]

    def bundle(self, digest: str) -> dict[str, Any]:
        """See `Versions.bundle`."""
        return self._find(digest)[1]


@dataclass
class Run:
    """A run that the simulation started."""

    run_id: str
    workload: Workload
    key: str


class Receiver:
    """A connector and the system behind it; what it applied is the truth that invariant 10 is judged by."""

    def __init__(self, simulator: Simulator, recovery: str) -> None:
        self.simulator = simulator
        self.recovery = recovery
        self.visibility_seconds = VISIBILITY_SECONDS
        self.received: list[Received] = []
        self.applied: dict[str, int] = {}
        self.unanswered: list[tuple[str, int]] = []
        self.refused_for_good: set[str] = set()
        self._in_flight: list[tuple[int, str]] = []

    def deliver(self, request: EffectRequest) -> Outcome:
        """See `Connector.deliver`: takes time, and may end in any way."""
        simulator = self.simulator
        simulator.latency(8_000)
        simulator.die_if_over()
        draw = simulator.rng.random() if simulator.nemesis.active else 0.0
        if request.operation_key in self.refused_for_good:
            return self._receive(request, RetryLater("refused_again"), applies=False)
        if draw < 0.66:
            return self._receive(request, Applied({"receipt": request.operation_key}), applies=True)
        if draw < 0.70:
            return self._receive(request, Rejected("refused"), applies=False)
        if draw < 0.80:
            if draw < 0.75:
                self.refused_for_good.add(request.operation_key)
            return self._receive(request, RetryLater("busy"), applies=False)
        if draw < 0.87:
            return self._receive(request, Unknown("no_answer"), applies=True)
        if draw < 0.91:
            return self._receive(request, Unknown("no_answer"), applies=False)
        if draw < 0.96:
            most = (EFFECT_CALL_TIMEOUT_SECONDS + VISIBILITY_SECONDS) * 1000
            arrives = simulator.site.time.at + simulator.rng.randint(0, most)
            self._in_flight.append((arrives, request.operation_key))
            outcome = self._receive(request, Unknown("timeout"), applies=False)
            if draw < 0.935:
                return outcome
        else:
            self._receive(request, Unknown("killed"), applies=draw < 0.98)
        raise Killed("the worker died in its call")

    def _receive(self, request: EffectRequest, outcome: Outcome, *, applies: bool) -> Outcome:
        self._arrivals()
        known = self.recovery == "idempotent" and request.operation_key in self.applied
        if applies and not known:
            self.applied[request.operation_key] = self.applied.get(request.operation_key, 0) + 1
        if isinstance(outcome, Unknown):
            self.unanswered.append((request.effect_id, len(self.received)))
        self.received.append(
            Received(
                self.simulator.site.time.at, request.connector_id, request.effect_id, request.operation_key,
                request.attempt, request.payload, applies and not known,
            )
        )  # fmt: skip
        return outcome

    def _arrivals(self) -> None:
        """Requests that were on their way arrive."""
        now = self.simulator.site.time.at
        for at, key in [entry for entry in self._in_flight if entry[0] <= now]:
            self._in_flight.remove((at, key))
            if self.recovery != "idempotent" or key not in self.applied:
                self.applied[key] = self.applied.get(key, 0) + 1

    def look_up(self, request: EffectRequest) -> Applied | Rejected | NotFoundThere | Unknown:
        """See `Connector.look_up`."""
        self.simulator.latency(2_000)
        self._arrivals()
        if self.simulator.nemesis.active and self.simulator.rng.random() < 0.1:
            return Unknown("lookup_unanswered")
        if request.operation_key in self.applied:
            return Applied({"receipt": request.operation_key})
        return NotFoundThere()

    def finish(self) -> None:
        """Everything on its way has arrived."""
        self._arrivals()


class Components:
    """The workloads' components: a fixed answer by input, at times a failure first, drawn from step and call."""

    def __init__(self, simulator: Simulator) -> None:
        self.simulator = simulator
        self._calls: dict[str, int] = {}

    def call(self, request: ComponentRequest) -> ComponentAnswer:
        """See `Components.call`."""
        name = f"{request.run_id}/{request.step_id}"
        number = self._calls[name] = self._calls.get(name, 0) + 1
        self.simulator.latency(3_000)
        draw = random.Random(f"{self.simulator.seed}/{name}/{number}").random()
        if self.simulator.nemesis.active and draw < 0.15:
            raise NodeFailed("component_busy", retryable=draw < 0.12)
        return ComponentAnswer({"score": int(digest(dict(request.input))[-2:], 16) % 10})


class Simulator:
    """See the module's text. `run()` once, then judge `site`, `runs` and `receivers`."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = random.Random(f"scheduler-{seed}")
        rates = Rates().varied(self.rng)
        self.skewed = self.rng.random() < 0.5
        self.nemesis = RandomNemesis(seed, rates)
        self.site = Site(START_AT, seed, self.nemesis, index_lag_milliseconds=20_000)
        self.site.versions = SharedVersions()
        self.site.components = Components(self)
        self.receivers = {name: Receiver(self, name) for name in ("idempotent", "lookup", "manual")}
        for name, receiver in self.receivers.items():
            self.site.connectors.register(f"{name}-mail", receiver)
        self.runs: list[Run] = []
        self.site.store.on_change = self._rival
        self.skews: dict[str, int] = {}
        self.tasks: list[tuple[Task, Callable[[Task], None]]] = []
        self.current: Task | None = None
        self._names = 0
        self._next_action = START_AT
        self._next_tick = START_AT + MINUTE
        self._sent: list[Callable[[Ports], Any]] = []
        self._events = 0
        self._started = 0
        self._ends_at: dict[str, int] = {}
        self._busy: dict[str, str] = {}
        self.meddling = self.rng.choice((0.0, 0.02, 0.1))

    def graph(self, run: Run) -> CompiledGraph:
        """The graph that a run walks."""
        return _graph(run.workload.name)[2]

    # -- workers ----------------------------------------------------------------------------------------------

    def _spawn(
        self,
        role: str,
        work: Callable[[Ports], Any],
        then: Callable[[Task], None],
        ends_at: int | None = None,
    ) -> None:
        self._names += 1
        name = f"{role}-{self._names}"
        skew = self.rng.randint(-2_000, 2_000) if self.skewed else 0
        self.skews[name] = skew
        task = Task(name, lambda: work(ports))
        ports = self.site.worker(
            name,
            skew=skew,
            pause=lambda call: self._pause(task, call),
            sleep=lambda span: self._sleep(task, span),
        )
        task.ready_at = self.site.time.at
        if ends_at is not None:
            self._ends_at[name] = ends_at
        self.tasks.append((task, then))

    def _pause(self, task: Task, call: str) -> None:
        """Where another worker may come in between; a call takes a few milliseconds."""
        self.site.time.to(self.site.time.at + self.rng.randint(0, 6))
        sweeping = call == "store.query_index"
        stall = 0 if sweeping else self.nemesis.stall()
        if stall == 0 and self.rng.random() < (0.98 if sweeping else 0.5):
            return
        self._sleep(task, stall)

    def _rival(self, change: Change) -> None:
        """A run was claimed: a worker that lost it while it was stalled wakes up at the worst time, just now."""
        if change.key.sk != HEAD_SK or not change.old or not change.new:
            return
        if change.new["generation"] == change.old["generation"]:
            return
        for task, _ in self.tasks:
            busy_with = self._busy.get(task.name)
            if (
                busy_with == change.new["run_id"]
                and task.name != change.writer
                and task.ready_at > self.site.time.at
            ):
                task.ready_at = self.site.time.at + self.rng.randint(0, 40)

    def _sleep(self, task: Task, span: int) -> None:
        task.ready_at = self.site.time.at + span
        task.pause()

    def latency(self, most: int) -> None:
        """A call outside takes its time; calls that run beside each other are not interleaved."""
        task = self.current
        if task is not None and threading.current_thread().name == task.name:
            self._sleep(task, self.rng.randint(1, most))

    def die_if_over(self) -> None:
        """The platform ends an invocation with its time: a request is never sent after that."""
        task = self.current
        if task is not None and self.site.time.at > self._ends_at.get(task.name, self.site.time.at):
            raise Killed("the platform ended the invocation")

    # -- the loop ---------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Half an hour of faults and activity, then quiet until every deadline has passed."""
        try:
            self._until(START_AT + ACTIVE)
            self.nemesis.stop()
            self._until(START_AT + ACTIVE + DRAIN)
        finally:
            for task, _ in self.tasks:
                task.stop()
        self._found_runs()
        for receiver in self.receivers.values():
            receiver.finish()

    def _until(self, end: int) -> None:
        for _ in range(MAX_STEPS):
            if self.site.time.at >= end:
                return
            choices = self._choices()
            if (
                self.nemesis.active
                and self.rng.random() < self.meddling
                and len(self.tasks) < 2 * MAX_WORKERS
            ):
                self._interfere()
            if choices:
                self.rng.choice(choices)()
                continue
            instant = self._next_instant()
            if instant is None:
                self.site.time.to(end)
            else:
                self.site.time.to(min(instant, end))
        raise AssertionError("the simulation does not come to rest")

    def _choices(self) -> list[Callable[[], None]]:
        now = self.site.time.at
        choices: list[Callable[[], None]] = [
            lambda task=task, then=then: self._step(task, then)  # type: ignore[misc]
            for task, then in self.tasks
            if task.ready_at <= now
        ]
        if len(self.tasks) < MAX_WORKERS:
            choices += [lambda m=m: self._work(m) for m in self.site.queue.visible()[:4]]  # type: ignore[misc]
        if self.nemesis.active and self._next_action <= now:
            choices.append(self._act)
        if self._next_tick <= now:
            choices.append(self._tick)
        return choices

    def _next_instant(self) -> int | None:
        instants = [task.ready_at for task, _ in self.tasks]
        visible = self.site.queue.next_visible()
        if visible is not None and len(self.tasks) < MAX_WORKERS:
            instants.append(visible)
        if self.nemesis.active:
            instants.append(self._next_action)
        due = self.site.store.next_due()
        if due is not None and due < FAR_FUTURE_AT:
            wanted = max(self._next_tick, -(-(due - JOB_HOLD_MILLISECONDS) // MINUTE) * MINUTE)
            self._next_tick = wanted
            instants.append(wanted)
        return min(instants, default=None)

    def _step(self, task: Task, then: Callable[[Task], None]) -> None:
        self.current = task
        task.step()
        self.current = None
        if task.ended:
            self.tasks.remove((task, then))
            then(task)

    def _tick(self) -> None:
        self._next_tick = (self.site.time.at // MINUTE + 1) * MINUTE
        ends_at = self.site.time.at + 55_000
        self._spawn(
            "reconcile", lambda ports: reconcile(ports, self.site.invocation(55_000)), _expected, ends_at
        )

    def _work(self, message: Message) -> None:
        queue = self.site.queue
        queue.receive(message)
        if message in queue.dead:
            return
        dispatch = message.body["type"] == "deliver_effect"
        spans = (15_000, 30_000) if dispatch else (20_000, 30_000)
        deadline = self.site.invocation(self.rng.choice(spans))

        def ended(task: Task) -> None:
            _expected(task)
            if task.error is None:
                queue.delete(message)

        self._busy[f"{'dispatch' if dispatch else 'execute'}-{self._names + 1}"] = message.body["run_id"]
        # Workers may wake up long after their time (S1) and write what they meant to; they only send nothing more.
        self._spawn(
            "dispatch" if dispatch else "execute",
            lambda ports: handle(ports, message.body, deadline),
            ended,
            deadline.ends_at if dispatch else None,
        )

    # -- activity ---------------------------------------------------------------------------------------------

    def _act(self) -> None:
        self._next_action = self.site.time.at + self._gap()
        self._found_runs()
        if not self.runs or (self._started < MAX_RUNS and self.rng.random() < 0.15):
            self._start()
            return
        self._act_on(self.rng.choice(self._open_runs() if self.rng.random() < 0.9 else self.runs))

    def _interfere(self) -> None:
        """Act on a run that a worker is busy with at this very moment."""
        busy = {self._busy[task.name] for task, _ in self.tasks if task.name in self._busy}
        runs = [run for run in self.runs if run.run_id in busy]
        if runs:
            self._act_on(self.rng.choice(runs))

    def _act_on(self, run: Run) -> None:
        actions: list[tuple[int, Callable[[Run], None]]] = [
            (12, self._complete),
            (20, self._send_event),
            (12, self._send_by_key),
            (8, self._pause_run),
            (10, self._resume_run),
            (1, self._terminate_run),
            (6, self._repeat),
            (20, self._redrive),
            (14, self._report),
        ]
        weights = [weight for weight, _ in actions]
        self.rng.choices([action for _, action in actions], weights)[0](run)

    def _gap(self) -> int:
        """Milliseconds to the next action: several at once, then a while of nothing, so that races and timers meet."""
        if self.rng.random() < 0.7:
            return self.rng.choice((0, 0, 5, 50, 500))
        return round(self.rng.expovariate(1 / 90_000))

    def _open_runs(self) -> list[Run]:
        """Runs that have not ended; all of them when none is left."""
        heads = self.site.store.current
        open_ = [r for r in self.runs if "outcome" not in heads.get(head_key(r.run_id), {})]
        return open_ or self.runs

    def _client(self, name: str, request: Callable[[Ports], Any], **about: Any) -> None:
        """A request that its caller repeats until it is answered; the answer is a fact of the history."""

        def work(ports: Ports) -> Any:
            for _ in range(CALLER_TRIES):
                try:
                    return request(ports)
                except (Retryable, TooMany):
                    ports.clock.sleep(self.rng.randint(100, 5_000))
                except Killed as gone:
                    if "stopped with its world" in str(gone):
                        raise
                    ports.clock.sleep(self.rng.randint(100, 5_000))
            return None

        def ended(task: Task) -> None:
            _expected(task)
            if task.error is None and task.result is not None:
                self._note(name, **about, answer=task.result)
            elif isinstance(task.error, Conflict):
                self._note(f"{name}_refused", **about, error=task.error)

        self._spawn(name, work, ended)

    def _note(self, name: str, **fields: Any) -> None:
        self.site.history.facts.append(Fact(self.site.time.at, name, fields))

    def _start(self) -> None:
        self._started += 1
        number = self._started
        workload = self.rng.choice(WORKLOADS)
        run = Run(derived_id("run", self.seed, number), workload, f"key-{self.seed}-{number % 2}")
        digest_ = _graph(workload.name)[0]
        new = NewRun(run.run_id, workload.name, 1, digest_, "assist", {"key": run.key}, "simulation")
        self.runs.append(run)
        self._client("start", lambda ports: start_run(ports, new), run_id=run.run_id)

    def _open_task(self, run: Run) -> Item | None:
        rows = [
            item
            for key, item in self.site.store.current.items()
            if key.sk.startswith("TASK#") and item["run_id"] == run.run_id and item["state"] in OPEN_STATES
        ]
        return self.rng.choice(sorted(rows, key=lambda item: item["sk"])) if rows else None

    def _complete(self, run: Run) -> None:
        task = self._open_task(run)
        if task is None:
            return
        person = f"person-{self.rng.randint(1, 3)}"
        response = {"outcome": self.rng.choice(("accept", "reject"))}

        def request(ports: Ports) -> Item:
            return do_task(ports, run.run_id, task["step_id"], person, response)

        self._client("complete", request, run_id=run.run_id, step=task["step_id"], person=person)

    def _event(self, run: Run) -> Event:
        self._events += 1
        types = run.workload.events or ("step.done",)
        payload = {"n": self._events, "done": self.rng.random() < 0.3}
        return Event(self.rng.choice(types), f"event-{self._events}", run.key, payload, "simulation")

    def _send_event(self, run: Run) -> None:
        event = self._event(run)
        self._sent.append(lambda ports: accept_for_run(ports, run.run_id, event))
        self._client("event", self._sent[-1], run_id=run.run_id, event=event)

    def _send_by_key(self, run: Run) -> None:
        event = self._event(run)
        self._sent.append(lambda ports: accept_by_key(ports, event))
        self._client("event_by_key", self._sent[-1], run_id=run.run_id, event=event)

    def _repeat(self, run: Run) -> None:
        if self._sent:
            self._client("repeat", self.rng.choice(self._sent))

    def _control(self, operation: str) -> Control:
        self._events += 1
        return Control("operator", "simulation", f"{operation}-{self._events}")

    def _pause_run(self, run: Run) -> None:
        control = self._control("pause")
        until = self.site.time.at + self.rng.randint(1, 10 * MINUTE) if self.rng.random() < 0.7 else None
        self._client("pause", lambda ports: pause(ports, run.run_id, control, until=until), run_id=run.run_id)

    def _resume_run(self, run: Run) -> None:
        control = self._control("resume")
        how = self.rng.choice(("shift", "shift", "keep"))
        self._client(
            "resume", lambda ports: resume(ports, run.run_id, control, deadlines=how), run_id=run.run_id
        )

    def _terminate_run(self, run: Run) -> None:
        control = self._control("terminate")
        self._client("terminate", lambda ports: terminate(ports, run.run_id, control), run_id=run.run_id)

    def _report(self, run: Run) -> None:
        """One to three reports on one of few subjects, at the same instant (S39); each starts a run or joins one."""
        digest_ = _graph("merged")[0]
        pin = Pin("merged", 1, digest_, "assist", "report")
        queue = Queue("reports", "reports", "subject", pin)
        subject = f"subject-{self.rng.randint(1, 2)}"
        for _ in range(self.rng.randint(1, 3)):
            self._events += 1
            new = NewReport(subject, {"key": f"{subject}-{self.seed}"}, "reports")
            key = f"report-{self._events}"
            self._sent.append(
                lambda ports, new=new, key=key: intake_report(  # type: ignore[misc]
                    ports, new, queue, caller="simulation", idempotency_key=key
                )
            )
            self._client("report", self._sent[-1], subject=subject)

    def _found_runs(self) -> None:
        """Runs that reports started are acted upon like the others."""
        known = {run.run_id for run in self.runs}
        for key, item in list(self.site.store.current.items()):
            if key.sk == HEAD_SK and item["run_id"] not in known:
                workload = next(w for w in WORKLOADS if w.name == item["workflow_key"])
                self.runs.append(Run(item["run_id"], workload, f"key-{self.seed}-1"))

    def _redrive(self, run: Run) -> None:
        for _ in range(self.rng.randint(1, 9)):
            self.site.queue.send({"version": 1, "type": "advance_run", "run_id": run.run_id})


def _expected(task: Task) -> None:
    """A worker may be killed or give up on a fault; anything else that it raises is a bug."""
    if task.error is None or isinstance(task.error, Killed | CasegraphError):
        return
    raise AssertionError(f"{task.name} raised {task.error!r}") from task.error
