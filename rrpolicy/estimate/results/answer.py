"""The answer to a query: one row a group, and for every aggregate an estimate, its standard error and its interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from rrpolicy.canonical import Json, Value
from rrpolicy.estimate.results.measured import Column, Measured
from rrpolicy.estimate.results.result import Result
from rrpolicy.estimate.results.target import Target
from rrpolicy.source.counts import Array


@dataclass(frozen=True)
class Answer(Result):
    """What a release answers to a query.

    Attributes:
        query: as asked.
        by: every grouping column.
        keys: what each row is of; None in a column that the row sums over.
        selected: the columns and aggregates of the SELECT list.
    """

    schema: ClassVar[str] = "rrpolicy.answer/1"

    query: str
    by: tuple[str, ...]
    keys: tuple[Mapping[str, Value | None], ...] = field(repr=False)
    selected: tuple[Column | Measured, ...] = field(repr=False)

    @property
    def estimate(self) -> Array:
        """Return (rows, aggregates) estimates."""
        return np.stack([m.estimate for m in self.measured], axis=1)

    def se(self, target: Target | None = None) -> Array:
        """Return (rows, aggregates) standard errors; raises as `conf_int` does."""
        target = self.spoken.of(target)
        return np.stack([m.errors[target] for m in self.measured], axis=1)

    def conf_int(self, level: float | None = None, target: Target | None = None) -> Array:
        """Return (rows, aggregates, 2) intervals.

        Args:
            level: default that of the answer.
            target: default that of the answer.

        Raises:
            PolicyError: RR271 for another level or target; RR247 for the population if a unit may have several records.
        """
        level = self.level if level is None else level
        target = self.spoken.of(target, level)
        return np.stack([m.ends(level, target) for m in self.measured], axis=1)

    @property
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """Return the result by row."""
        columns = self.columns()
        return tuple(dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))

    @property
    def title(self) -> str:
        """Return whether the numbers had to be estimated."""
        return "Figures" if self.exact else "Estimates"

    def shown(self) -> tuple[Column | Measured, ...]:
        """Return the columns and aggregates of the SELECT list."""
        return self.selected

    def facts(self) -> dict[str, Json]:
        """Return the query, and what it groups by."""
        return {"query": self.query, "by": list(self.by)}

    def plotted(self) -> tuple[str, Measured]:
        """Return the first aggregate."""
        return self.measured[0].name, self.measured[0]

    def labels(self) -> list[str]:
        """Return what each row is of, by all grouping columns, selected or not."""
        rows = (", ".join("all" if v is None else str(v) for v in key.values()) for key in self.keys)
        return [row or "all records" for row in rows]
