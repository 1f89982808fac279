"""`casegraph dev` and other commands as processes of their own, as a person runs them."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
from typer.testing import CliRunner

from casegraph.cli.main import app

COMMAND = (sys.executable, "-m", "casegraph.cli.main")
# Importing everything and making the stack takes two seconds; a busy machine takes longer.
START_SECONDS = 60.0


class DevProcess:
    """`casegraph dev` in a directory. Its state and `context.json` are under `.casegraph/` there."""

    def __init__(self, directory: Path, port: int, *more: str) -> None:
        self.directory = directory
        self.url = f"http://127.0.0.1:{port}"
        self._arguments = [*COMMAND, "dev", "--json", "--port", str(port), *more]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def output(self) -> str:
        """What it printed, for the message of a failing test."""
        return (self.directory / "dev.out").read_text()[-4000:]

    def start(self) -> None:
        """Start it and do not wait."""
        with (self.directory / "dev.out").open("ab") as out:
            self._process = subprocess.Popen(
                self._arguments, cwd=self.directory, stdout=out, stderr=out, start_new_session=True
            )

    def wait_until_it_answers(self) -> None:
        """Wait for its first answer. Raises AssertionError with its output."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self._process is not None
            assert self._process.poll() is None, self.output
            try:
                if httpx.get(f"{self.url}/healthz", trust_env=False).status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(0.1)
        raise AssertionError(self.output)

    def kill(self) -> None:
        """SIGKILL."""
        self.end(signal.SIGKILL)

    def end(self, how: signal.Signals = signal.SIGINT) -> int:
        """Send a signal (Ctrl-C, when none is named) and wait; its exit code."""
        assert self._process is not None
        self._process.send_signal(how)
        return self._process.wait(60)


def casegraph(directory: Path, *arguments: str, code: int = 0) -> Any:
    """Run a command with `--json` in a directory; its document. Raises AssertionError for another exit code.

    In this process: importing everything for each command would take a second."""
    hidden = dict.fromkeys(("CASEGRAPH_URL", "CASEGRAPH_TOKEN"))
    with contextlib.chdir(directory):
        done = CliRunner(env=hidden).invoke(app, [*arguments, "--json"])
    assert done.exit_code == code, f"{' '.join(arguments)}: {done.exit_code}\n{done.output}"
    return json.loads(done.stdout if code == 0 else done.stderr)
