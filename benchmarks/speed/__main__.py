"""Run benches: `python -m benchmarks.speed`, or `python -m benchmarks.speed disclosure` for one of them."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

from benchmarks.speed import Ratio


def main(names: list[str]) -> int:
    """Print a table of all ratios; the exit status says whether every goal is met.

    Each bench has a process of its own: a process's peak of memory begins with what its parent held, and a bench after
    another would find its imports, caches and arrays.
    """
    every = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    if len(names) == 1:
        return one(names[0])
    statuses = [
        subprocess.run([sys.executable, "-m", "benchmarks.speed", n], check=False).returncode for n in names or every
    ]
    return max(statuses)


def one(name: str) -> int:
    """Print the ratios of one bench, measured in this process."""
    module = importlib.import_module(f"benchmarks.speed.bench_{name}")
    if not hasattr(module, "run"):
        print(f"{name}: no run(); call it by itself")
        return 0
    met = True
    found: list[Ratio] = module.run()
    for ratio in found:
        goal = "" if ratio.goal is None else f"{ratio.goal:>8.3g}"
        mark = " " if ratio.met else "!"
        print(f"{mark} {name:<12} {ratio.name:<92} {ratio.value:>9.3g} {goal:>8}  {ratio.note}", flush=True)
        met = met and ratio.met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
