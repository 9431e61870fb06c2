"""Totals by randomised groups: weighted sums of numbers, with the errors of counts.

With w the weight of a record in a group and y its number, the total is T = sum w y. Its variance is that of a count
with y in place of 1: S1 = T, S2 = sum w^2 y^2, of which sum w y^2 is expected without randomisation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rrpolicy.estimate import LEVEL
from rrpolicy.estimate.expression import Expression
from rrpolicy.estimate.results.estimates import Estimates
from rrpolicy.estimate.results.flags import (
    FEW_RECORDS,
    MOMENT,
    POPULATION_VARIANCE,
    UNFLAGGED,
    flags_of,
    rests_on_few_records,
)
from rrpolicy.estimate.results.intervals import normal_ends
from rrpolicy.estimate.results.target import Target, check_target
from rrpolicy.estimate.results.variance import population_variance, table_variance
from rrpolicy.estimate.sums.category_values import Limits, bin_bounds, with_inner_categories
from rrpolicy.estimate.sums.numeric_sums import sums_of
from rrpolicy.estimate.sums.uniform_within_sums import spread_numbers
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.source.counts import Array

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release


@frozen(slots=False, kw_only=True)
class Totals(Estimates):
    """Estimated totals; `keys` are the groups."""

    schema: ClassVar[str] = "rrpolicy.total/1"
    intervals: ClassVar[str] = "low and high are normal {level} intervals"

    @property
    def title(self) -> str:
        """Return what the estimates are."""
        return "Estimated totals"


def totals(
    release: Release,
    value: str,
    by: Sequence[str],
    condition: Sequence[Expression] = (),
    *,
    target: Target = "table",
    level: float = LEVEL,
    limits: Limits = (None, None),
) -> Totals:
    """Estimate totals of a column of numbers; records without the number are left out.

    Args:
        release: opened.
        value: as for `Release.mean`.
        by: as for `Release.crosstab`.
        condition: what records must satisfy.
        target: as for `Release.crosstab`.
        level: as for `Release.crosstab`.
        limits: as for `Release.mean`.

    Raises:
        PolicyError: as `Release.mean`.
    """
    check_target(target, level, release.max_records)
    release = with_inner_categories(release, value)
    binned = bin_bounds(
        release, value, condition, lambda of, edge: totals(of, edge, by, condition, target=target, level=level), limits
    )
    if binned is not None:
        return binned
    if release.design is not None:
        return _population_totals(release, value, by, condition, target, level)
    known = spread_numbers(release, value, by, condition)
    if known is not None:
        return Totals(
            target=target,
            level=level,
            records=release.records,
            where=None,
            by=known.by,
            keys=known.keys,
            estimate=known.totals.estimate,
            errors=known.totals.errors,
            range=np.tile([-np.inf, np.inf], (len(known.keys), 1)),
            estimator=known.totals.estimator,
            flags=known.totals.flags,
            ends=known.totals.ends,
            notes=(),
            max_records=release.max_records,
        )
    sums = sums_of(release, value, by, condition, "totals")
    numbers = sums.numbers
    c = numbers.centre

    def moment(n: Array, first: Array, second: Array, power: int) -> Array:
        """Return sums of w^power y^2, y = c and the rest."""
        return sums.of(second, power) + 2 * c * sums.of(first, power) + c**2 * sums.of(n, power)

    N = release.records
    T = sums.of(numbers.first, 1) + c * sums.of(numbers.n, 1)
    square, own = (
        moment(numbers.counted, numbers.cross, numbers.second, 2),
        moment(numbers.n, numbers.first, numbers.squares, 1),
    )
    population = population_variance(square, T, N)
    table, stand_in = table_variance(square, own, population)
    errors: dict[Target, Array] = {
        "table": np.sqrt(table).reshape(-1),
        "population": np.sqrt(population).reshape(-1),
    }
    estimate, released = T.reshape(-1), sums.released()
    within = np.tile([-np.inf, np.inf], (T.size, 1))
    return Totals(
        target=target,
        level=level,
        records=N,
        where=None,
        by=sums.by,
        keys=sums.keys,
        estimate=estimate,
        errors=errors,
        range=within,
        estimator=(MOMENT,) * T.size,
        flags=flags_of(
            (
                (FEW_RECORDS, rests_on_few_records(released, errors[target])),
                (POPULATION_VARIANCE, stand_in.reshape(-1) & (target == "table")),
            )
        ),
        ends=normal_ends(estimate, errors, within),
        max_records=release.max_records,
        released=released,
    )


def _population_totals(  # noqa: PLR0917 what a total is asked
    release: Release, value: str, by: Sequence[str], condition: Sequence[Expression], target: Target, level: float
) -> Totals:
    """Estimate totals of the population by the design of the sample."""
    from rrpolicy.estimate.survey.numeric_sums import numbers_of

    sums = numbers_of(release, value, by, condition, "totals")
    survey, estimate = sums.survey, sums.survey.totals(sums.numbers)
    population = np.maximum(survey.variance(sums.numbers, "population"), 0.0)
    randomised = survey.variance(sums.numbers, "table")
    table, stand_in = table_variance(randomised, np.zeros(len(estimate)), population, at=(randomised, population))
    errors: dict[Target, Array] = {"table": np.sqrt(table), "population": np.sqrt(population)}
    within = np.tile([-np.inf, np.inf], (len(estimate), 1))
    return Totals(
        target=target,
        level=level,
        records=release.records,
        where=None,
        by=sums.by,
        keys=sums.keys,
        estimate=estimate,
        errors=errors,
        range=within,
        estimator=(MOMENT,) * len(estimate),
        flags=flags_of(
            (
                (FEW_RECORDS, rests_on_few_records(sums.released, errors[target])),
                (POPULATION_VARIANCE, stand_in & (target == "table")),
            )
        ),
        ends=normal_ends(estimate, errors, within, survey.sample),
        max_records=release.max_records,
        released=sums.released,
        sample=survey.sample,
        notes=(UNFLAGGED, *survey.sample.notes),
    )
