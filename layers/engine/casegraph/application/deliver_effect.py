"""Delivering an effect: count the attempt, call, settle with the signal; recover what was left (protocol.md 5)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from casegraph.application import hints, payloads
from casegraph.application.context import Ports
from casegraph.application.persistence import patiently, transact, write
from casegraph.application.ports import (
    Applied,
    Connector,
    Deadline,
    EffectRequest,
    NotFoundThere,
    Outcome,
    Rejected,
    RetryLater,
    Unknown,
)
from casegraph.application.signals import send_signal
from casegraph.domain import effect, rules
from casegraph.domain.effect import Verdict
from casegraph.domain.head import head_key, row_key
from casegraph.domain.signal import EFFECT, Pointer
from casegraph.domain.writes import Check, Item, Key, Update
from casegraph.errors import CasegraphError, ConditionsFailed, InvalidInput, NodeFailed, TooLarge
from casegraph.limits import (
    CLOCK_SKEW_MILLISECONDS,
    COMMIT_RESERVE_MILLISECONDS,
    EFFECT_CALL_TIMEOUT_SECONDS,
    JOB_HOLD_MILLISECONDS,
    PAUSED_RECHECK_MILLISECONDS,
)


class Delivered(StrEnum):
    """How a pass over an effect ended."""

    SETTLED = "settled"
    RETRY = "retry"
    NOTHING_DUE = "nothing_due"
    NOT_YET = "not_yet"
    HELD = "held"
    SUPERSEDED = "superseded"
    UNKNOWN_EFFECT = "unknown_effect"
    NO_TIME = "no_time"


def deliver_effect(ports: Ports, run_id: str, ref: str, deadline: Deadline) -> Delivered:
    """Take a hint that an effect (`<step>#<n>`) may be due, and do what is to be done."""
    key = row_key(run_id, f"EFFECT#{ref}")
    item = patiently(ports, lambda: ports.store.get(key))
    if item is None:
        return Delivered.UNKNOWN_EFFECT
    delivery = Delivery(ports, key, ref, item, deadline)
    now = ports.clock.now()
    if item["state"] not in ("pending", "applying"):
        ports.journal.count("job_nothing_due")
        return Delivered.NOTHING_DUE
    if item["available_at"] > now + (CLOCK_SKEW_MILLISECONDS if item["state"] == "pending" else 0):
        if item["available_at"] <= now + JOB_HOLD_MILLISECONDS:
            hints.effect_due(ports, run_id, ref, item["available_at"])
        return Delivered.NOT_YET
    if deadline.remaining_milliseconds() < COMMIT_RESERVE_MILLISECONDS + EFFECT_CALL_TIMEOUT_SECONDS * 1000:
        return Delivered.NO_TIME
    return delivery.attempt() if item["state"] == "pending" else delivery.recover()


@dataclass
class Delivery:
    """One pass over one effect row, as it was read."""

    ports: Ports
    key: Key
    ref: str
    item: Item
    deadline: Deadline

    def attempt(self) -> Delivered:
        """Count an attempt in the same transaction that checks that the run still wants it, then call."""
        now = self.ports.clock.now()
        until = now + self.deadline.remaining_milliseconds() + CLOCK_SKEW_MILLISECONDS
        token = self.ports.ids.new()[:16]
        wanted = (rules.NOT_TERMINAL, rules.NOT_PAUSED, rules.token_open(self.item["token_key"]))
        started = effect.start_attempt(self.key, token, now, until, effect.attempts_as_read(self.item))
        try:
            transact(self.ports, [started, Check(head_key(self.item["run_id"]), wanted)])
        except ConditionsFailed as failed:
            on_effect, on_head = failed.of(0), failed.of(1)
            old = on_effect.old_item if on_effect else None
            if old is None or old.get("attempt_token") != token:
                return self._not_started(on_head.rules if on_head else ())
        self._started(token, until)
        return self._settle_outcome(self._call())

    def _started(self, token: str, until: int) -> None:
        self.item = {
            **self.item,
            "state": "applying",
            "attempts": self.item["attempts"] + 1,
            "attempt_token": token,
            "attempt_until": until,
        }

    def _not_started(self, head_rules: tuple[str, ...]) -> Delivered:
        """The run is paused: later. It has ended, or the branch lost: never. Otherwise another worker has it."""
        now = self.ports.clock.now()
        if "not_terminal" in head_rules or "token_open" in head_rules:
            return self._try_write(effect.cancel(self.key, self.item, now), Delivered.SETTLED)
        if "not_paused" in head_rules:
            later = effect.postpone(self.key, self.item, now + PAUSED_RECHECK_MILLISECONDS)
            return self._try_write(later, Delivered.HELD)
        return Delivered.SUPERSEDED

    def _try_write(self, update: Update, done: Delivered) -> Delivered:
        try:
            write(self.ports, update)
        except ConditionsFailed:
            return Delivered.SUPERSEDED
        return done

    def _connector(self) -> Connector:
        return self.ports.connectors.get(self.item["connector_id"])

    def _visibility_seconds(self) -> int:
        try:
            return self._connector().visibility_seconds
        except NodeFailed:
            return 0  # the connector is gone: nobody can be asked, and the lookups run out

    def _request(self) -> EffectRequest:
        return EffectRequest(
            effect_id=self.item["effect_id"],
            connector_id=self.item["connector_id"],
            operation=self.item["operation"],
            operation_key=effect.operation_key(self.item, self.item["run_id"]),
            attempt=self.item["attempts"],
            payload=payloads.field(self.ports, self.item, "payload"),
            timeout_seconds=EFFECT_CALL_TIMEOUT_SECONDS,
        )

    def _call(self) -> Outcome:
        """Call, if there still is time for it: what was not sent is definitely refused, not unknown."""
        if self.deadline.remaining_milliseconds() < EFFECT_CALL_TIMEOUT_SECONDS * 1000:
            return RetryLater("no_time_left")
        try:
            request = self._request()
        except CasegraphError as failure:
            return RetryLater(failure.code)  # its payload could not be read
        try:
            return self._connector().deliver(request)
        except NodeFailed as failure:
            return Rejected(failure.code)
        except CasegraphError as failure:
            return Unknown(failure.code)
        except Exception as failure:  # noqa: BLE001 - a connector's own bug leaves the outcome unknown
            self.ports.journal.event(
                "connector_raised", run_id=self.item["run_id"], code=type(failure).__name__
            )
            return Unknown("connector_raised")

    def _settle_outcome(self, outcome: Outcome) -> Delivered:
        now = self.ports.clock.now()
        match outcome:
            case Applied():
                return self._settle(effect.after_applied(self._kept(outcome.result)))
            case Rejected():
                return self._settle(effect.after_rejected(self.item, outcome.code))
            case RetryLater():
                return self._settle(effect.after_refused(self.item, outcome.code, now, self._jitter()))
            case Unknown():
                return self._unknown(outcome.code)

    def _kept(self, result: object) -> Item:
        """The receiver's answer as the row keeps it; one that is no JSON, or too large, is left out: it was applied."""
        if result is None:
            return {}
        try:
            return payloads.stored(self.ports, self.item["run_id"], "result", result)
        except (InvalidInput, TooLarge):
            return {"result_dropped": True}

    def _unknown(self, code: str) -> Delivered:
        now = self.ports.clock.now()
        verdict = effect.after_unknown(self.item, code, now, self._jitter())
        if verdict is not None:
            return self._settle(verdict)
        return self._look_later()

    def _look_later(self) -> Delivered:
        now = self.ports.clock.now()
        believed = effect.lookup_believed_at(self.item, self._visibility_seconds())
        at = max(believed, now + effect.backoff_ceiling(self.item.get("lookups", 0) + 1))
        hints.effect_due(self.ports, self.item["run_id"], self.ref, at)
        return self._try_write(effect.look_again(self.key, self.item, at), Delivered.RETRY)

    def _jitter(self) -> int:
        return self.ports.ids.jitter(0, effect.backoff_ceiling(max(1, self.item["attempts"])))

    def recover(self) -> Delivered:
        """An attempt whose invocation is over left no verdict: by recovery class, never blindly."""
        if self.item["recovery"] != "lookup":
            return self._unknown("attempt_lost")
        try:
            answer = self._connector().look_up(self._request())
        except Exception:  # noqa: BLE001 - a lookup that fails says nothing
            answer = Unknown("lookup_failed")
        now = self.ports.clock.now()
        if isinstance(answer, Applied):
            return self._settle(effect.after_applied(self._kept(answer.result)))
        if isinstance(answer, Rejected):
            return self._settle(effect.after_rejected(self.item, answer.code))
        believed = effect.lookup_believed_at(self.item, self._visibility_seconds())
        if isinstance(answer, NotFoundThere) and now >= believed:
            return self._settle(effect.after_absent(self.item, now, self._jitter()))
        if isinstance(answer, NotFoundThere):
            return self._look_later()
        return self._unknown(answer.code)

    def _settle(self, verdict: Verdict) -> Delivered:
        """Write the verdict; one that the run must hear of goes together with its signal."""
        if verdict.state == "pending":
            return self._back_to_pending(verdict)
        now = self.ports.clock.now()
        settled = effect.settle(self.key, self.item, verdict, now)
        try:
            send_signal(self.ports, self.item["run_id"], Pointer(EFFECT, self.ref), lambda _: [settled])
        except ConditionsFailed:
            return Delivered.SUPERSEDED
        self.ports.journal.event("effect_settled", run_id=self.item["run_id"], state=verdict.state)
        return Delivered.SETTLED

    def _back_to_pending(self, verdict: Verdict) -> Delivered:
        now = self.ports.clock.now()
        update = effect.settle(self.key, self.item, verdict, now)
        try:
            transact(self.ports, [update, Check(head_key(self.item["run_id"]), (rules.NOT_TERMINAL,))])
        except ConditionsFailed as failed:
            if failed.of(0) is not None:
                return Delivered.SUPERSEDED
            return self._settle(effect.after_terminal(self.item, verdict))
        hints.effect_due(self.ports, self.item["run_id"], self.ref, verdict.available_at or now)
        return Delivered.RETRY
