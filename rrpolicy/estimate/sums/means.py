"""Means by randomised groups: ratios of weighted sums, with delta-method standard errors and Fieller's sets.

With w the weight of a record in a group and y its number, the mean is R = sum w y / sum w. The numerator of its
variance is that of the count with y - R in place of 1: this table, sum (y - R)^2 (w^2 - w); population,
N/(N-1) sum (y - R)^2 w^2; the denominator is (sum w)^2. The same numerators for every r in place of R test whether the
mean is r: what is not rejected is the interval (Fieller 1954). Whoever has no number is in neither sum: where such
records are a category of a randomised column, y and 1 are replaced by what the column's weights make of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rrpolicy.canonical_json import Json, Value
from rrpolicy.estimate.counts.condition import read
from rrpolicy.estimate.expression import Expression
from rrpolicy.estimate.results.estimates import Estimates
from rrpolicy.estimate.results.flags import (
    FEW_RECORDS,
    MOMENT,
    NOT_ESTIMABLE,
    UNFLAGGED,
    flags_of,
    rests_on_few_records,
)
from rrpolicy.estimate.results.intervals import FiellerRatios
from rrpolicy.estimate.results.result import json_number
from rrpolicy.estimate.results.target import Target, check_target
from rrpolicy.estimate.results.variance import bessel
from rrpolicy.estimate.sums.category_values import (
    Limits,
    bin_bounds,
    notes_on_category_values,
    with_inner_categories,
)
from rrpolicy.estimate.sums.cube import notes_on_labels
from rrpolicy.estimate.sums.numeric_sums import sums_of
from rrpolicy.estimate.sums.uniform_within_sums import spread_numbers
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.source.counts import Array

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release


@frozen(slots=False, kw_only=True)
class Means(Estimates):
    """Estimated means; `keys` are the groups.

    Attributes:
        value: the column of numbers, or that numbers were stated for.
        missing: records without the number, which are left out.
        sizes: the groups' estimated sizes, without those records.
        categories: those that are no number (of missing values, of what is outside), whose records are left out.
        left_out: their estimated share of the records in question.
    """

    schema: ClassVar[str] = "rrpolicy.mean/1"

    value: str
    missing: int
    sizes: Array = field(repr=False)
    categories: tuple[Value, ...] = ()
    left_out: float = 0.0

    @property
    def title(self) -> str:
        """Return what is averaged, over whom, and by what."""
        by = f" by {', '.join(self.by)}" if self.by else ""
        return f"Estimated mean of {self.value}{by}{self.without}"

    def facts(self) -> dict[str, Json]:
        """Return what is averaged, by what, and over whom."""
        return {
            **super().facts(),
            "value": self.value,
            "missing": self.missing,
            "categories": list(self.categories),
            "left_out": json_number(self.left_out),
        }

    @property
    def without(self) -> str:
        """Return in words which records are left out; empty if none is."""
        if self.categories:
            share = f"{'' if self.exact else 'an estimated '}{100 * max(self.left_out, 0.0):.1f} % of the records"
            return f", without {' and '.join(repr(str(c)) for c in self.categories)} ({share})"
        return f", without {self.missing:,} records that have none" if self.missing else ""


def mean(
    release: Release,
    value: str,
    by: Sequence[str],
    where: str | Sequence[Expression] | None,
    *,
    target: Target,
    level: float,
    limits: Limits = (None, None),
) -> Means:
    """Estimate means; `Release.mean` says how. A condition that was read already is not shown in the result.

    Raises:
        PolicyError: RR274 if the column holds no numbers, or is grouped by as well; RR532 for limits of what has none.
    """
    check_target(target, level, release.max_records)
    release = with_inner_categories(release, value)

    def ask(of: Release, edge: str) -> Means:
        return mean(of, edge, by, where, target=target, level=level)

    binned = bin_bounds(release, value, read(where), ask, limits)
    if binned is not None:
        return replace(binned, value=release.columns.name(value))
    if release.design is not None:
        return _population_means(release, value, by, where, target, level)
    known = spread_numbers(release, value, by, read(where))
    if known is not None:
        return Means(
            target=target,
            level=level,
            records=release.records,
            where=where if isinstance(where, str) else None,
            by=known.by,
            keys=known.keys,
            estimate=known.means.estimate,
            errors=known.means.errors,
            range=np.tile([-np.inf, np.inf], (len(known.keys), 1)),
            estimator=known.means.estimator,
            flags=known.means.flags,
            ends=known.means.ends,
            notes=tuple(notes_on_category_values(release.columns, known.name)),
            value=known.name,
            missing=known.missing,
            sizes=known.sizes,
            categories=known.categories,
            left_out=known.left_out,
            max_records=release.max_records,
        )
    sums = sums_of(release, value, by, read(where), "means")
    numbers, N = sums.numbers, release.records
    size, deviation = sums.of(numbers.n, 1), sums.of(numbers.first, 1)
    whole = float(sums.of(numbers.everybody, 1).sum())
    left_out = 1 - float(size.sum()) / whole if numbers.categories and whole else 0.0
    squares = (sums.of(numbers.second, 2), sums.of(numbers.cross, 2), sums.of(numbers.counted, 2))
    v0, v1, v2 = (bessel(N) * s for s in squares)
    own = (sums.of(numbers.squares, 1), deviation, size)
    found = FiellerRatios.of(
        deviation, size,
        square=squares, own=own, sampled=(v0, v1, v2), within=numbers.within, centre=numbers.centre,
    )  # fmt: skip
    errors, released = found.errors(), sums.released()

    def covariance(target: Target) -> Array:
        """Return Cov(R_i, R_j), of whose groups no record is in two: sum e_i e_j / (d_i d_j), e = w (y - R)."""
        R, d = found.estimate - found.centre, found.d
        second, cross, counted = (sums.crossed(v) for v in (numbers.second, numbers.cross, numbers.counted))
        e = second - (R[:, None] + R) * cross + np.outer(R, R) * counted
        if target == "population":
            return np.asarray(bessel(N) * e / np.outer(d, d))
        v0, v1, v2 = (v.reshape(-1) for v in own)
        return np.asarray((e - np.diag(v0 - 2 * R * v1 + R**2 * v2)) / np.outer(d, d))

    return Means(
        target=target,
        level=level,
        records=N,
        where=where if isinstance(where, str) else None,
        by=sums.by,
        keys=sums.keys,
        estimate=found.estimate,
        errors=errors,
        range=found.within,
        estimator=tuple(MOMENT if np.isfinite(v) else NOT_ESTIMABLE for v in found.estimate),
        flags=flags_of(((FEW_RECORDS, rests_on_few_records(released, errors[target])), *found.doubts(level, target))),
        ends=found.ends,
        released=released,
        covariance=covariance,
        notes=(
            *notes_on_category_values(release.columns, sums.name),
            *notes_on_labels(release, sums.by, read(where)),
            UNFLAGGED,
        ),
        value=sums.name,
        missing=numbers.missing,
        sizes=size.reshape(-1),
        categories=numbers.categories,
        left_out=left_out,
        max_records=release.max_records,
    )


def _population_means(  # noqa: PLR0917 what a mean is asked
    release: Release,
    value: str,
    by: Sequence[str],
    where: str | Sequence[Expression] | None,
    target: Target,
    level: float,
) -> Means:
    """Estimate means of the population by the design of the sample."""
    from rrpolicy.estimate.survey.numeric_sums import numbers_of

    sums = numbers_of(release, value, by, read(where), "means")
    survey = sums.survey
    found = survey.ratio(sums.numbers, sums.counts, sums.within)
    errors = found.errors()
    whole = float(survey.totals(sums.everybody).sum())
    return Means(
        target=target,
        level=level,
        records=release.records,
        where=where if isinstance(where, str) else None,
        by=sums.by,
        keys=sums.keys,
        estimate=found.estimate,
        errors=errors,
        range=found.within,
        estimator=tuple(MOMENT if np.isfinite(v) else NOT_ESTIMABLE for v in found.estimate),
        flags=flags_of(
            ((FEW_RECORDS, rests_on_few_records(sums.released, errors[target])), *found.doubts(level, target))
        ),
        ends=found.ends,
        released=sums.released,
        covariance=survey.covariance_of_ratios(sums.numbers, sums.counts),
        value=sums.name,
        missing=survey.weighted.missing,
        sizes=found.d,
        categories=sums.categories,
        left_out=1 - float(found.d.sum()) / whole if sums.categories and whole else 0.0,
        max_records=release.max_records,
        sample=survey.sample,
        notes=(*notes_on_category_values(release.columns, sums.name), UNFLAGGED, *survey.sample.notes),
    )
