"""Benches: each measures ratios of costs in one process, so that they mean the same on every machine.

`python -m benchmarks.speed [name …]` runs `run()` of every `bench_<name>.py` and prints what it found.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ratio:
    """One measured ratio.

    Attributes:
        name: what is measured.
        value: the ratio.
        goal: the most it should be; None if it is only watched.
        note: what it is a ratio of, or beside which numbers it stands.
    """

    name: str
    value: float
    goal: float | None = None
    note: str = ""

    @property
    def met(self) -> bool:
        return self.goal is None or self.value <= self.goal


def least(run: Callable[[], object], rounds: int = 5, times: int = 1) -> float:
    """Return the least seconds of a call over some rounds of so many calls each."""
    run()
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(times):
            run()
        taken.append((time.perf_counter() - start) / times)
    return min(taken)
