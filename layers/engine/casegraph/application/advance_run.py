"""Advancing a run: claim it, decide and commit until nothing is left to do now, give it back (protocol.md 3).

claim -> [ decide -> read | subscribe | call | commit ]* -> commit that releases, or release
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum

from casegraph.application import hints, lease, linked_runs, parked_events, reads
from casegraph.application.close_run import close_next_page
from casegraph.application.commit import Committed, Lost, Rebuild, Unresolved, commit, same_lease
from casegraph.application.context import Ports
from casegraph.application.heads import head_of, read_head
from casegraph.application.ports import ComponentRequest, Deadline
from casegraph.domain.burst.decide import Plan, decide
from casegraph.domain.burst.knowledge import CallResult, Knowledge, Missing, PendingCall
from casegraph.domain.burst.stop import stop_plan
from casegraph.domain.graph.compiled import CompiledGraph
from casegraph.domain.head import Head
from casegraph.errors import CasegraphError, NeedsOperator, NodeFailed
from casegraph.limits import (
    CLOCK_SKEW_MILLISECONDS,
    COMMIT_RESERVE_MILLISECONDS,
    JOB_HOLD_MILLISECONDS,
    MAX_CLAIM_ATTEMPTS,
    PARALLEL_CALLS_MAX,
)


class Advanced(StrEnum):
    """How a pass over a run ended."""

    RELEASED = "released"
    NOTHING_DUE = "nothing_due"
    NOT_YET = "not_yet"
    UNKNOWN_RUN = "unknown_run"
    LEASE_LOST = "lease_lost"
    UNRESOLVED = "unresolved"
    FAILED = "failed"


def advance_run(ports: Ports, run_id: str, deadline: Deadline) -> Advanced:
    """Take a hint that a run may be due, and do what is to be done. Never raises for a run's own troubles."""
    claimed = lease.claim(ports, run_id, ports.clock.now() + deadline.remaining_milliseconds())
    if isinstance(claimed, lease.Refused):
        return _nothing_to_claim(ports, run_id, claimed.head)
    return Burst(ports, claimed, deadline).run()


def _nothing_to_claim(ports: Ports, run_id: str, head: Head | None) -> Advanced:
    """A job that finds nothing due is acknowledged after this one request; one that is early is sent again."""
    if head is None:
        return Advanced.UNKNOWN_RUN
    now = ports.clock.now()
    soon = not head.stopped and head.wake_at is not None and head.wake_at <= now + JOB_HOLD_MILLISECONDS
    held = head.lease_until is not None and head.lease_until >= now - CLOCK_SKEW_MILLISECONDS
    if soon and not held and head.wake_at is not None:
        hints.run_due(ports, run_id, head.wake_at)
        return Advanced.NOT_YET
    ports.journal.count("job_nothing_due")
    return Advanced.NOTHING_DUE


