"""Ask again and write docs/explanation/coverage.md: `python -m questions`, or `python -m questions MECHANISM …` for some."""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor

from questions.kept import PAGE, combinations, draws, keep, kept
from questions.page import page


def main(mechanisms: list[str]) -> int:
    """Draw, keep and write; the exit status is 2 for an unknown mechanism."""
    known = {c.mechanism.name for c in combinations()}
    if unknown := [name for name in mechanisms if name not in known]:
        print(f"there is no mechanism {', '.join(unknown)}; there are {', '.join(sorted(known))}")
        return 2
    made = [c for c in combinations() if not mechanisms or c.mechanism.name in mechanisms]
    letters = dict(kept()) if mechanisms else {}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for combination, found in zip(made, pool.map(_asked, [c.name for c in made]), strict=True):
            letters[combination.name] = found
            print(combination.name, flush=True)
    keep(letters)
    PAGE.write_text(page(kept()), encoding="utf-8")
    return 0


def _asked(name: str) -> dict[str, str]:
    combination = next(c for c in combinations() if c.name == name)
    return dict(combination.asked(draws(combination)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
