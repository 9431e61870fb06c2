"""Ask again and write docs/explanation/coverage.md: `python -m benchmarks.coverage`, or `python -m questions MECHANISM …` for some."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed

from benchmarks.coverage.kept import KEPT, PAGE, combinations, draws, keep, kept
from benchmarks.coverage.page import page


def main(mechanisms: list[str]) -> int:
    """Draw, keep and write; the exit status is 2 for an unknown mechanism."""
    known = {c.mechanism.name for c in combinations()}
    if unknown := [name for name in mechanisms if name not in known]:
        print(f"there is no mechanism {', '.join(unknown)}; there are {', '.join(sorted(known))}")
        return 2
    letters = dict(kept()) if KEPT.exists() else {}
    names = [c.name for c in combinations() if not mechanisms or c.mechanism.name in mechanisms]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for asked in as_completed([pool.submit(_asked, name) for name in names]):
            name, found = asked.result()
            letters[name] = found
            keep({c.name: letters[c.name] for c in combinations() if c.name in letters})
            print(name, flush=True)
    if unmade := [c.name for c in combinations() if c.name not in letters]:
        print(f"the page is written when all are made; still to make: {'; '.join(unmade)}")
        return 0
    PAGE.write_text(page(kept()), encoding="utf-8")
    return 0


def _asked(name: str) -> tuple[str, dict[str, str]]:
    combination = next(c for c in combinations() if c.name == name)
    return name, dict(combination.asked(draws(combination)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
