"""Logs and metrics over Powertools: the `Journal` port, bound to the catalogue."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from casegraph.runtime.catalogue import EVENTS, METRICS, Level, LogEvent

SERVICE = "casegraph"

# Of this thread: the local run serves several invocations in one process.
_REQUEST_ID: ContextVar[str] = ContextVar("request_id", default="")


class LambdaJournal:
    """The `Journal` port. One line per event, one metric record per invocation (`flush`)."""

    def __init__(self, log_level: str) -> None:
        self._logger = Logger(service=SERVICE, level=log_level)
        self._write: dict[Level, Callable[..., None]] = {
            "INFO": self._logger.info,
            "WARNING": self._logger.warning,
            "ERROR": self._logger.error,
        }
        self._metrics = Metrics(namespace="Casegraph", service=SERVICE)
        self._counted: dict[str, int] = {}

    def event(self, name: str, **fields: str | int | bool | None) -> None:
        """One log line; a name that the catalogue does not have is a bug, and is said so in the log."""
        known = EVENTS.get(name)
        if known is None:
            known = LogEvent("ERROR", "not in the catalogue")
        given = {key: value for key, value in fields.items() if value is not None}
        given["request_id"] = _REQUEST_ID.get()
        self._write[known.level](name, extra=given)
        if known.counted:
            self.count(name)

    def count(self, name: str, value: int = 1) -> None:
        """Add to a metric of this invocation."""
        self._counted[name] = self._counted.get(name, 0) + value

    def begin(self, request_id: str) -> None:
        """Start of an invocation: its id stands on every line."""
        _REQUEST_ID.set(request_id)

    def flush(self) -> None:
        """End of an invocation: write its metrics as one record."""
        counted, self._counted = self._counted, {}
        for name, value in counted.items():
            unit = METRICS[name].unit if name in METRICS else "Count"
            self._metrics.add_metric(name=name, unit=MetricUnit[unit], value=value)
        if counted:
            self._metrics.flush_metrics()