@dataclass
class Burst:
    """One lease-holding pass. `head` is always the last head that is known to be stored."""

    ports: Ports
    head: Head
    deadline: Deadline

    def __post_init__(self) -> None:
        self.knowledge = Knowledge()
        self.costly_result = False

    def run(self) -> Advanced:
        """Work until the lease is given back, lost, or must be left to expire."""
        try:
            return self._work()
        except NeedsOperator as problem:
            return self._stop(problem.code)
        except Exception as failure:  # noqa: BLE001 - whatever it was, the run must not be forgotten
            return self._give_back_after(failure)

    def _work(self) -> Advanced:
        ended: Advanced | None = None
        first = True
        if self.head.attempts > MAX_CLAIM_ATTEMPTS and not self.head.terminal:
            # Before anything is loaded or decided: that may be what fails every time.
            return self._stop("dispatch_exhausted")
        while ended is None:
            if self.head.terminal:
                return self._close()
            graph = self.ports.versions.graph(self.head.digest)
            if first:
                reads.prefetch(self.ports, self.head, graph, self.knowledge, self._now())
                first = False
            ended = self._pass(graph)
        return ended

    def _now(self) -> int:
        """The burst's instant: never before the time that the run was woken for."""
        return max(
            self.ports.clock.now(),
            min(self.head.wake_at or 0, self.ports.clock.now() + CLOCK_SKEW_MILLISECONDS),
        )

    def _out_of_time(self, seconds: float = 0) -> bool:
        return self.deadline.remaining_milliseconds() < COMMIT_RESERVE_MILLISECONDS + seconds * 1000

    def _pass(self, graph: CompiledGraph) -> Advanced | None:
        plan = self._decided(graph)
        if plan.subscriptions and not self.costly_result and not self._out_of_time():
            self._subscribe(plan)
            return None
        calls = [c for c in plan.calls if not self._out_of_time(c.timeout_seconds)]
        if calls and not self.costly_result:
            if any(call.costly for call in calls) and not plan.changes_nothing:
                # The token stands at its call before anything is paid: whatever comes, the answer has a place.
                return self._commit(plan, release=False)
            self._call(calls)
            return None
        unfinished = bool(plan.calls or plan.subscriptions) or plan.more_to_do or bool(plan.head.closing)
        release = not unfinished or self._out_of_time() or (bool(plan.calls) and not calls)
        if plan.changes_nothing and not plan.more_to_do:
            return self._release(plan)  # one that is due again at once is committed: it counts as no progress
        return self._commit(plan, release=release)

    def _decided(self, graph: CompiledGraph) -> Plan:
        while True:
            try:
                return decide(self.head, graph, self.knowledge, self._now())
            except Missing as missing:
                if self.costly_result:
                    # Committed before anything else is asked for: what fails there would lose what was paid.
                    return decide(self.head, graph, self.knowledge, self._now(), results_only=True)
                reads.fulfil(self.ports, self.head, self.knowledge, missing)

    def _subscribe(self, plan: Plan) -> None:
        """Write subscriptions, then look for events that came before: in this order neither misses the other."""
        adopted = False
        for pending in plan.subscriptions:
            adopted = parked_events.subscribe(self.ports, self.head.run_id, pending) or adopted
            self.knowledge.subscribed.add(pending.token_key)
        if adopted:
            self._reload()

    def _reload(self) -> None:
        current = read_head(self.ports, self.head.run_id)
        if same_lease(current, self.head):
            self._rebuild(current)

    def _call(self, calls: list[PendingCall]) -> None:
        """Read-only calls of parallel branches run at the same time and are joined before anything else."""
        if len(calls) == 1:
            self._keep(calls[0], self._answer(calls[0]))
            return
        with ThreadPoolExecutor(max_workers=min(len(calls), PARALLEL_CALLS_MAX)) as pool:
            for call, result in zip(calls, pool.map(self._answer, calls), strict=True):
                self._keep(call, result)

    def _keep(self, call: PendingCall, result: CallResult) -> None:
        self.knowledge.results[(call.token_key, call.attempt)] = result
        self.costly_result = self.costly_result or result.costly

    def _answer(self, call: PendingCall) -> CallResult:
        request = ComponentRequest(
            call.component_id, self.head.run_id, call.step_id, call.input, call.timeout_seconds
        )
        jitter = self.ports.ids.jitter(0, 1_000) / 1_000
        try:
            answer = self.ports.components.call(request)
        except NodeFailed as failure:
            self.ports.journal.event("component_failed", run_id=self.head.run_id, code=failure.code)
            return CallResult(
                code=failure.code, retryable=failure.retryable, costly=call.costly, jitter=jitter
            )
        return CallResult(answer.port, answer.result, costly=call.costly)

    def _commit(self, plan: Plan, *, release: bool) -> Advanced | None:
        linked = linked_runs.of_plan(self.ports, self.head, plan)
        outcome = commit(self.ports, self.head, plan, release=release, also=linked.writes)
        if isinstance(outcome, Committed):
            linked_runs.wake(self.ports, linked)
            return self._committed(outcome, plan, release=release)
        if isinstance(outcome, Lost):
            return self._lost()
        if isinstance(outcome, Unresolved):
            self.ports.journal.event("commit_ambiguous", run_id=self.head.run_id)
            return Advanced.UNRESOLVED
        assert isinstance(outcome, Rebuild)
        if self.deadline.remaining_milliseconds() <= 0:
            return self._give_back_after(CasegraphError("no time is left to decide again", "out_of_time"))
        self._rebuild(outcome.head)
        return None

    def _committed(self, outcome: Committed, plan: Plan, *, release: bool) -> Advanced | None:
        self.costly_result = False
        for ref, due_at in plan.effects:
            hints.effect_due(self.ports, self.head.run_id, ref, due_at)
        if not release and not same_lease(outcome.head, self.head):
            return self._lost()
        self.head = outcome.head
        reads.forget_changing_rows(self.knowledge)
        self.knowledge.rows[outcome.segment["sk"]] = outcome.segment
        if release:
            if self.head.wake_at is not None and not self.head.stopped:
                hints.run_due(self.ports, self.head.run_id, self.head.wake_at)
            return Advanced.RELEASED
        return None

    def _rebuild(self, head: Head) -> None:
        self.head = head
        reads.forget_changing_rows(self.knowledge)

    def _release(self, plan: Plan) -> Advanced | None:
        changed = lease.release(self.ports, self.head, plan.head.wake_at)
        if changed is not None:
            self._rebuild(head_of(self.ports, changed.item))
            return None
        if plan.head.wake_at is not None:
            hints.run_due(self.ports, self.head.run_id, plan.head.wake_at)
        return Advanced.RELEASED

    def _close(self) -> Advanced:
        """A terminal run: close what its outcome left open, page by page, then give the lease back."""
        while not self._out_of_time():
            outcome = close_next_page(self.ports, self.head)
            if outcome is None:
                return Advanced.RELEASED
            if isinstance(outcome, Lost):
                return self._lost()
            self.head = outcome
        lease.release(self.ports, self.head, self.head.wake_at)
        hints.run_due(self.ports, self.head.run_id, self.ports.clock.now())
        return Advanced.RELEASED

    def _lost(self) -> Advanced:
        self.ports.journal.event("lease_lost", run_id=self.head.run_id, generation=self.head.generation)
        return Advanced.LEASE_LOST

    def _stop(self, code: str) -> Advanced:
        """Commit run attention; on a race the next claimant meets the same problem."""
        plan = stop_plan(self.head, code, self._now())
        outcome = commit(self.ports, self.head, plan, release=True)
        self.ports.journal.event("run_attention", run_id=self.head.run_id, code=code)
        if isinstance(outcome, Rebuild):
            return self._give_back_after(CasegraphError("raced with another write", code))
        return Advanced.RELEASED if isinstance(outcome, Committed) else self._lost()

    def _give_back_after(self, failure: Exception) -> Advanced:
        """An unexpected error: the attempt stays counted, the run comes back after a back-off."""
        code = failure.code if isinstance(failure, CasegraphError) else type(failure).__name__
        self.ports.journal.event("burst_failed", run_id=self.head.run_id, code=code)
        try:
            lease.release_after_error(self.ports, self.head)
        except CasegraphError:
            self.ports.journal.count("release_failed")
        return Advanced.FAILED
