"""Handlers' lines leave the terminal and reach the log file."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from casegraph.local.logs import log_to_file


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    made = logging.getLogger("a-handler-of-the-test")
    made.propagate = False
    yield made
    made.handlers.clear()
    logging.getLogger("casegraph.local").handlers.clear()


def test_what_went_to_the_terminal_goes_to_the_file(
    logger: logging.Logger, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logger.addHandler(logging.StreamHandler(sys.stdout))
    file = log_to_file(tmp_path / "new" / "handlers.log")
    logger.warning("a line of a handler")
    logging.getLogger("casegraph.local").warning("a line of ours")
    file.close()
    written = (tmp_path / "new" / "handlers.log").read_text()
    assert "a line of a handler" in written
    assert "casegraph.local a line of ours" in written
    assert capsys.readouterr().out == ""
