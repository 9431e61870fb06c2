"""Estimates of the population by a sample's design: tables of people, and means and totals of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rrpolicy.canonical_json import Value
from rrpolicy.engine.quoting import identifier
from rrpolicy.estimate.counts.condition import Condition
from rrpolicy.estimate.counts.grouping import Grouping, ungrouped_condition_axes
from rrpolicy.estimate.counts.numeric_categories import category_numbers, check_numbers
from rrpolicy.estimate.counts.scan import Number
from rrpolicy.estimate.results.estimates import Inference
from rrpolicy.estimate.results.table import Crosstab
from rrpolicy.estimate.survey.design import Design
from rrpolicy.estimate.survey.sums import INSIDE, VALUE, Functions, Survey
from rrpolicy.estimate.weights.base import Mask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rrpolicy.counts import Array
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.target import Target
    from rrpolicy.estimate.sums.uniform_within_sums import NumericQuestion


METHOD = "weighted by the design"


@dataclass(frozen=True)
class PeopleTable(Crosstab):
    """Estimated numbers of people of the population by category.

    `estimate` contains weighted sums; the target "table" is the sums of the original records.
    """

    intervals: ClassVar[str] = "an estimate can be negative; intervals are truncated at 0"

    survey: Survey = field(kw_only=True, repr=False)
    _functions: Functions = field(kw_only=True, repr=False)

    def variance(self, target: Target | None = None) -> tuple[Array, Mask]:
        """Return the variance of each estimate by the design, and where the population's replaces a negative one.

        Raises:
            PolicyError: as `Crosstab.variance`; RR546 for a stratum with one cluster.
        """
        target, shape = self.target_scope.of(target), self.estimate.shape
        if target == "population":
            population = np.maximum(self.survey.variance(self._functions, target), 0.0)
            return population.reshape(shape), np.zeros(shape, dtype=bool)
        size = self.estimate.reshape(-1) ** 2 / self.records  # the population's is 0 where totals are known
        (table, stand_in), _ = self.survey.variances(self._functions, size)
        return table.reshape(shape), stand_in.reshape(shape)

    def covariance(self, target: Target | None = None) -> Array:
        """Return (cells, cells) the covariance of all estimates, in the order of `rows`; raises as `variance`."""
        return self.survey.covariance(self._functions, self.target_scope.of(target))

    def replicates(self) -> tuple[Array, float]:
        """Return (cells, clusters) replicates of the estimates, and their scale; see `Survey.replicates`."""
        return self.survey.replicates(self._functions)

    def se_of_sums(self, functions: Array) -> tuple[Mapping[Target, Array], Mask]:
        """Return standard errors of weighted sums of functions of the original cells; see `Crosstab.se_of_sums`."""
        asked = np.tensordot(functions, self._functions, axes=1)
        (table, stand_in), population = self.survey.variances(asked)
        return {"table": np.sqrt(table), "population": np.sqrt(population)}, stand_in

    def randomisation_covariance(self, functions: Array) -> Array:
        """Return (sums, sums) the covariance by randomisation; see `Crosstab.randomisation_covariance`."""
        return self.survey.covariance(np.tensordot(functions, self._functions, axes=1), "table")


def people(  # noqa: PLR0917 those of a table
    release: Release, by: Sequence[str], where: str | None, condition: Condition, target: Target, level: float
) -> PeopleTable:
    """Estimate a table of people; arguments as for `rrpolicy.estimate.sums.cube.tables`."""
    assert release.design is not None
    grouping = Grouping.of(release.columns, by, condition)
    survey = Survey.of(release.design, release.columns, release.data, grouping.axes, condition)
    masks = grouping.axis_masks
    functions = survey.functions({INSIDE: survey.indicators(masks, condition)})
    shape = tuple(len(group.labels) for group in grouping.groups)
    support = survey.speaking(masks, condition).reshape(shape)
    return PeopleTable(
        grouping.by,
        grouping.groups,
        survey.totals(functions).reshape(shape),
        np.zeros(shape),
        support,
        METHOD,
        survey=survey,
        _functions=functions,
        _axes=masks,
        where=where,
        target=target,
        level=level,
        records=release.records,
        max_records=release.max_records,
        sample=survey.sample,
        notes=survey.sample.notes,
    )


@dataclass(frozen=True)
class PeopleNumbers:
    """Sums of a column of numbers by group; attributes not listed here are as of `NumericSums`.

    Attributes:
        survey: the sample.
        numbers: the functions whose totals are sums of the number.
        counts: those whose totals are how many have it.
        everybody: functions that count everyone, with or without a number.
        released: (groups,) released records that support each group.
        within: the possible range of a mean.
        categories: categories of people without a number.
    """

    asked: NumericQuestion
    survey: Survey = field(repr=False)
    numbers: Functions = field(repr=False)
    counts: Functions = field(repr=False)
    everybody: Functions = field(repr=False)
    released: Array
    within: tuple[float, float]
    categories: tuple[Value, ...]

    @property
    def sizes(self) -> Array:
        """Return (groups,) the estimated number of people whose value is a number."""
        return self.survey.totals(self.counts)

    @property
    def missing(self) -> int:
        """Return the records without a number."""
        return self.survey.weighted.missing

    @property
    def left_out(self) -> float:
        """Return the estimated share of people that have no category with a number."""
        whole = float(self.survey.totals(self.everybody).sum())
        return 1 - float(self.sizes.sum()) / whole if self.categories and whole else 0.0

    @property
    def means(self) -> Inference:
        """Return the means."""
        of = self.numbers, self.counts
        return Inference.of_ratios(
            self.survey.ratio(*of, self.within), self.survey.covariance_of_ratios(*of), self.released
        )

    @property
    def totals(self) -> Inference:
        """Return the totals."""
        table, population = self.survey.variances(self.numbers)
        estimate = self.survey.totals(self.numbers)
        return Inference.of_sums(estimate, table, population, self.released, self.survey.sample)


def people_numbers(asked: NumericQuestion, design: Design) -> PeopleNumbers:
    """Return the sums of a column of numbers.

    Raises:
        PolicyError: RR274 if it contains no numbers; RR545 and RR546 as `Survey.of`.
    """
    release, condition, own = asked.release, asked.condition, asked.own
    if own is None:
        check_numbers(release.columns, asked.name)
    column = Number(asked.name, identifier(asked.name)) if own is None else None
    axes = list(asked.grouping.axes)
    every = axes if own is None else [*axes, *(axis for axis, _ in ungrouped_condition_axes(axes, condition)), own]
    survey = Survey.of(design, release.columns, release.data, every, condition, column)
    masks = asked.grouping.axis_masks
    inside = survey.indicators(masks, condition)
    counts: Array = inside
    numbers: Array = inside
    within: tuple[float, float] = (-np.inf, np.inf)
    absent: tuple[Value, ...] = ()
    if own is not None:
        of = category_numbers(release.columns, asked.name, condition.leaves(own))
        numbers, counts = inside * survey.along(own, of.y), inside * survey.along(own, of.known)
        within, absent = of.within, of.absent
    return PeopleNumbers(
        asked,
        survey,
        survey.functions({INSIDE if own is not None else VALUE: numbers}),
        survey.functions({INSIDE: counts}),
        survey.functions({INSIDE: inside}),
        survey.speaking(masks, condition).reshape(-1),
        within,
        absent,
    )
