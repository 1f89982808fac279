"""Playing the demo over the HTTP API: publish, report, complete, decide, and look at what became of every run.

It knows nothing but the API. Every step may be repeated (stable idempotency keys and event ids), so that it survives
handlers that are killed and started again under it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ParamSpec, TypeVar

from casegraph.client.client import CasegraphClient
from casegraph.client.context import Context
from casegraph.client.transport import Json
from casegraph.errors import Retryable
from casegraph.local.demo.reports import QUEUE, SHORT_QUEUE, DemoReport
from casegraph.local.demo.reviewers import Reviewer
from casegraph.local.demo.workflow import example_bundle, short_bundle
from casegraph.local.people import INTAKE, REVIEWERS

# Where the workflow's messages go.
CONNECTOR = "mail"
T = TypeVar("T")
P = ParamSpec("P")
TERMINAL = ("succeeded", "failed", "timed_out", "terminated", "superseded")
POLL_SECONDS = 0.5
# The handlers' process may be gone for so long before the demo gives up on it.
PATIENCE_SECONDS = 60.0
# A laptop that does nothing else needs well under a minute; a kill costs half a minute, two on one run three.
RUN_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run: its state, its decision, its end's code, against what was expected of it."""

    run_id: str
    reports: int
    state: str
    decision: str
    terminal_code: str
    expected: str

    @property
    def as_expected(self) -> bool:
        """Decided as expected, and ended at the end node that goes with it."""
        code = "escalated" if self.expected == "escalated" else "complete"
        return (self.state, self.decision, self.terminal_code) == ("succeeded", self.expected, code)


@dataclass
class Result:
    """The demo's end. unfinished: runs that had not ended when time was up."""

    reports: int
    merged: int
    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def unexpected(self) -> list[Outcome]:
        """Runs that are not what was expected of them."""
        return [outcome for outcome in self.outcomes if not outcome.as_expected]


