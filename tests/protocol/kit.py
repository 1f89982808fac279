"""One run at a time, one call at a time: the use cases on the memory store, with faults and races at exact calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from casegraph.application.advance_run import Advanced, advance_run
from casegraph.application.context import Ports
from casegraph.application.deliver_effect import Delivered, deliver_effect
from casegraph.application.heads import read_head
from casegraph.application.reconcile import Swept, reconcile
from casegraph.domain.head import Head, head_key, row_key, run_pk
from casegraph.domain.segment import SEGMENT_PREFIX
from casegraph.domain.writes import Item, Table, Update
from casegraph.testing.faults import Call
from casegraph.testing.lockstep import Killed
from casegraph.testing.site import Version
from casegraph.testing.world import World

TRANSACT, WRITE = "store.transact", "store.write"
INVOCATION = 30_000


@dataclass
class Fault:
    """One thing that goes wrong: at the n-th call of this name by this worker. after: it has happened by then."""

    worker: str
    name: str
    error: BaseException
    after: bool = False
    nth: int = 1
    times: int = 1
    seen: int = 0

    def meets(self, call: Call) -> bool:
        """Whether this call is the one; counts it."""
        if call.name != self.name or call.worker != self.worker:
            return False
        self.seen += 1
        return self.nth <= self.seen < self.nth + self.times


@dataclass
class Planned:
    """A nemesis that does what a test planned."""

    faults: list[Fault] = field(default_factory=list)
    index_lag: int = 0

    def before(self, call: Call) -> None:
        """Raise what was planned before this call's effect."""
        for fault in self.faults:
            if not fault.after and fault.meets(call):
                raise fault.error

    def after(self, call: Call) -> None:
        """Raise what was planned after this call's effect."""
        for fault in self.faults:
            if fault.after and fault.meets(call):
                raise fault.error

    def copies(self) -> Sequence[int]:
        """As sent."""
        return (0,)

    def lag(self) -> int:
        """As planned."""
        return self.index_lag


class Bench:
    """A world whose workers are driven by hand. `ports` is a calm worker."""

    def __init__(self, graph: Mapping[str, Any] | None = None) -> None:
        self.faults = Planned()
        self.world = World(seed="protocol", nemesis=self.faults)
        self.site = self.world.site
        self.ports = self.site.worker("calm")
        self.workers = 0
        self.version: Version | None = None if graph is None else self.world.publish(graph)
        for component in ("cheap", "other", "costly"):
            self.world.component(component, lambda _: {"score": 7})
        self.mail = self.world.connector("mail")

    # -- runs ---------------------------------------------------------------------------------------------------

    def start(self, input: Any = None, **facts: Any) -> str:
        """Start a run of the bench's graph."""
        assert self.version is not None
        return self.world.start(self.version, {"key": "k-1"} if input is None else input, **facts)

    def started(self, input: Any = None) -> str:
        """Start a run and advance it to its first rest."""
        run = self.start(input)
        self.advance(run)
        return run

    def advance(self, run: str, ports: Ports | None = None, milliseconds: int = INVOCATION) -> Advanced:
        """One job `advance_run`."""
        return advance_run(ports or self.ports, run, self.site.invocation(milliseconds))

    def deliver(self, run: str, step: str = "send#1", ports: Ports | None = None) -> Delivered:
        """One job `deliver_effect`."""
        return deliver_effect(ports or self.ports, run, f"{step}#1", self.site.invocation())

    def sweep(self) -> Swept:
        """One tick of the sweep."""
        return reconcile(self.ports, self.site.invocation(55_000))

    def pass_time(self, milliseconds: int) -> None:
        """Only the clock moves."""
        self.site.time.to(self.site.time.at + milliseconds)

    @property
    def now(self) -> int:
        """The instant, epoch ms."""
        return self.site.time.at

    # -- what is stored -----------------------------------------------------------------------------------------

    def head(self, run: str) -> Head:
        """The head as it is."""
        return read_head(self.ports, run)

    def raw_head(self, run: str) -> Item:
        """The head's row."""
        item = self.site.memory.get(head_key(run))
        assert item is not None
        return item

    def row(self, run: str, sk: str) -> Item:
        """A row that must be there."""
        item = self.site.memory.get(row_key(run, sk))
        assert item is not None, f"{sk} is not there"
        return item

    def effect(self, run: str) -> Item:
        """The row of the effect of step `send#1`."""
        return self.row(run, "EFFECT#send#1#1")

    def rows(self, run: str, prefix: str = "") -> list[Item]:
        """Rows of a run in order."""
        return self.site.memory.query(Table.RUNS, run_pk(run), prefix=prefix, limit=1000).items

    def log(self, run: str) -> list[Item]:
        """Its segments."""
        return self.rows(run, SEGMENT_PREFIX)

    def steps(self, run: str) -> list[str]:
        """Finished steps in order."""
        return [step["step"] for item in self.log(run) for step in item.get("steps", ())]

    def edit_head(self, run: str, **values: Any) -> None:
        """Change attributes of a head behind everybody's back."""
        if values:
            self.edit_row(run, "HEAD", **values)

    def edit_row(self, run: str, sk: str, **values: Any) -> None:
        """Change attributes of a row behind everybody's back."""
        update = Update(row_key(run, sk), (), set={(name,): value for name, value in values.items()})
        self.site.memory.write(update)

    def jobs(self) -> list[dict[str, Any]]:
        """The jobs on their way, with `at`: when they are seen."""
        return [{**m.body, "at": m.visible_at} for m in self.site.queue.messages]

    def clear_jobs(self) -> None:
        """Lose every job."""
        self.site.queue.messages.clear()

    # -- faults and races -----------------------------------------------------------------------------------------

    def worker(
        self, *, skew: int = 0, at: Mapping[str, Callable[[], object]] | None = None, nth: int = 1
    ) -> Ports:
        """A worker of its own. at: by the name of a call, what another does just before its n-th such call."""
        self.workers += 1
        waiting = dict(at or {})
        seen: dict[str, int] = {}

        def pause(name: str) -> None:
            seen[name] = seen.get(name, 0) + 1
            if name in waiting and seen[name] == nth:
                waiting.pop(name)()

        return self.site.worker(f"w{self.workers}", skew=skew, pause=pause)

    def plan(self, ports_name: str, name: str, error: BaseException, **options: Any) -> Fault:
        """Let a call of a worker (`calm`, `w1`, ...) go wrong."""
        fault = Fault(ports_name, name, error, **options)
        self.faults.faults.append(fault)
        return fault

    def crash(self, run: str, name: str = TRANSACT, *, after: bool = False, nth: int = 1) -> None:
        """A worker claims the run and its process dies at a call."""
        ports = self.worker()
        self.plan(f"w{self.workers}", name, Killed("process gone"), after=after, nth=nth)
        try:
            self.advance(run, ports)
        except Killed:
            return
        raise AssertionError("the worker was not killed")
