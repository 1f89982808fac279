"""Workers in lock-step: real threads of which exactly one runs, handing a baton over at each pause point.

Deterministic, although the engine's code is ordinary blocking code: nothing happens between two pause points that
another thread could see, and who goes on is the scheduler's (seeded) choice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Killed(BaseException):
    """The process that ran this worker is gone. A BaseException: no engine code may catch it."""


class Task:
    """One piece of work on its own thread; runs only while it has the baton."""

    def __init__(self, name: str, work: Callable[[], Any]) -> None:
        self.name = name
        self.ready_at = 0
        self.ended = False
        self.result: Any = None
        self.error: BaseException | None = None
        self._work = work
        self._doomed = False
        self._go = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._thread: threading.Thread | None = None

    def step(self) -> None:
        """Hand the baton over until the task pauses or ends. Called by the scheduler's thread only."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
            self._thread.start()
        self._go.release()
        self._back.acquire()
        if self.ended:
            self._thread.join()

    def pause(self) -> None:
        """Give the baton back and wait for it. Called in the task's own thread only."""
        self._back.release()
        self._go.acquire()
        if self._doomed:
            raise Killed(f"{self.name} is stopped with its world")

    def stop(self) -> None:
        """End the thread at its pause point, so that none outlives the test."""
        if self._thread is None or self.ended:
            return
        self._doomed = True
        while not self.ended:
            self.step()

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self._doomed:
                self.result = self._work()
        except BaseException as error:  # noqa: BLE001 - kept for the scheduler, which decides what it means
            self.error = error
        finally:
            self.ended = True
            self._back.release()