class Demo:
    """One play of the demo against a running API."""

    def __init__(
        self,
        context: Context,
        reports: Sequence[DemoReport],
        *,
        say: Callable[[str], None],
        run_seconds: float = RUN_SECONDS,
    ) -> None:
        """say: one line of progress."""
        self._reports = reports
        self._say = say
        self._run_seconds = run_seconds
        self._admin = CasegraphClient(context.url, context.token)
        self._intake = CasegraphClient(context.url, context.token_of(INTAKE))
        self._people = {name: CasegraphClient(context.url, context.token_of(name)) for name in REVIEWERS}
        self._taken: dict[int, Json] = {}

    def play(self) -> Result:
        """All of it. Raises what the API refuses; runs that end otherwise than expected are in the result."""
        self._prepare()
        self._report()
        self._complete_early()
        reviewers = [Reviewer(name, client, self._decided) for name, client in self._people.items()]
        for reviewer in reviewers:
            reviewer.start()
        try:
            self._complete_when_asked()
            self._wait_for_ends()
        finally:
            for reviewer in reviewers:
                reviewer.stop()
            for reviewer in reviewers:
                reviewer.join()
        for reviewer in reviewers:
            if reviewer.failure is not None:
                raise reviewer.failure
        return Result(len(self._taken), sum(t["merged"] for t in self._taken.values()), self._outcomes())

    def close(self) -> None:
        """Close the connections."""
        for client in (self._admin, self._intake, *self._people.values()):
            client.close()

    def _prepare(self) -> None:
        patiently(self._admin.connectors.put, CONNECTOR, {"kind": "recorder"})
        for queue_id, name, bundle in (
            (QUEUE, "Illegal content", example_bundle()),
            (SHORT_QUEUE, "Illegal content, short wait", short_bundle()),
        ):
            key = bundle["graph"]["key"]
            version = patiently(self._admin.workflows.publish, key, bundle)
            patiently(self._admin.queues.put, queue_id, {"name": name, "merge": "subject"})
            patiently(self._admin.queues.pin, queue_id, key, version["version"])
            self._say(f"published {key} version {version['version']}, pinned to queue {queue_id}")

    def _report(self) -> None:
        for report in self._reports:
            key = f"demo-report-{report.index}"
            self._taken[report.index] = patiently(self._intake.reports.send, report.body, idempotency_key=key)
        merged = sum(taken["merged"] for taken in self._taken.values())
        self._say(f"sent {len(self._taken)} reports: {merged} merged, {len(self._runs())} runs started")

    def _complete_early(self) -> None:
        """Events by key, sent before anybody waits for them: they are kept until somebody does."""
        for report in self._reports:
            if report.completed_by == "key":
                patiently(self._intake.events.by_key, **self._completion(report))
                self._say(f"notice {report.index + 1} completed by its key")

    def _complete_when_asked(self) -> None:
        """Events to a run, once it has asked its notifier and waits."""
        for report in self._reports:
            if report.completed_by == "run":
                run_id = self._run_id(report)
                self._wait_until(partial(self._waits_or_ended, run_id))
                patiently(self._intake.events.to_run, run_id, **self._completion(report))
                self._say(f"notice {report.index + 1} completed by an event to its run")

    def _completion(self, report: DemoReport) -> dict[str, Any]:
        return {
            "type": "notice.completed",
            "payload": {"explanation": report.explanation, "urls": []},
            "event_id": f"demo-completion-{report.index}",
            "key": self._id(report),
        }

    def _waits_or_ended(self, run_id: str) -> bool:
        run = patiently(self._admin.runs.get, run_id)
        waiting = any(
            p["step"].startswith("await_completion") for p in run["open"] if p["status"] == "waiting"
        )
        return waiting or run["state"] in TERMINAL

    def _wait_for_ends(self) -> None:
        open_runs = set(self._runs())
        total = len(open_runs)

        def all_ended() -> bool:
            for run_id in sorted(open_runs):
                if patiently(self._admin.runs.get, run_id)["state"] in TERMINAL:
                    open_runs.discard(run_id)
                    self._say(f"{total - len(open_runs)} of {total} runs have ended")
            return not open_runs

        self._wait_until(all_ended)

    def _wait_until(self, reached: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + self._run_seconds
        while not reached():
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_SECONDS)
        return True

    def _decided(self, person: str, outcome: str) -> None:
        self._say(f"{person} decided: {outcome}")

    def _outcomes(self) -> list[Outcome]:
        return [self._outcome(run_id, reports) for run_id, reports in self._runs().items()]

    def _outcome(self, run_id: str, reports: list[DemoReport]) -> Outcome:
        run = patiently(self._admin.runs.get, run_id)
        steps = patiently(self._admin.runs.steps, run_id)
        decisions = [_output(s)["outcome"] for s in steps if "decision_id" in _output(s)]
        codes = [_output(s)["terminal_code"] for s in steps if "terminal_code" in _output(s)]
        return Outcome(
            run_id=run_id,
            reports=len(reports),
            state=run["state"],
            decision=decisions[-1] if decisions else "",
            terminal_code=codes[-1] if codes else "",
            expected=reports[0].expected,
        )

    def _runs(self) -> dict[str, list[DemoReport]]:
        runs: dict[str, list[DemoReport]] = {}
        for report in self._reports:
            if report.index in self._taken:
                runs.setdefault(self._run_id(report), []).append(report)
        return runs

    def _run_id(self, report: DemoReport) -> str:
        return str(self._taken[report.index]["run_id"])

    def _id(self, report: DemoReport) -> str:
        return str(self._taken[report.index]["report_id"])


def patiently(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """A repeatable call, again and again while nothing answers, for `PATIENCE_SECONDS` at most."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return call(*args, **kwargs)
        except Retryable:
            if time.monotonic() > deadline:
                raise
            time.sleep(POLL_SECONDS)


def _output(step: Json) -> Json:
    output = step.get("output")
    return output if isinstance(output, dict) else {}
