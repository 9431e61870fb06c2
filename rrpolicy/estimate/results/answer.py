"""The answer to a query: one row a group, and for every aggregate an estimate, its standard error and its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rrpolicy.canonical import Json, Value
from rrpolicy.estimate.results.estimates import number
from rrpolicy.estimate.results.intervals import Ends
from rrpolicy.estimate.results.target import Spoken, Target
from rrpolicy.source.counts import Array

if TYPE_CHECKING:
    import pandas as pd

    from rrpolicy.estimate.results.plot import Figure

PARTS = ("", "_se", "_low", "_high", "_marks", "_released")
LONE = ("estimate", "se", "low", "high", "marks", "released")
"""The columns of one aggregate without an alias are named as those of a crosstab."""


@dataclass(frozen=True)
class Measured:
    """One aggregate over all rows of an answer.

    Attributes:
        names: of its columns in the result: estimate, standard error, low, high, marks, released records.
        estimate: (rows,) NaN where it cannot be estimated.
        errors: target -> (rows,) standard errors; NaN where there is none.
        ends: the intervals, by level and target.
        flags: (rows,) see `rrpolicy.estimate.results.flags.MEANINGS`.
        released: (rows,) released records that speak for each row; None for what is no count.
        certain: (rows, 2) bounds in place of intervals, where counts are spread inside released groups.
    """

    names: tuple[str, ...]
    estimate: Array = field(repr=False)
    errors: Mapping[Target, Array] = field(repr=False)
    ends: Ends = field(repr=False)
    flags: tuple[tuple[str, ...], ...] = field(repr=False)
    released: Array | None = field(repr=False)
    certain: Array | None = field(repr=False)

    @property
    def name(self) -> str:
        """Return the name of the estimate's column."""
        return self.names[0]

    def conf_int(self, level: float, target: Target) -> Array:
        """Return (rows, 2) intervals inside what is possible, or what is certain of this table."""
        if self.certain is not None:
            return self.certain if target == "table" else np.full_like(self.certain, np.nan)
        return self.ends(level, target)

    def picked(self, rows: list[int]) -> Measured:
        """Return the aggregate over some of the rows, in their order."""
        return Measured(
            self.names,
            self.estimate[rows],
            {t: e[rows] for t, e in self.errors.items()},
            lambda level, target: self.ends(level, target)[rows],
            tuple(self.flags[i] for i in rows),
            None if self.released is None else self.released[rows],
            None if self.certain is None else self.certain[rows],
        )


@dataclass(frozen=True)
class Answer:
    """What a release answers to a query.

    Attributes:
        query: as asked.
        by: every grouping column.
        where: the condition, spelled anew; None for none.
        target: what intervals speak of: this table, or the population it was drawn from.
        level: of the intervals.
        records: N.
        keys: what each row is of; None in a column that the row sums over.
        shown: the result's columns in the order of the SELECT list: a grouping column with its name, or an aggregate.
        notes: what must be known to read the rows.
        max_records: the most records that a unit may have; of several, nothing is said of the population.
    """

    query: str
    by: tuple[str, ...]
    where: str | None
    target: Target
    level: float
    records: int
    keys: tuple[Mapping[str, Value | None], ...] = field(repr=False)
    shown: tuple[tuple[str, str] | Measured, ...] = field(repr=False)
    notes: tuple[str, ...] = ()
    max_records: int = field(default=1, repr=False)

    @property
    def measured(self) -> tuple[Measured, ...]:
        """Return the aggregates, in the order of the SELECT list."""
        return tuple(part for part in self.shown if isinstance(part, Measured))

    @property
    def estimate(self) -> Array:
        """Return (rows, aggregates) estimates."""
        return np.stack([m.estimate for m in self.measured], axis=1)

    def se(self, target: Target | None = None) -> Array:
        """Return (rows, aggregates) standard errors; raises as `conf_int` does."""
        target = Spoken(self.target, self.max_records).of(target)
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
        target = Spoken(self.target, self.max_records).of(target, level)
        return np.stack([m.conf_int(level, target) for m in self.measured], axis=1)

    def columns(self) -> dict[str, list[Any]]:
        """Return the result by column: an aggregate's estimate is followed by its se, low, high, marks and released."""
        found: dict[str, list[Any]] = {}
        for part in self.shown:
            if not isinstance(part, Measured):
                name, source = part
                found[name] = [key[source] for key in self.keys]
                continue
            ends = part.conf_int(self.level, self.target)
            values = [part.estimate, part.errors[self.target], ends[:, 0], ends[:, 1]]
            found |= dict(zip(part.names, (v.tolist() for v in values), strict=False))
            found[part.names[4]] = [list(f) for f in part.flags]
            if part.released is not None:
                found[part.names[5]] = [round(n) for n in part.released]
        return found

    @property
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """Return the result by row."""
        columns = self.columns()
        return tuple(dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame; a column that a row sums over is None, several marks are joined by "; "."""
        import pandas as pd

        texts = {m.names[4] for m in self.measured}
        columns = {n: ["; ".join(f) for f in v] if n in texts else v for n, v in self.columns().items()}
        summed = [n for n, v in columns.items() if None in v]
        frame = pd.DataFrame({n: pd.Series(v, dtype="object" if n in summed else None) for n, v in columns.items()})
        empty = {m.names[i]: "float64" for m in self.measured for i in range(4)}
        return frame if len(frame) else frame.astype(empty)

    def to_dict(self) -> dict[str, Json]:
        """Return plain data: `rows[]` as in `rows`; numbers that are not there, and ends that do not exist, are null.

        `not_bounded` names the latter, one list a row.
        """
        plain = ({k: number(v) if isinstance(v, float) else v for k, v in row.items()} for row in self.rows)
        return {
            "schema": "rrpolicy.answer/1",
            "query": self.query,
            "by": list(self.by),
            "where": self.where,
            "target": self.target,
            "level": self.level,
            "records": self.records,
            "notes": list(self.notes),
            "rows": list(plain),
            "not_bounded": [[k for k, v in row.items() if isinstance(v, float) and math.isinf(v)] for row in self.rows],
        }

    def to_json(self) -> Json:
        """Return the same as `to_dict`."""
        return self.to_dict()

    def to_csv(self) -> str:
        """Return the rows as CSV with a header; what is not there is empty, several marks are joined by "; "."""
        from rrpolicy.estimate.results.text import answer_csv

        return answer_csv(self)

    def summary(self) -> str:
        """Return the rows as text, with what they are above and what their marks mean below."""
        from rrpolicy.estimate.results.text import answer_summary

        return answer_summary(self)

    def plot(self) -> Figure:
        """Return a dot-and-interval plot of the first aggregate as SVG, one line a row."""
        from rrpolicy.estimate.results.plot import forest

        first = self.measured[0]
        names = [", ".join("all" if v is None else str(v) for v in key.values()) or "all records" for key in self.keys]
        ends = first.conf_int(self.level, self.target)
        marks = [(float(e), float(a), float(b)) for e, (a, b) in zip(first.estimate, ends, strict=True)]
        return forest(names, marks, f"{first.name}, {100 * self.level:g} % intervals: this {self.target}")
