"""`casegraph dev`: the local AWS process, the stack, the real handlers on the real queues, and the HTTP front.

Everything that must survive is in the local AWS process and in the state directory. The process that runs this may be
killed at any moment and started again: it finds the stack, the keys and the work that is under way.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from casegraph.client.context import Context, save
from casegraph.local.aws_process import LocalAws
from casegraph.local.credentials import use_local_credentials
from casegraph.local.functions import Function
from casegraph.local.http_front import HttpFront
from casegraph.local.logs import log_to_file
from casegraph.local.people import ADMIN, PEOPLE
from casegraph.local.request_meter import RequestMeter
from casegraph.local.stack import ensure_stack
from casegraph.local.state_lock import StateLock
from casegraph.local.workers import INVOCATION_SECONDS, Workers
from casegraph.runtime.container import container
from casegraph.runtime.local_tokens import LocalTokens
from casegraph.runtime.settings import Settings

API_SECONDS = 29.0
# Powertools would print metrics for CloudWatch, and send traces to X-Ray.
_QUIET = {"POWERTOOLS_METRICS_DISABLED": "true", "POWERTOOLS_TRACE_DISABLED": "true"}


@dataclass(frozen=True, slots=True)
class Options:
    """state: the state directory. port: 0 takes a free one. aws_endpoint: a local AWS process that is not ours to
    start or stop. context: where `context.json` is written."""

    state: Path
    port: int = 0
    aws_endpoint: str | None = None
    context: Path | None = None


class DevServer:
    """The local run in this process. As a context manager it starts on entry and stops in order on exit."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.meter = RequestMeter()
        self._aws: LocalAws | None = None
        self._front: HttpFront | None = None
        self._workers: Workers | None = None
        self._log: TextIO | None = None
        self._context: Context | None = None
        # Another server's context.json is not ours to overwrite either.
        directories = {options.state.resolve(), (options.context or options.state).resolve()}
        self._locks = [StateLock(directory) for directory in sorted(directories)]

    @property
    def context(self) -> Context:
        """Address and tokens, once started."""
        assert self._context is not None, "start() first"
        return self._context

    @property
    def log_file(self) -> Path:
        """The handlers' log."""
        return self._options.state / "handlers.log"

    def start(self) -> Self:
        """Start everything and write `context.json`. Raises `LocalAwsFailed`, `OSError` for a port that is taken,
        `NeedsOperator("already_running")` while another process serves from the same directory."""
        for lock in self._locks:
            lock.take()
        use_local_credentials()
        settings = ensure_stack(self._endpoint())
        _use_environment(settings)
        self.meter.attach()
        tokens = LocalTokens(self._options.state / "keys")
        api = Function("api", API_SECONDS)
        jobs = {name: Function(name, INVOCATION_SECONDS) for name in ("execute", "dispatch", "reconcile")}
        # Makes the handlers' loggers (and clients) now, so that they can be told where to write.
        container()
        self._log = log_to_file(self.log_file)
        self._front = HttpFront(api, tokens.verify, port=self._options.port)
        issued = {p.subject: tokens.issue(p.subject, roles=p.roles, queues=p.queues) for p in PEOPLE}
        self._context = Context(self._front.url, ADMIN, issued)
        # Written before anything answers: who reaches the server can also read how to sign in.
        save(self._context, self._options.context or self._options.state)
        self._front.start()
        self._workers = Workers(settings, **jobs)
        self._workers.start()
        return self

    def stop(self) -> None:
        """Take no more requests, let the work that is under way end, then stop the AWS process with its state kept."""
        if self._front is not None:
            self._front.stop()
        if self._workers is not None:
            self._workers.stop()
        if self._aws is not None and self._aws.owned:
            self._aws.stop()
        if self._log is not None:
            self._log.flush()
        self._front = self._workers = self._aws = None
        for lock in self._locks:
            lock.give_back()

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _endpoint(self) -> str:
        if self._options.aws_endpoint is not None:
            return self._options.aws_endpoint
        self._aws = LocalAws(self._options.state / "aws").start()
        return self._aws.endpoint_url


def _use_environment(settings: Settings) -> None:
    """What the template gives the functions; they read it when they are loaded."""
    os.environ.update(settings.to_environment())
    os.environ.update(_QUIET)
    os.environ["POWERTOOLS_SERVICE_NAME"] = "casegraph"
    os.environ["POWERTOOLS_LOG_LEVEL"] = settings.log_level
