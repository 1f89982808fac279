"""Where the log lines of the handlers go in the local run: to a file, so that the terminal is free for people."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TextIO


def log_to_file(path: Path) -> TextIO:
    """Send what loggers write to standard output or errors to the end of a file instead; returns the open file.

    Call it when the handlers are loaded: they make their loggers then."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("a", buffering=1)
    ours = logging.StreamHandler(file)
    ours.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
    logging.getLogger("casegraph.local").addHandler(ours)
    terminals = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
    for logger in _loggers():
        for handler in logger.handlers:
            if isinstance(handler, logging.StreamHandler) and handler.stream in terminals:
                handler.setStream(file)
    return file


def _loggers() -> list[logging.Logger]:
    known = logging.Logger.manager.loggerDict.values()
    return [logging.getLogger(), *(logger for logger in known if isinstance(logger, logging.Logger))]
