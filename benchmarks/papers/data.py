"""The tables: Adult, and two that are generated here. None is part of the project."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[2]
ADULT = "ad6ce0caeee6553dc252dae68fef070ebc8d9f953bad2c7032a3405d5cf1a140"
TRAINING, ALL = 30_162, 45_222
CENSUS = 2_458_285


class Data:
    """What the papers' programs read."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or Path(os.environ.get("RRPOLICY_DATA", ROOT.parent / "shared" / "data"))

    @property
    def file(self) -> Path:
        """Return where the Adult table is looked for: 45,222 records, the 30,162 of the training file first."""
        return self._folder / "adult.csv.gz"

    @cached_property
    def adult(self) -> pd.DataFrame:
        """Return Adult's records without missing values.

        Raises:
            ValueError: if the file is another one.
        """
        if hashlib.sha256(self.file.read_bytes()).hexdigest() != ADULT:
            raise ValueError(
                f"{self.file} is not the table that docs/explanation/results.md is made of: its SHA-256 is {ADULT}"
            )
        return pd.read_csv(self.file)

    def training(self, *columns: str) -> pd.DataFrame:
        """Return columns of the 30,162 records of Adult's training file."""
        return self.adult.loc[: TRAINING - 1, list(columns)]

    @cached_property
    def published(self) -> dict[str, Any]:
        """Return what the papers print, and what was computed without rrpolicy: tests/vectors/vectors.json."""
        text = (ROOT / "tests" / "vectors" / "vectors.json").read_text(encoding="utf-8")
        found: dict[str, Any] = json.loads(text)
        return found


def mixed(records: int, sizes: Sequence[int], seed: int, classes: int = 8) -> pd.DataFrame:
    """Return a table in which attributes go together through a class that is not in it.

    Args:
        records: how many.
        sizes: the number of categories of each attribute; they are called a2, b18, ... by letter and size.
        seed: of numpy's PCG64.
        classes: of records; within one attributes are independent, with shares of a Dirichlet law (0.5 a category).
    """
    rng = np.random.default_rng(seed)
    belongs = rng.choice(classes, records, p=rng.dirichlet(np.full(classes, 2.0)))
    columns = {}
    for letter, size in zip("abcdefghij", sizes, strict=False):
        shares = rng.dirichlet(np.full(size, 0.5), classes)
        edges = np.cumsum(shares, axis=1)[belongs]
        found = (rng.random(records)[:, None] > edges).sum(axis=1)
        columns[f"{letter}{size}"] = np.minimum(found, size - 1)
    return pd.DataFrame(columns)


def baskets(records: int, items: int, seed: int) -> pd.DataFrame:
    """Return market baskets: "yes" and "no" of items, which go together through the kind of customer."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(3, records, p=(0.5, 0.3, 0.2))
    chance = rng.uniform(0.05, 0.75, (3, items))[kind]
    bought = rng.random((records, items)) < chance
    return pd.DataFrame({f"item{i + 1}": np.where(bought[:, i], "yes", "no") for i in range(items)})
