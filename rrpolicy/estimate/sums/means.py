"""Means by randomised groups: ratios of weighted sums, with delta-method standard errors and Fieller's sets.

With w the weight of a record in a group and y its number, the mean is R = sum w y / sum w. The numerator of its
variance is that of the count with y - R in place of 1: this table, sum (y - R)^2 (w^2 - w); population,
N/(N-1) sum (y - R)^2 w^2; the denominator is (sum w)^2. The same numerators for every r in place of R test whether the
mean is r: what is not rejected is the interval (Fieller 1954). Whoever has no number is in neither sum: where such
records are a category of a randomised column, y and 1 are replaced by what the column's weights make of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from rrpolicy.canonical import Json, Value
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.columns import kind_of, kind_of_type, same
from rrpolicy.estimate.counts.condition import Condition, read, split
from rrpolicy.estimate.counts.grouping import Weighed, beside, check_size, grouping, groups_of, weighed
from rrpolicy.estimate.counts.scan import count, total
from rrpolicy.estimate.expression import Expression, columns_of
from rrpolicy.estimate.results.estimates import Estimates
from rrpolicy.estimate.results.flags import FEW, FEW_RECORDS, MOMENT, NOT_ESTIMABLE, flags_of
from rrpolicy.estimate.results.intervals import Ratios
from rrpolicy.estimate.results.result import number
from rrpolicy.estimate.results.table import Crosstab
from rrpolicy.estimate.results.target import Target, check_target
from rrpolicy.estimate.results.variance import bessel
from rrpolicy.estimate.weights.base import AxisWeights, Mask
from rrpolicy.estimate.weights.recode import refuse_biased
from rrpolicy.source.counts import Array

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release


@dataclass(frozen=True, kw_only=True)
class Means(Estimates):
    """Estimated means; `keys` are the groups.

    Attributes:
        value: the column of numbers.
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
            "left_out": number(self.left_out),
        }

    @property
    def without(self) -> str:
        """Return in words which records are left out; empty if none is."""
        if self.categories:
            share = f"an estimated {100 * max(self.left_out, 0.0):.1f} % of the records"
            return f", without {' and '.join(repr(str(c)) for c in self.categories)} ({share})"
        return f", without {self.missing:,} records that have none" if self.missing else ""


@dataclass(frozen=True)
class Numbers:
    """Groups of released records with what their numbers add up to.

    Attributes:
        cells: where each group lies, and its weight.
        n: records that have the number (estimated, if that is randomised itself).
        first: sums of the number (of its weight, if the number is randomised itself).
        second: sums of squares of `first`'s terms.
        cross: sums of the products of `n`'s terms and `first`'s.
        counted: sums of squares of `n`'s terms.
        squares: estimated sums of the squared number; as `second` unless the number is randomised.
        centre: what was taken from every number.
        missing: records without it.
        everybody: records, those without it included.
        categories: those of who is without it.
        within: what a mean can be.
    """

    cells: Weighed
    n: Array
    first: Array
    second: Array
    cross: Array
    counted: Array
    squares: Array
    centre: float
    missing: int
    everybody: Array
    categories: tuple[Value, ...] = ()
    within: tuple[float, float] = (-np.inf, np.inf)


def mean(
    release: Release,
    value: str,
    by: Sequence[str],
    where: str | Sequence[Expression] | None,
    *,
    target: Target,
    level: float,
) -> Means:
    """Estimate means; `Release.mean` says how. A condition that was read already is not shown in the result.

    Raises:
        PolicyError: RR274 if the column holds no numbers, or is grouped by as well.
    """
    check_target(target, level, release.max_records)
    conjuncts = read(where)
    release = release.reading([value, *by, *(c for e in conjuncts for c in columns_of(e))])
    condition = split(conjuncts, release.columns)
    shown = where if isinstance(where, str) else None
    names, axes = grouping(release.columns, by, condition)
    refuse_biased([*axes, *(axis for axis, _ in condition.masks.values())], "means")
    name = release.columns.name(value)
    grouped = [groups_of(axis, names, condition) for axis in axes]
    check_size(axes, [g for g, _ in grouped], names)
    numbers = numbers_of(release, name, axes, condition)
    masks = [targets for _, targets in grouped]
    sums = Sums(axes, masks, numbers)
    size, deviation = sums.of(numbers.n, 1), sums.of(numbers.first, 1)
    whole = float(sums.of(numbers.everybody, 1).sum())
    left_out = 1 - float(size.sum()) / whole if numbers.categories and whole else 0.0
    N = release.records
    squares = (sums.of(numbers.second, 2), sums.of(numbers.cross, 2), sums.of(numbers.counted, 2))
    v0, v1, v2 = (bessel(N) * s for s in squares)
    own = (sums.of(numbers.squares, 1), deviation, size)
    found = Ratios.of(
        deviation, size,
        square=squares, own=own, sampled=(v0, v1, v2), within=numbers.within, centre=numbers.centre,
    )  # fmt: skip
    errors = found.errors()
    groups = tuple(g for g, _ in grouped)
    frame = Crosstab(
        names, groups,
        numbers.cells.sums(numbers.n * numbers.cells.weight),
        numbers.cells.sums(numbers.counted * numbers.cells.weight**2),
        numbers.cells.sums(numbers.everybody * numbers.cells.speaks),
        where=shown, target=target, level=level, records=N,
    )  # fmt: skip
    counts = frame.corrected(axes, masks)
    few = (counts.support.reshape(-1) < FEW) & (errors[target] > 0)
    flags = flags_of(((FEW_RECORDS, few), *found.doubts(level, target)))
    return Means(
        target=target,
        level=level,
        records=N,
        where=shown,
        keys=tuple(dict(g) for g in counts.group_values()),
        estimate=found.estimate,
        errors=errors,
        range=found.within,
        estimator=tuple(MOMENT if np.isfinite(v) else NOT_ESTIMABLE for v in found.estimate),
        flags=flags,
        ends=found.ends,
        released=counts.support.reshape(-1),
        by=names,
        value=name,
        missing=numbers.missing,
        sizes=counts.estimate.reshape(-1),
        categories=numbers.categories,
        left_out=left_out,
        max_records=release.max_records,
    )


