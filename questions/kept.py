"""What came of every question in every draw, kept in docs/explanation/coverage.json."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from questions.drawing import SAMPLE, Combination
from questions.mechanisms import MECHANISMS
from questions.surveys import SURVEYS

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "docs" / "explanation" / "coverage.json"
PAGE = ROOT / "docs" / "explanation" / "coverage.md"
DRAWS = 400
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
    """Return the seeds of a combination: one where all draws are the same."""
    return range(DRAWS if combination.mechanism.drawn else 1)


def kept() -> Letters:
    """Return what is kept."""
    found: Letters = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def keep(letters: Letters) -> None:
    """Write it."""
    KEPT.write_text(json.dumps(letters, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
