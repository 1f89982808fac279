"""A run as a test reads it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from casegraph.application import payloads
from casegraph.application.context import Ports
from casegraph.application.heads import read_head
from casegraph.domain.head import Head, run_pk
from casegraph.domain.place import node_of
from casegraph.domain.segment import SEGMENT_PREFIX, StepRecord
from casegraph.domain.writes import Item, Table


@dataclass(frozen=True, slots=True)
class StepView:
    """A finished step. output: the JSON value, wherever it is kept; port None: it left by none."""

    step: str
    node: str
    status: str
    port: str | None
    output: Any
    attempts: int
    code: str
    revision: int


@dataclass(frozen=True)
class RunView:
    """state: the outcome, or pending, running, waiting, leased, paused, attention. attention: the codes, of the run
    first, then of its branches. output: the latest output of each node. log: the segments. open: rows still open."""

    run_id: str
    state: str
    attention: tuple[str, ...]
    steps: tuple[StepView, ...]
    output: dict[str, Any]
    log: tuple[Item, ...]
    open: tuple[Item, ...]
    head: Head = field(repr=False)

    @property
    def terminal_code(self) -> str | None:
        """The code of the `end` node that was reached last."""
        codes = [
            s.output["terminal_code"]
            for s in self.steps
            if isinstance(s.output, dict) and "terminal_code" in s.output
        ]
        return codes[-1] if codes else None

    @property
    def path(self) -> list[str]:
        """The step ids in the order of finishing."""
        return [step.step for step in self.steps]


def rows_of(ports: Ports, run_id: str, prefix: str = "") -> list[Item]:
    """Every row of a run whose sort key starts with `prefix`, in order."""
    rows: list[Item] = []
    after: str | None = None
    while True:
        page = ports.store.query(Table.RUNS, run_pk(run_id), prefix=prefix, after=after)
        rows.extend(page.items)
        if page.next_after is None:
            return rows
        after = page.next_after


def view_run(ports: Ports, run_id: str) -> RunView:
    """The view of a run, read strongly."""
    head = read_head(ports, run_id)
    log = rows_of(ports, run_id, SEGMENT_PREFIX)
    steps = tuple(_step(ports, run_id, item, step) for item in log for step in item.get("steps", ()))
    own = (head.attention,) if head.attention else ()
    return RunView(
        run_id=run_id,
        state=head.state(ports.clock.now()),
        attention=(*own, *(t.code for t in head.frontier.values() if t.code)),
        steps=steps,
        output={step.node: step.output for step in steps if step.output is not None},
        log=tuple(log),
        open=tuple(_open_rows(ports, run_id)),
        head=head,
    )


def _step(ports: Ports, run_id: str, item: Item, stored: Item) -> StepView:
    step = StepRecord.from_item(stored)
    return StepView(
        step=step.step,
        node=node_of(step.step),
        status=step.status,
        port=step.port,
        output=payloads.read(ports, run_id, step.output_digest) if step.elsewhere else step.output,
        attempts=step.attempts,
        code=step.code,
        revision=item["revision"],
    )


def _open_rows(ports: Ports, run_id: str) -> list[Item]:
    rows = rows_of(ports, run_id, "TASK#") + rows_of(ports, run_id, "EFFECT#")
    return [row for row in rows if row["state"] in ("open", "claimed", "pending", "applying", "ambiguous")]
