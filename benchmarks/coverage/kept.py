"""What came of every question in every draw, kept in docs/explanation/coverage.json."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from benchmarks.coverage.drawing import HELD, MISSED, SAMPLE, Combination
from benchmarks.coverage.mechanisms import MECHANISMS
from benchmarks.coverage.surveys import SURVEYS

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "docs" / "explanation" / "coverage.json"
PAGE = ROOT / "docs" / "explanation" / "coverage.md"
DRAWS = 400
FEW = 40
LEAST = 0.93
FALSE_ALARM = 1e-6
Letters: TypeAlias = Mapping[str, Mapping[str, str]]
"""By combination, by question: a letter a draw."""


def combinations() -> list[Combination]:
    """Return every survey by every mechanism; samples of `SAMPLE` where something is drawn."""
    return [
        Combination(survey, mechanism, records)
        for survey in SURVEYS
        for mechanism in MECHANISMS
        for records in ((None, SAMPLE) if mechanism.drawn else (None,))
    ]


def draws(combination: Combination) -> range:
    """Return the seeds of a combination: one where all draws are the same, few where all answers are certain."""
    mechanism = combination.mechanism
    return range((FEW if mechanism.certain else DRAWS) if mechanism.drawn else 1)


def kept() -> Letters:
    """Return what is kept."""
    found: Letters = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def keep(letters: Letters) -> None:
    """Write it."""
    KEPT.write_text(json.dumps(letters, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def too_rarely(letters: Letters) -> dict[str, float]:
    """Return where unmarked intervals hold significantly less often than in `LEAST` of draws, and how often they do.

    A false alarm in all of them together is at most `FALSE_ALARM`.
    """
    from scipy.stats import binom

    asked = [(f"{name}: {q}", Counter(told)) for name, by in letters.items() for q, told in by.items()]
    counted = [(of, c[HELD], c[HELD] + c[MISSED]) for of, c in asked if c[HELD] + c[MISSED]]
    alarm = FALSE_ALARM / max(len(counted), 1)
    return {of: held / n for of, held, n in counted if held < binom.ppf(alarm, n, LEAST)}
