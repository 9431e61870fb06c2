"""Run benches: `python -m tests.bench`, or `python -m tests.bench disclosure` for one of them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from tests.bench import Ratio


def main(names: list[str]) -> int:
    """Print a table of all ratios; the exit status says whether every goal is met."""
    here = Path(__file__).parent
    every = sorted(path.stem.removeprefix("bench_") for path in here.glob("bench_*.py"))
    met = True
    for name in names or every:
        module = importlib.import_module(f"tests.bench.bench_{name}")
        if not hasattr(module, "run"):
            print(f"{name}: no run(); call it by itself")
            continue
        found: list[Ratio] = module.run()
        for ratio in found:
            goal = "" if ratio.goal is None else f"{ratio.goal:>8.3g}"
            mark = " " if ratio.met else "!"
            print(f"{mark} {name:<12} {ratio.name:<92} {ratio.value:>9.3g} {goal:>8}  {ratio.note}", flush=True)
            met = met and ratio.met
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
