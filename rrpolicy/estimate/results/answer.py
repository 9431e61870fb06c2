"""The answer to a query: a row per group, with an estimate, its standard error and interval per aggregate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from rrpolicy.canonical_json import Json, Value
from rrpolicy.counts import Array
from rrpolicy.estimate.results.chart_layout import PlottedQuantity
from rrpolicy.estimate.results.flags import UNINFORMATIVE
from rrpolicy.estimate.results.quantities import SINGLE_QUANTITY_NAMES, EstimatedQuantity, ResultColumn
from rrpolicy.estimate.results.result import Result
from rrpolicy.estimate.results.target import Target


@dataclass(frozen=True)
class Answer(Result):
    """The result of a query.

    Attributes:
        query: the query as given.
        by: every grouping column.
        keys: the group of each row; None in a column that the row sums over.
        selected: the columns and aggregates of the SELECT list.
    """

    schema: ClassVar[str] = "rrpolicy.answer/1"

    query: str
    by: tuple[str, ...]
    keys: tuple[Mapping[str, Value | None], ...] = field(repr=False)
    selected: tuple[ResultColumn | EstimatedQuantity, ...] = field(repr=False)

    @property
    def estimate(self) -> Array:
        """Return (rows, aggregates) estimates."""
        return np.stack([m.estimate for m in self.quantities], axis=1)

    def se(self, target: Target | None = None) -> Array:
        """Return (rows, aggregates) standard errors; raises as `conf_int` does."""
        target = self.target_scope.of(target)
        return np.stack([m.errors[target] for m in self.quantities], axis=1)

    def conf_int(self, level: float | None = None, target: Target | None = None) -> Array:
        """Return (rows, aggregates, 2) intervals.

        Args:
            level: default: that of the result.
            target: default: that of the result.

        Raises:
            PolicyError: RR271 for another level or target; RR247 for the population if a unit may have several records.
        """
        level = self.level if level is None else level
        target = self.target_scope.of(target, level)
        return np.stack([m.ends(level, target) for m in self.quantities], axis=1)

    @property
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """Return the result by row."""
        columns = self.columns()
        return tuple(dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))

    @property
    def title(self) -> str:
        """Return the estimated aggregates, the groups, and whether estimation was necessary."""
        by = f" by {', '.join(self.by)}" if self.by else ""
        names = ", ".join(m.name for m in self.quantities if m.names != SINGLE_QUANTITY_NAMES)
        return f"{'Figures' if self.exact else 'Estimates'}{f' of {names}' if names else ''}{by}"

    def contents(self) -> tuple[ResultColumn | EstimatedQuantity, ...]:
        """Return the columns and aggregates of the SELECT list."""
        return self.selected

    def metadata(self) -> dict[str, Json]:
        """Return the query, and its grouping columns."""
        return {"query": self.query, "by": list(self.by)}

    def all_notes(self) -> tuple[str, ...]:
        """Return the notes, and one if an interval contains all possible values."""
        empty = any(m.uninformative(self.level, self.target) for m in self.quantities)
        return (*super().all_notes(), UNINFORMATIVE) if empty else super().all_notes()

    def plotted_quantities(self) -> tuple[PlottedQuantity, ...]:
        """Return every aggregate, by its name."""
        return tuple(PlottedQuantity(m, m.name) for m in self.quantities)

    def row_keys(self) -> tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]]:
        """Return all grouping columns, selected or not, and the group of each row."""
        return self.by, tuple(tuple(key.get(name) for name in self.by) for key in self.keys)
