"""The result of a count: estimates, standard errors, intervals and covariances, for both targets.

Sums of record weights w_i with E sum w = count. This table (a census, only the randomisation is random):
variance = sum w^2 - sum of the weights of c^2, and c^2 = c for counts. Population (the table is a random sample):
N times the sample variance of w (maths of Chaudhuri and Mukerjee 1988, ch. 3; Guo 2010, ch. 3, for the covariance).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical import Json, Value
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.grouping import GroupAxis, group_values
from rrpolicy.estimate.results.flags import FEW, FEW_RECORDS, OUTSIDE, POPULATION_VARIANCE, SPREAD
from rrpolicy.estimate.results.possible import clipped, outside
from rrpolicy.estimate.results.target import Spoken, Target
from rrpolicy.estimate.weights.base import AxisWeights, Mask
from rrpolicy.source.counts import Array

if TYPE_CHECKING:
    import pandas as pd

    from rrpolicy.estimate.results.plot import Figure

METHOD = "moment (unbiased)"
EVEN = "even spread inside released groups (biased)"
EM = "EM (maximum likelihood; biased, and the interval is that of the moment estimate)"
PROJECTION = "projection on the simplex (biased, and the interval is that of the moment estimate)"

_COVARIANCE_CELLS = 4_000
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Row:
    """One cell.

    Attributes:
        group: released name -> original category.
        estimate: the count; the moment estimate may be negative or more than N.
        se: standard error of the moment estimate.
        low: lower end of the interval, within [0, N].
        high: its upper end.
        flags: `few records`, `population variance`, `outside the possible`, `spread`; see `MEANING`.
        released: released records that speak for the cell, as they stand.
    """

    group: Mapping[str, Value]
    estimate: float
    se: float
    low: float
    high: float
    flags: tuple[str, ...]
    released: int


@dataclass(frozen=True)
class Crosstab:
    """Estimated counts of original records by category.

    Attributes:
        by: released names, in the order asked for.
        where: the condition, as asked.
        target: what `rows` speak of: this table, or the population it was drawn from.
        level: of the intervals in `rows`.
        records: N.
        groups: the groups of each axis; cells are their product, the last axis fastest.
        estimate: array of counts, one dimension an axis (of size 1 where it is summed over); unbiased unless
            `method` says otherwise.
        second_moment: sums of squared weights, likewise.
        support: released records that speak for each cell, likewise; of spread counts, the most that it can be.
        method: how the counts were estimated.
        certain: of counts that are spread inside groups, the records that are certain to lie in each cell, likewise;
            None where counts are unbiased.
        max_records: the most records that a unit may have; of several, nothing is said of the population.
    """

    by: tuple[str, ...]
    where: str | None
    target: Target
    level: float
    records: int
    groups: tuple[GroupAxis, ...] = field(repr=False)
    estimate: Array = field(repr=False)
    second_moment: Array = field(repr=False)
    support: Array = field(repr=False)
    method: str = METHOD
    _squares: Array | None = field(default=None, repr=False)
    _axes: tuple[tuple[AxisWeights, Mask | None], ...] = field(default=(), repr=False)
    _moment: Array | None = field(default=None, repr=False)
    certain: Array | None = field(default=None, repr=False)
    max_records: int = field(default=1, repr=False)

    @property
    def spoken(self) -> Spoken:
        """Return what standard errors and intervals can speak of."""
        return Spoken(self.target, self.max_records)

    @property
    def biased(self) -> bool:
        """Whether counts were spread inside groups: then no standard error belongs to them."""
        return self.certain is not None

    @property
    def moment(self) -> Array:
        """Return the unbiased counts, to which standard errors, covariances and intervals belong."""
        return self.estimate if self._moment is None else self._moment

    @property
    def axes(self) -> tuple[tuple[AxisWeights, Mask | None], ...]:
        """Return each grouping axis with what its groups count: (V, groups), or None for every category by itself."""
        return self._axes

    def constrained(self, estimate: Array, method: str) -> Crosstab:
        """Return the table with other point estimates; its intervals stay those of the moment estimate."""
        return replace(self, estimate=estimate, method=method, _moment=self.moment)

    def corrected(self, axes: Sequence[AxisWeights], targets: Sequence[Mask | None]) -> Crosstab:
        """Return the table of released cells with the weights of its axes applied, one axis after the other.

        Args:
            axes: that it is grouped by.
            targets: of each, what its groups count, (V, groups); None for every category by itself.
        """
        estimate, second, support, certain = self.estimate, self.second_moment, self.support, self.certain
        for i, (axis, target) in enumerate(zip(axes, targets, strict=True)):
            estimate = axis.contract(estimate, i, target, 1)
            second = axis.contract(second, i, target, 2)
            support = axis.support(support, i, target)
            certain = None if certain is None else axis.within(certain, i, target)
        return replace(
            self,
            estimate=estimate,
            second_moment=second,
            support=support,
            certain=certain,
            _squares=self.second_moment,
            _axes=tuple(zip(axes, targets, strict=True)),
        )

    def variance(self, target: Target | None = None) -> tuple[Array, Mask]:
        """Return the variance of each estimate, and where the population's stands in for a negative one.

        Of spread counts: 0 where this table's count is certain, else NaN.

        Raises:
            PolicyError: RR271 for another target; RR247 for the population if a unit may have several records.
        """
        N, target = self.records, self.spoken.of(target)
        if self.certain is not None:
            exact = (self.certain == self.support) & (target == "table")
            return np.where(exact, 0.0, np.nan), np.zeros(self.moment.shape, dtype=bool)
        population = N / max(N - 1, 1) * np.maximum(self.second_moment - self.moment**2 / N, 0.0)
        if target == "population":
            return population, np.zeros(self.moment.shape, dtype=bool)
        table = self.second_moment - self.moment
        table = np.where(np.abs(table) <= _ROUNDING * self.second_moment, 0.0, table)
        negative = table < 0
        return np.where(negative, population, table), negative

    def se(self, target: Target | None = None) -> Array:
        """Return the standard error of each estimate; raises as `variance` does."""
        return np.sqrt(self.variance(target)[0])

    def conf_int(self, level: float | None = None, target: Target | None = None) -> Array:
        """Return (cells, 2) normal intervals, `clipped` to [0, N]; the estimates are never clipped.

        Of spread counts: what is certain of this table, whatever the level; NaN for the population.

        Args:
            level: default the table's.
            target: default the table's.

        Raises:
            PolicyError: RR271 for another level or target; RR247 for the population if a unit may have several records.
        """
        level = self.level if level is None else level
        target = self.spoken.of(target, level)
        if self.certain is not None:
            bounds = np.stack([self.certain, self.support], axis=-1).reshape(-1, 2)
            return bounds if target == "table" else np.full_like(bounds, np.nan)
        z = NormalDist().inv_cdf((1 + level) / 2)
        half = z * self.se(target)
        return clipped(self.moment.reshape(-1), half.reshape(-1), np.array([[0.0, float(self.records)]]))

    def covariance(self, target: Target | None = None) -> Array:
        """Return (cells, cells) the covariance matrix of all estimates, in the order of `rows`.

        This table: W^T diag(n) W - diag(estimate); population: (W^T diag(n) W - estimate estimate^T / N) N / (N - 1).

        Raises:
            PolicyError: RR268 if there are more than 4,000 cells, RR288 if the counts are spread; RR247 as `variance`.
        """
        target = self.spoken.of(target)
        if self.biased:
            from rrpolicy.estimate.weights.recode import biased

            raise biased([axis for axis, _ in self._axes], "a covariance")
        cells = self.estimate.size
        if cells > _COVARIANCE_CELLS:
            raise PolicyError(
                Problem(
                    "RR268",
                    f"a covariance of {cells:,} cells would have {cells * cells:,} entries",
                    hint=f"group by fewer columns: at most {_COVARIANCE_CELLS:,} cells",
                )
            )
        weights: Array = np.ones((1, 1))
        for axis, targets in self._axes:
            weights = np.asarray(np.kron(weights, axis.factors(targets)), dtype=np.float64)
        squares = np.ones(1) if self._squares is None else self._squares
        for place, (axis, _) in enumerate(self._axes):
            squares = axis.lifted(squares, place)
        cross = weights.T @ (squares.reshape(-1)[:, None] * weights)
        flat = self.moment.reshape(-1)
        if target == "table":
            return cross - np.diag(flat)
        return (cross - np.outer(flat, flat) / self.records) * self.records / max(self.records - 1, 1)

    @property
    def rows(self) -> tuple[Row, ...]:
        """Return the cells, each with its interval and flags."""
        variance, stand_in = self.variance()
        ends = self.conf_int()
        few = self.support.reshape(-1) < FEW
        exact = variance.reshape(-1) == 0
        half = NormalDist().inv_cdf((1 + self.level) / 2) * np.sqrt(variance.reshape(-1))
        beyond = outside(self.moment.reshape(-1), half, np.array([[0.0, float(self.records)]]))
        return tuple(
            Row(
                group=group,
                estimate=float(estimate),
                se=math.sqrt(v),
                low=float(low),
                high=float(high),
                flags=((SPREAD,) if self.biased and not x else (FEW_RECORDS,) if f and not x else ())
                + ((POPULATION_VARIANCE,) if p else ())
                + ((OUTSIDE,) if o else ()),
                released=round(n),
            )
            for group, estimate, v, (low, high), f, x, p, o, n in zip(
                self.group_values(),
                self.estimate.reshape(-1),
                variance.reshape(-1),
                ends,
                few,
                exact,
                stand_in.reshape(-1),
                beyond,
                self.support.reshape(-1),
                strict=True,
            )
        )

    def to_dict(self) -> dict[str, Json]:
        """Return plain data: `rows[]` with the grouping columns, `estimate`, `se`, `low`, `high`, `marks`, `released`.

        A grouping column with one of these names is written with ` (group)` after it.
        """
        named = dict(zip(self.by, self.column_names, strict=True))
        return {
            "schema": "rrpolicy.estimate/1",
            "by": list(self.by),
            "where": self.where,
            "target": self.target,
            "level": self.level,
            "method": self.method,
            "records": self.records,
            "rows": [
                {
                    **{named[k]: v for k, v in r.group.items()},
                    "estimate": r.estimate,
                    "se": _number(r.se),
                    "low": _number(r.low),
                    "high": _number(r.high),
                    "marks": list(r.flags),
                    "released": r.released,
                }
                for r in self.rows
            ],
        }

    def to_json(self) -> Json:
        """Return the same as `to_dict`."""
        return self.to_dict()

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame: the grouping columns, estimate, se, low, high, marks (the flags), released."""
        import pandas as pd

        named = self.column_names
        rows = self.rows
        frame = pd.DataFrame({c: [r.group[b] for r in rows] for b, c in zip(self.by, named, strict=True)})
        for name in ("estimate", "se", "low", "high"):
            frame[name] = np.array([getattr(r, name) for r in rows])
        frame["marks"] = ["; ".join(r.flags) for r in rows]
        frame["released"] = np.array([r.released for r in rows], dtype=np.int64)
        return frame

    def summary(self) -> str:
        """Return the table as text, with what it is above and what its marks mean below."""
        from rrpolicy.estimate.results.text import summary

        return summary(self)

    def plot(self) -> Figure:
        """Return a dot-and-interval plot as SVG, one line a cell."""
        from rrpolicy.estimate.results.plot import forest

        rows = self.rows
        names = [", ".join(str(r.group[b]) for b in self.by) or "all records" for r in rows]
        marks = [(r.estimate, r.low, r.high) for r in rows]
        return forest(names, marks, f"Estimated counts, {100 * self.level:g} % intervals: this {self.target}")

    @property
    def column_names(self) -> tuple[str, ...]:
        """Return the grouping columns as frames and files name them, apart from the columns of results."""
        taken = {"estimate", "se", "low", "high", "flags", "marks", "released"}
        return tuple(f"{b} (group)" if b in taken else b for b in self.by)

    def group_values(self) -> Sequence[Mapping[str, Value]]:
        """Return what each cell is of, in the order of `rows`."""
        return group_values(self.by, self.groups)


def _number(value: float) -> float | None:
    """Return a number as JSON can hold it: null where there is none."""
    return value if math.isfinite(value) else None
