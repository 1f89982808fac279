"""One server per state directory: a lock that the process holds and that ends with it, however it ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import TextIO

from casegraph.errors import NeedsOperator

LOCK_NAME = "server.lock"


class StateLock:
    """The lock of a directory, which is made when it is missing. Not inherited by processes that are started."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / LOCK_NAME
        self._file: TextIO | None = None

    def take(self) -> None:
        """Take it, or raise `NeedsOperator("already_running")` that names the process that holds it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Not truncated before it is ours: what it says is the holder's.
        file = self._path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            file.seek(0)
            holder = file.read(20).strip() or "?"
            file.close()
            raise NeedsOperator(
                f"process {holder} already serves from {self._path.parent}; stop it first (Ctrl-C), "
                "or work in another directory",
                "already_running",
                directory=str(self._path.parent),
                pid=holder,
            ) from exc
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file

    def give_back(self) -> None:
        """Let the next one in; nothing happens when it was not taken."""
        if self._file is not None:
            self._file.close()
            self._file = None
