"""Concurrent work: one background call at a time, so that writing overlaps with making the next rows; or several."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
S = TypeVar("S")


def worker_count() -> int:
    """Return the number of concurrent calls: the number of processors for this process."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_in_order(call: Callable[[T], S], items: Iterable[T], at_once: int | None = None) -> Iterator[S]:
    """Yield the result of a call for each item, in order, while later items are processed in threads.

    Args:
        call: must be safe to run in several threads.
        items: read at most `at_once` + 1 ahead of the results.
        at_once: number of threads; `worker_count()` by default.
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
    """Runs calls one after the other; an error in one is raised by the next, or at the end."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1)
        self._running: Future[Any] | None = None

    def run(self, call: Callable[..., object], *positional: object, **named: object) -> None:
        """Wait for the previous call, then start this one."""
        self.wait()
        self._running = self._thread.submit(call, *positional, **named)

    def wait(self) -> None:
        """Wait for the running call, if any, and raise its error."""
        running, self._running = self._running, None
        if running is not None:
            running.result()

    def close(self) -> None:
        """Wait, and release the thread."""
        try:
            self.wait()
        finally:
            self._thread.shutdown()

    def abandon(self) -> None:
        """Release the thread when the running call has ended, successful or not."""
        self._thread.shutdown()
