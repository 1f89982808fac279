"""One server per state directory, for as long as its process lives."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from casegraph.errors import NeedsOperator
from casegraph.local.dev_server import DevServer, Options
from casegraph.local.state_lock import StateLock


def is_free(directory: Path) -> bool:
    lock = StateLock(directory)
    lock.take()
    lock.give_back()
    return True


def test_a_second_server_on_a_state_directory_is_refused_and_touches_nothing(tmp_path: Path) -> None:
    first = StateLock(tmp_path)
    first.take()
    with pytest.raises(NeedsOperator, match=str(os.getpid())) as caught, DevServer(Options(tmp_path)):
        pass
    assert caught.value.code == "already_running"
    assert [found.name for found in tmp_path.iterdir()] == ["server.lock"]
    first.give_back()
    assert is_free(tmp_path)


def test_a_server_is_refused_that_would_write_into_anothers_context(tmp_path: Path) -> None:
    first = StateLock(tmp_path)
    first.take()
    options = Options(tmp_path / "demo", context=tmp_path)
    with pytest.raises(NeedsOperator, match="stop it first"), DevServer(options):
        pass
    assert is_free(tmp_path / "demo")
    first.give_back()


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path; from casegraph.local.state_lock import StateLock\n"
        "lock = StateLock(Path(sys.argv[1])); lock.take(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path)]).returncode == -9
    assert is_free(tmp_path)
