"""Every log event and metric of the engine: the one place from which docs, dashboard and alarms are made.

Identifiers and numbers only: never a payload, a name, a token or free text (architecture.md 11).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["INFO", "WARNING", "ERROR"]
Unit = Literal["Count", "Seconds", "Milliseconds"]


@dataclass(frozen=True, slots=True)
class LogEvent:
    """A log line. counted: the metric of the same name counts it. first_command: where an operator starts."""

    level: Level
    meaning: str
    counted: bool = False


@dataclass(frozen=True, slots=True)
class Metric:
    """A number over time."""

    unit: Unit
    meaning: str


EVENTS: dict[str, LogEvent] = {
    "request": LogEvent("INFO", "An API request was answered."),
    "request_refused": LogEvent("INFO", "An API request was refused; code says why."),
    "request_failed": LogEvent("ERROR", "An API request met an unexpected error.", counted=True),
    "invocation_failed": LogEvent("ERROR", "A job met an unexpected error and comes back.", counted=True),
    "advanced": LogEvent("INFO", "A pass over a run ended."),
    "delivered": LogEvent("INFO", "A pass over an effect ended."),
    "job_malformed": LogEvent(
        "ERROR", "A message is no job of a known version; it goes to the DLQ.", counted=True
    ),
    "job_not_started": LogEvent("WARNING", "No time was left for a job; it comes back.", counted=True),
    "component_failed": LogEvent("WARNING", "A component answered with a failure.", counted=True),
    "connector_raised": LogEvent(
        "ERROR", "A connector has a bug: it raised; the outcome is unknown.", counted=True
    ),
    "commit_ambiguous": LogEvent(
        "WARNING", "A commit's outcome stayed unknown; its lease expires.", counted=True
    ),
    "lease_lost": LogEvent("WARNING", "A stale worker stopped without writing.", counted=True),
    "burst_failed": LogEvent("ERROR", "A burst met an unexpected error; the run backs off.", counted=True),
    "run_attention": LogEvent("WARNING", "A run needs an operator.", counted=True),
    "effect_settled": LogEvent("INFO", "An effect has its result."),
    "parked_event_refused": LogEvent(
        "WARNING", "An event by key does not fit the run that waits for it; it stays parked.", counted=True
    ),
    "reconciled": LogEvent("INFO", "A sweep ended."),
    "reconcile_item_failed": LogEvent(
        "WARNING", "One item of a sweep failed; the next sweep serves it.", counted=True
    ),
}

METRICS: dict[str, Metric] = {
    "job_nothing_due": Metric("Count", "Jobs that found nothing to do: late or doubled hints."),
    "job_send_failed": Metric("Count", "Hints that could not be sent; the sweep finds what they were for."),
    "release_failed": Metric("Count", "Leases that could not be given back; they expire."),
    "waits_overdue": Metric(
        "Count", "Due runs that are late by more than a minute, as the last sweep saw them."
    ),
    "due_lag_seconds": Metric("Seconds", "How late the oldest due run is."),
}