_Axes: TypeAlias = Sequence[AxisWeights]


@dataclass(frozen=True)
class Sums:
    """Sums over released records, by group.

    Attributes:
        axes: what is grouped by.
        masks: what each group counts.
        numbers: where the records lie.
    """

    axes: _Axes
    masks: Sequence[Mask | None]
    numbers: Numbers

    def of(self, values: Array, power: int) -> Array:
        """Return the sums of values times a power of the record weights."""
        x = self.numbers.cells.sums(values * self.numbers.cells.weight**power)
        for i, (axis, mask) in enumerate(zip(self.axes, self.masks, strict=True)):
            x = axis.contract(x, i, mask, power)
        return x


def numbers_of(release: Release, name: str, axes: _Axes, condition: Condition) -> Numbers:
    """Return the sums of a column of numbers by groups of released records.

    Raises:
        PolicyError: RR274 if it holds no numbers, or is grouped by as well.
    """
    own = release.columns.axes.get(name)
    if own is not None:
        return _categories(release, name, own, axes, condition)
    if kind_of_type(release.columns.columns[name].type) != "number":
        raise PolicyError(Problem("RR274", f"{name!r} holds no numbers", hint="count its categories by crosstab"))
    others = beside(axes, condition)
    found = total(release.data, [*axes, *(a for a, _ in others)], name, condition.filter, condition.parameters)
    cells = weighed(axes, others, found.codes, len(found.n))
    n = found.n.astype(float)
    first, second = found.first, found.second
    return Numbers(cells, n, first, second, first, n, second, found.centre, found.missing, n)


def _categories(release: Release, name: str, own: AxisWeights, axes: _Axes, condition: Condition) -> Numbers:
    """Return the sums of a column whose categories are numbers: sum n omega with P^T omega = y.

    Records of a category that is no number (missing, or text for what is outside) count as 0 in omega, and as 0 in
    kappa, the weight of having a number.
    """
    j = own.columns.index(name)
    labels = [cell[j] for cell in own.original]
    absent = release.columns.numberless(name)
    known = np.array([not any(same(v, a) for a in absent) for v in labels])
    if any(kind_of(v) != "number" for v, there in zip(labels, known, strict=True) if there) or not known.any():
        raise PolicyError(Problem("RR274", f"the categories of {name!r} are no numbers", hint="count them by crosstab"))
    others = beside(axes, condition)
    if any(own is axis for axis in [*axes, *(a for a, _ in others)]):
        raise PolicyError(
            Problem(
                "RR274",
                f"{name!r} is averaged and stands in the groups or the condition as well",
                hint="average it from the crosstab of its categories",
            )
        )
    y = np.array([float(v) if there else 0.0 for v, there in zip(labels, known, strict=True)])
    centre = float(y[known].mean())
    y = np.where(known, y - centre, 0.0)
    table = own.table
    omega, omega_square, kappa = table @ y, table @ y**2, table @ known.astype(float)
    codes, n = count(release.data, [*axes, *(a for a, _ in others), own], condition.filter, condition.parameters)
    cells = weighed(axes, others, codes[:-1], len(n))
    omega, omega_square, kappa = omega[codes[-1]], omega_square[codes[-1]], kappa[codes[-1]]
    if not absent:
        kappa = np.ones_like(kappa)  # as the weights of one record add up to
    return Numbers(
        cells,
        n * kappa,
        n * omega,
        n * omega**2,
        n * omega * kappa,
        n * kappa**2,
        n * omega_square,
        centre,
        missing=0,
        everybody=n.astype(float),
        categories=absent,
        within=(centre + float(y[known].min()), centre + float(y[known].max())),
    )
