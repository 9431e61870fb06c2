"""The result of a count: estimates, standard errors, intervals and covariances, for both targets.

Sums of record weights w_i with E sum w = count. Of this table, sum w^2 is expected to be the count itself without
randomisation; `rrpolicy.estimate.results.intervals` has the rest (Guo 2010, ch. 3, for the covariance).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import Json, Value
from rrpolicy.counts import Array
from rrpolicy.estimate.counts.grouping import GroupAxis, group_values
from rrpolicy.estimate.results.flags import (
    AS_RELEASED,
    FEW_RECORDS,
    OUTSIDE,
    POPULATION_VARIANCE,
    SPREAD,
    UNINFORMATIVE,
    Flags,
    flags_of,
    rests_on_few_records,
)
from rrpolicy.estimate.results.intervals import (
    STEP,
    bessel,
    clip_interval,
    count_ends,
    lies_outside,
    population_variance,
    reach_of,
    table_variance,
)
from rrpolicy.estimate.results.quantities import SINGLE_QUANTITY_NAMES, EstimatedQuantity, ResultColumn, key_columns
from rrpolicy.estimate.results.result import Result
from rrpolicy.estimate.results.target import Target
from rrpolicy.estimate.weights.base import AxisWeights, Mask, cross_products
from rrpolicy.frozen import replace

METHOD = "moment (unbiased)"
UNIFORM_SPREAD_METHOD = "even spread inside released groups (biased)"
BIASED_ESTIMATOR_METHOD = "{}: biased, and the interval is that of the moment estimate"

ROUNDING = 1e-9
"""The rounding error of an estimate, as a share of N."""


class CrosstabRow(Struct, frozen=True):
    """One cell.

    Attributes:
        group: released name -> original category.
        estimate: the count; the moment estimate may be negative or more than N.
        se: standard error of the moment estimate.
        low: lower end of the interval, within [0, N].
        high: its upper end.
        flags: `few records`, `population variance`, `outside the possible`, `spread`; see `MEANINGS`.
        released: number of released records that support the cell, uncorrected.
    """

    group: Mapping[str, Value]
    estimate: float
    se: float
    low: float
    high: float
    flags: tuple[str, ...]
    released: int


@dataclass(frozen=True)
class Crosstab(Result):
    """Estimated counts of original records by category.

    Attributes:
        by: released names, in the given order.
        groups: the groups of each axis; cells are their product, the last axis fastest.
        estimate: array of counts, one dimension per axis (of size 1 where it is summed over); unbiased unless `method`
            names another estimator.
        second_moment: sums of squared weights, likewise.
        support: number of released records that support each cell, likewise; for spread counts, the largest possible
            count.
        method: the method of estimation.
        lower_bounds: for counts that are spread inside groups, the records that are certain to lie in each cell; NaN
            where values of another column were exchanged. None where counts are unbiased.
        bounds: for counts by labels that overlap, the number of records that are certain to belong to each cell, and
            that may belong to it, (2, ...); None where no labels overlap.
        listed: the cells that have rows; None for all.
    """

    schema: ClassVar[str] = "rrpolicy.estimate/1"
    intervals: ClassVar[str] = "an estimate can be negative; intervals are truncated to [0, N]"

    by: tuple[str, ...]
    groups: tuple[GroupAxis, ...] = field(repr=False)
    estimate: Array = field(repr=False)
    second_moment: Array = field(repr=False)
    support: Array = field(repr=False)
    method: str = METHOD
    _squares: Array | None = field(default=None, repr=False)
    _axes: tuple[tuple[AxisWeights, Mask | None], ...] = field(default=(), repr=False)
    _moment: Array | None = field(default=None, repr=False)
    lower_bounds: Array | None = field(default=None, repr=False)
    bounds: Array | None = field(default=None, repr=False)
    listed: tuple[int, ...] | None = field(default=None, repr=False)

    @property
    def biased(self) -> bool:
        """Whether counts were spread inside groups: then no standard error belongs to them."""
        return self.lower_bounds is not None

    @property
    def moment_estimate(self) -> Array:
        """Return the unbiased counts, to which standard errors, covariances and intervals belong."""
        return self.estimate if self._moment is None else self._moment

    @property
    def released(self) -> Array:
        """Return the released records, uncorrected, one dimension per axis; with a condition, weighted by it."""
        return self.second_moment if self._squares is None else self._squares

    @property
    def axes(self) -> tuple[tuple[AxisWeights, Mask | None], ...]:
        """Return each grouping axis with its groups' categories: (V, groups), or None for each category by itself."""
        return self._axes

    def constrained(self, estimate: Array, method: str) -> Crosstab:
        """Return the table with other point estimates; its intervals stay those of the moment estimate."""
        return replace(self, estimate=estimate, method=method, _moment=self.moment_estimate)

    def corrected(self, axes: Sequence[AxisWeights], targets: Sequence[Mask | None]) -> Crosstab:
        """Return the table of released cells with the weights of its axes applied, one axis after the other.

        Args:
            axes: the grouping axes.
            targets: for each axis, the original categories in its groups, (V, groups); None for every category by
                itself.
        """
        estimate, second, support, certain = self.estimate, self.second_moment, self.support, self.lower_bounds
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
            lower_bounds=certain,
            _squares=self.second_moment,
            _axes=tuple(zip(axes, targets, strict=True)),
        )

    def variance(self, target: Target | None = None) -> tuple[Array, Mask]:
        """Return the variance of each estimate, and where the population's replaces a negative one.

        Of spread counts: 0 where this table's count is certain, else NaN.

        Raises:
            PolicyError: RR271 for another target; RR247 for the population if a unit may have several records.
        """
        target = self.target_scope.of(target)
        if self.lower_bounds is not None:
            exact = (self.lower_bounds == self.support) & (target == "table")
            return np.where(exact, 0.0, np.nan), np.zeros(self.moment_estimate.shape, dtype=bool)
        population = population_variance(self.second_moment, self.moment_estimate, self.records)
        if target == "population":
            return population, np.zeros(self.moment_estimate.shape, dtype=bool)
        return table_variance(self.second_moment, self.moment_estimate, population)

    def se(self, target: Target | None = None) -> Array:
        """Return the standard error of each estimate; raises as `variance` does.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> release.crosstab("sex").se().shape
            (2,)
        """
        return np.sqrt(self.variance(target)[0])

    def conf_int(self, level: float | None = None, target: Target | None = None) -> Array:
        """Return (cells, 2) intervals within [0, N]: `count_ends`; of counts by a survey's design, normal ones.

        For spread counts: the certain bounds of this table, whatever the level; NaN for the population, and where a
        randomised column is counted by as well. Of counts by labels that overlap: the records of this table that are
        certain to belong to the cell, and those that may.

        Args:
            level: default the table's.
            target: default the table's.

        Raises:
            PolicyError: RR271 for another level or target; RR247 for the population if a unit may have several records.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> release.crosstab("sex").conf_int(0.99, "population").shape
            (2, 2)
        """
        level = self.level if level is None else level
        target = self.target_scope.of(target, level)
        if self.lower_bounds is not None:
            bounds = np.stack([self.lower_bounds, self.support], axis=-1).reshape(-1, 2)
            known = (target == "table") & ~np.isnan(bounds[:, :1])
            return np.where(known, bounds, np.nan)
        if self.bounds is not None and target == "table":
            return np.stack([*self.bounds], axis=-1).reshape(-1, 2)
        reach, moment = reach_of(level, target, self.sample), self.moment_estimate.reshape(-1)
        if self.sample is not None:
            return clip_interval(moment, reach * self.se(target).reshape(-1), self._possible)
        return count_ends(moment, self._noise(target), reach, self.records, sampled=target == "population")

    def _noise(self, target: Target) -> Array:
        """Return (cells,) the variance of the counts by randomisation alone, as intervals for a target take it."""
        if target == "table":
            return self.variance(target)[0].reshape(-1)
        table, _ = table_variance(self.second_moment, self.moment_estimate, np.zeros_like(self.moment_estimate))
        return table.reshape(-1)

    def covariance(self, target: Target | None = None) -> Array:
        """Return (cells, cells) the covariance matrix of all estimates, in the order of `rows`.

        This table: W^T diag(n) W - diag(estimate); population: (W^T diag(n) W - estimate estimate^T / N) N / (N - 1).

        Raises:
            PolicyError: RR268 if there are more than 4,000 cells, RR288 if the counts are spread; RR247 as `variance`.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> release.crosstab("sex").covariance().shape
            (2, 2)
        """
        target = self.target_scope.of(target)
        if self.biased:
            from rrpolicy.estimate.weights.recode import biased_counts_error

            raise biased_counts_error([axis for axis, _ in self._axes], "a covariance")
        squares = np.ones(1) if self._squares is None else self._squares
        cross = cross_products(squares, [axis for axis, _ in self._axes], [targets for _, targets in self._axes])
        flat = self.moment_estimate.reshape(-1)
        if target == "table":
            return cross - np.diag(flat)
        return (cross - np.outer(flat, flat) / self.records) * bessel(self.records)

    def se_of_sums(self, functions: Array) -> tuple[Mapping[Target, Array], Mask]:
        """Return standard errors of sums over records of functions of their original cells, for both targets.

        Args:
            functions: (sums, cells).

        Returns:
            each (sums,); and where the population's replace this table's, whose variance estimate is negative.
        """
        sums, released = self._added(functions)
        square = sums**2 @ released
        population = bessel(self.records) * square
        own = functions**2 @ self.moment_estimate.reshape(-1)
        table, stand_in = table_variance(square, own, population)
        return {"table": np.sqrt(table), "population": np.sqrt(population)}, stand_in

    def randomisation_covariance(self, functions: Array) -> Array:
        """Return (sums, sums) the covariance that randomisation gives such sums: this table's, of `se_of_sums`.

        Args:
            functions: (sums, cells).
        """
        sums, released = self._added(functions)
        return np.asarray((sums * released) @ sums.T - (functions * self.moment_estimate.reshape(-1)) @ functions.T)

    def _added(self, functions: Array) -> tuple[Array, Array]:
        """Return (sums, released cells) the contribution of a record, and (released cells,) the records."""
        released = self.released
        weighted = functions.reshape(-1, *self.estimate.shape)
        for place, (axis, targets) in enumerate(self.axes):
            released = axis.lifted(released, place)
            weighted = np.moveaxis(np.tensordot(weighted, axis.factors(targets), axes=(place + 1, 1)), -1, place + 1)
        return weighted.reshape(len(functions), -1), released.reshape(-1)

    @property
    def flags(self) -> Flags:
        """Return the flags of each cell."""
        spread, stand_in = self.variance()
        variance, moment = spread.reshape(-1), self.moment_estimate.reshape(-1)
        reach = reach_of(self.level, self.target, self.sample)
        half, doubts = reach * np.sqrt(variance), list[tuple[str, Mask]]()
        if self.biased:
            doubts.append((SPREAD, variance != 0))
        elif self.sample is not None:
            doubts.append((FEW_RECORDS, rests_on_few_records(self.support.reshape(-1), variance)))
        else:
            half = STEP + reach * np.sqrt(self._noise(self.target))
        doubts += [
            (POPULATION_VARIANCE, stand_in.reshape(-1)),
            (AS_RELEASED, self._open),
            (OUTSIDE, lies_outside(moment, half, self._possible)),
        ]
        return flags_of(doubts)

    @property
    def _open(self) -> Mask:
        """Return (cells,) whether a cell may have other records than those released in it."""
        if self.bounds is None or self.target != "table":
            return np.zeros(self.estimate.size, dtype=bool)
        return np.asarray((self.bounds != self.estimate).any(axis=0).reshape(-1))

    def all_notes(self) -> tuple[str, ...]:
        """Return the notes, and one if an interval contains every possible count."""
        empty = self.counts.uninformative(self.level, self.target)
        return (*super().all_notes(), UNINFORMATIVE) if empty else super().all_notes()

    @property
    def counts(self) -> EstimatedQuantity:
        """Return the counts, a row per cell."""
        return EstimatedQuantity(
            SINGLE_QUANTITY_NAMES,
            self.estimate.reshape(-1),
            {target: self.se(target).reshape(-1) for target in self.target_scope.targets},
            self.conf_int,
            self.flags,
            released=self.support.reshape(-1),
            whole=self.records if self.sample is None else self.sample.population_size,
            biased=self.biased,
            covariance=None if self.biased or self._moment is not None else self.covariance,
            within=self._possible,
        )

    @property
    def rows(self) -> tuple[CrosstabRow, ...]:
        """Return the cells, each with its interval and flags; those of labels that no record has are left out.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> [row.group for row in release.crosstab("sex").rows]
            [{'sex': 'female'}, {'sex': 'male'}]
        """
        keys, counts = self.listed_counts()
        columns = counts.columns(self.level, self.target)
        columns["flags"] = list(map(tuple, columns["flags"]))
        return tuple(CrosstabRow(*row) for row in zip(keys, *columns.values(), strict=True))

    def listed_counts(self) -> tuple[Sequence[Mapping[str, Value]], EstimatedQuantity]:
        """Return the group of each row, and the counts of the rows."""
        keys = self.group_values()
        if self.listed is None:
            return keys, self.counts
        return [keys[place] for place in self.listed], self.counts.select(self.listed)

    @property
    def title(self) -> str:
        """Return the counted quantity, the groups, and whether estimation was necessary."""
        by = f" by {', '.join(self.by)}" if self.by else ""
        return f"{'Counts' if self.exact else 'Estimated counts'}{by}"

    def contents(self) -> tuple[ResultColumn | EstimatedQuantity, ...]:
        """Return the grouping columns and the counts."""
        keys, counts = self.listed_counts()
        return (*key_columns(self.by, keys), counts)

    def metadata(self) -> dict[str, Json]:
        """Return the grouping columns, and the method of estimation."""
        return {"by": list(self.by), "method": self.method}

    def method_description(self) -> str:
        """Return the method of estimation of the counts."""
        return self.method

    def interval_description(self) -> str:
        """Return that estimates may be impossible counts: of other estimates than the moment's, only if some are."""
        slack = ROUNDING * self.records
        possible = bool(np.all((self.estimate >= -slack) & (self.estimate <= self.records + slack)))
        return "" if self._moment is not None and possible else self.intervals

    def group_values(self) -> Sequence[Mapping[str, Value]]:
        """Return the group of each cell, in the order of the estimates."""
        return group_values(self.by, self.groups)

    @property
    def _possible(self) -> Array:
        return np.array([[0.0, float(self.records) if self.sample is None else np.inf]])
