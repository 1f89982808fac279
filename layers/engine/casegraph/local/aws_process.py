"""The local AWS process (ministack): started on 127.0.0.1 and a free port, stopped with its state kept.

A directory holds one process at a time: `process.json` says which. A process that outlived its owner (the owner was
killed) is adopted by the next one, with everything that it holds in memory. SIGTERM makes it write its state to the
directory; SIGKILL loses what came since its start.
"""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from casegraph.errors import NeedsOperator
from casegraph.local.credentials import REGION, use_local_credentials

HOST = "127.0.0.1"
# It listens within half a second; a machine whose cores are all taken needs longer.
START_SECONDS = 30.0
# Time to write the state down. Never followed by SIGKILL, which would lose it.
STOP_SECONDS = 30.0
POLL_SECONDS = 0.05


class LocalAwsFailed(NeedsOperator):
    """The local AWS process did not start or did not stop; the text names its log file."""

    default_code = "local_aws_failed"


@dataclass(frozen=True, slots=True)
class Record:
    """What `process.json` says: the process, its port, and the process that answers for it."""

    pid: int
    port: int
    owner_pid: int


class LocalAws:
    """One local AWS process with its state in a directory.

    As a context manager it starts (or adopts) on entry and stops, keeping the state, on exit. A process whose owner is
    still alive is only used: leaving the context does not stop it.
    """

    def __init__(self, directory: Path, *, port: int | None = None) -> None:
        """`directory` is created when missing (usually `.casegraph/aws`); `port` None takes a free one."""
        self.directory = directory.resolve()
        self._wanted_port = port
        self._child: subprocess.Popen[bytes] | None = None
        self._record: Record | None = None

    @property
    def endpoint_url(self) -> str:
        """`http://127.0.0.1:<port>`; raises `LocalAwsFailed` before `start`."""
        if self._record is None:
            raise LocalAwsFailed("the local AWS process is not started; call start()")
        return f"http://{HOST}:{self._record.port}"

    @property
    def port(self) -> int:
        """The port; raises like `endpoint_url`."""
        return int(self.endpoint_url.rpartition(":")[2])

    @property
    def log_file(self) -> Path:
        """Its standard output and errors."""
        return self.directory / "process.log"

    @property
    def owned(self) -> bool:
        """Whether this object answers for the process, so that leaving the context stops it."""
        return self._record is not None and self._record.owner_pid == os.getpid()

    def start(self) -> Self:
        """Adopt the directory's running process, or start one and wait until it answers.

        Raises `LocalAwsFailed` with the end of its log.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        with (self.directory / "start.lock").open("w") as lock:
            # Two starts at once must not write to one state: the second waits and finds the first one's process.
            fcntl.flock(lock, fcntl.LOCK_EX)
            running = self._running()
            if running is None:
                self._record = self._spawn()
            elif _alive(running.owner_pid) and running.owner_pid != os.getpid():
                self._record = running
            else:
                self._record = Record(running.pid, running.port, os.getpid())
            self._remember(self._record)
        return self

    def stop(self) -> None:
        """End the process with SIGTERM, so that it writes its state, and wait for that; stopped already is no error."""
        record = self._record or self._running()
        if record is None:
            return
        _terminate(record.pid)
        deadline = time.monotonic() + STOP_SECONDS
        while self._still_there(record.pid):
            if time.monotonic() > deadline:
                raise LocalAwsFailed(
                    f"process {record.pid} is still writing its state after {STOP_SECONDS:.0f} s; see {self.log_file}",
                    pid=record.pid,
                )
            time.sleep(POLL_SECONDS)
        (self.directory / "process.json").unlink(missing_ok=True)
        self._record = self._child = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.owned:
            self.stop()

    def _spawn(self) -> Record:
        port = self._wanted_port or free_port()
        if not _is_free(port):
            raise LocalAwsFailed(
                f"port {port} of {HOST} is taken; stop what listens there, or name no port", port=port
            )
        with self.log_file.open("ab") as log:
            # A session of its own: Ctrl-C at the terminal reaches us, and we stop it after the handlers are done.
            self._child = subprocess.Popen(
                [sys.executable, "-m", "ministack"],
                env=_environment(self.directory, port),
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        record = Record(self._child.pid, port, os.getpid())
        self._remember(record)
        deadline = time.monotonic() + START_SECONDS
        while not _healthy(port):
            if self._child.poll() is not None or time.monotonic() > deadline:
                self._child.terminate()
                self._child.wait(STOP_SECONDS)
                (self.directory / "process.json").unlink(missing_ok=True)
                raise LocalAwsFailed(f"the local AWS process did not start: {self._log_end()}", port=port)
            time.sleep(POLL_SECONDS)
        return record

    def _running(self) -> Record | None:
        """The process that `process.json` names, if it is alive and answers."""
        try:
            record = Record(**json.loads((self.directory / "process.json").read_text()))
        except (OSError, ValueError, TypeError):
            return None
        return record if _alive(record.pid) and _healthy(record.port) else None

    def _remember(self, record: Record) -> None:
        partial = self.directory / f"process.json.{os.getpid()}"
        partial.write_text(json.dumps(asdict(record)))
        partial.replace(self.directory / "process.json")

    def _still_there(self, pid: int) -> bool:
        if self._child is not None and self._child.pid == pid:
            return self._child.poll() is None
        return _alive(pid)

    def _log_end(self) -> str:
        lines = self.log_file.read_text(errors="replace").splitlines()[-5:]
        return " | ".join(lines) or f"it wrote nothing to {self.log_file}"


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def _environment(directory: Path, port: int) -> dict[str, str]:
    environment = dict(os.environ)
    use_local_credentials(environment)
    environment.update(
        GATEWAY_PORT=str(port),
        BIND_HOST=HOST,
        MINISTACK_HOST=HOST,
        MINISTACK_REGION=REGION,
        PERSIST_STATE="1",
        STATE_DIR=str(directory / "state"),
        # Without these two, objects are kept in memory only, or in a folder that every process shares.
        S3_PERSIST="1",
        S3_DATA_DIR=str(directory / "s3"),
        IOT_MTLS_ENABLED="0",
        SFTP_ENABLED="0",
        LOG_LEVEL="WARNING",
    )
    return environment


def _healthy(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", "/_ministack/ready")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """A process that ended but whose parent has not asked for its result (Linux; elsewhere: no)."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] == "Z"


def _terminate(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGTERM)
    except ProcessLookupError:
        return
