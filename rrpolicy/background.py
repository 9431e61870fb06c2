"""One call at a time in a thread of its own, so that writing goes on while the next rows are made."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class Beside:
    """Runs calls one after the other; what goes wrong in one is raised by the next, or at the end."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._running: Future[Any] | None = None

    def run(self, call: Callable[..., object], *positional: object, **named: object) -> None:
        """Wait for the call before, then begin this one."""
        self.wait()
        self._running = self._thread.submit(call, *positional, **named)

    def wait(self) -> None:
        """Wait for the call that runs, if any, and raise what went wrong with it."""
        running, self._running = self._running, None
        if running is not None:
            running.result()

    def close(self) -> None:
        """Wait, and let go of the thread."""
        try:
            self.wait()
        finally:
            self._thread.shutdown()

    def abandon(self) -> None:
        """Let go of the thread when the call that runs has ended, whatever became of it."""
        self._thread.shutdown()
