"""Work beside other work: one call at a time, so that writing goes on while the next rows are made; or several."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
S = TypeVar("S")


def worker_count() -> int:
    """Return how many calls go on at once: as many as there are processors for this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_in_order(call: Callable[[T], S], items: Iterable[T], at_once: int | None = None) -> Iterator[S]:
    """Yield what a call returns of each item, in their order, while it is made of the next ones.

    Args:
        call: for many items at a time.
        items: taken no further ahead than calls go on.
        at_once: how many calls; `workers()` by default.
    """
    most = worker_count() if at_once is None else at_once
    running: deque[Future[S]] = deque()
    with ThreadPoolExecutor(most) as pool:
        try:
            for item in items:
                running.append(pool.submit(call, item))
                if len(running) > most:
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
        finally:
            for waiting in running:
                waiting.cancel()


class BackgroundRunner:
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
