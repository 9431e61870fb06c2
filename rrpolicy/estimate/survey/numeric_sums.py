"""Numbers of people of the population by groups: what a sample's records add to sums and counts, by its design."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical_json import Value
from rrpolicy.engine.quoting import identifier
from rrpolicy.estimate.counts.grouping import ungrouped_condition_axes
from rrpolicy.estimate.counts.numeric_categories import category_numbers, check_numbers
from rrpolicy.estimate.counts.scan import Number
from rrpolicy.estimate.results.estimates import Inference
from rrpolicy.estimate.survey.design import Design
from rrpolicy.estimate.survey.sums import INSIDE, VALUE, Functions, Survey
from rrpolicy.frozen_dataclass import frozen

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.estimate.sums.uniform_within_sums import NumericQuestion


@frozen(slots=False)
class PeopleNumbers:
    """Sums of a column of numbers by group; attributes not listed here are as of `NumericSums`.

    Attributes:
        survey: the sample.
        numbers: the functions whose totals are sums of the number.
        counts: those whose totals are how many have it.
        everybody: those that count who has none, too.
        released: (groups,) released records that speak for each group.
        within: what a mean can be.
        categories: those of who has no number.
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
        """Return (groups,) the estimated people with a number."""
        return self.survey.totals(self.counts)

    @property
    def missing(self) -> int:
        """Return the records without a number."""
        return self.survey.weighted.missing

    @property
    def left_out(self) -> float:
        """Return the estimated share of people that have none of the categories with a number."""
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
    """Return what is summed of a column of numbers.

    Raises:
        PolicyError: RR274 if it holds no numbers; RR545 and RR546 as `Survey.of`.
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
