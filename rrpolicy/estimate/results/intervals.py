"""Variances, and intervals: score intervals of counts, normal ones of other sums, Fieller's set for ratios.

A count is a whole number: its intervals, and those of shares, have Yates' continuity correction of half a record.

Measures of association have theirs from `rrpolicy.estimate.association.measure_ranges`. They have in common that the
ends depend on the level and on the target, and no end is invented where the data give none.

The one formula of variance, of sums of record weights and of linear functions of them: with w the contribution of a
record to a sum, S1 = sum w and S2 = sum w^2. This table (a census, only the randomisation is random): S2 less what S2
is expected to be without randomisation. Population (the table is a random sample of N): N/(N-1) (S2 - S1^2/N), N
times the sample variance of w (Chaudhuri and Mukerjee 1988, ch. 3; Guo 2010, ch. 3).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rrpolicy.estimate.results.flags import OUTSIDE, POPULATION_VARIANCE
from rrpolicy.estimate.results.target import Sample, Target
from rrpolicy.frozen import replace

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints
    from rrpolicy.estimate.weights.base import Mask


def quantile(level: float, degrees: float = math.inf) -> float:
    """Return how many standard errors a normal interval reaches to each side; with degrees of freedom, Student's."""
    if math.isinf(degrees):
        return NormalDist().inv_cdf((1 + level) / 2)
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + level) / 2))


def clip_interval(centre: Array, half: Array, within: Array) -> Array:
    """Return (rows, 2) intervals centre ± half, clipped to the possible range.

    One that lies outside altogether would shrink to a point, which reads as certainty: it is drawn around the nearest
    possible value.

    `centre`: (rows,) estimates. `half`: (rows,) half lengths; NaN for none. `within`: (rows or 1, 2) the possible
    range.
    """
    middle = np.where(lies_outside(centre, half, within), np.clip(centre, within[:, 0], within[:, 1]), centre)
    ends = np.stack([middle - half, middle + half], axis=1)
    return np.clip(ends, within[:, :1], within[:, 1:])


def lies_outside(centre: Array, half: Array, within: Array) -> Mask:
    """Return which intervals contain no inner point of the possible range; never one of length 0."""
    return np.asarray((half > 0) & ((centre + half <= within[:, 0]) | (centre - half >= within[:, 1])))


def is_uninformative(ends: Array, within: Array) -> Mask:
    """Return which intervals contain the whole possible range; if it is unbounded, those without an end.

    `ends`: (rows, 2) ends of the intervals. `within`: (rows or 1, 2) the possible range.
    """
    low, high = within.T
    return np.asarray((low < high) & (ends[:, 0] <= low) & (ends[:, 1] >= high))


_ROUNDING = 1e-9


def bessel(records: int) -> float:
    """Return N/(N-1), which makes a sample's variance unbiased."""
    return records / max(records - 1, 1)


def population_variance(square: Array, total: Array, records: int) -> Array:
    """Return N/(N-1) (S2 - S1^2/N), never negative."""
    return np.asarray(bessel(records) * np.maximum(square - total**2 / records, 0.0))


def table_variance(
    square: Array, own: Array, population: Array, *, at: tuple[Array, Array] | None = None, rounding: float = _ROUNDING
) -> tuple[Array, Mask]:
    """Return S2 - own, with the population's variance in place of a negative one, and where that is so.

    `own`: the expectation of the same squares given the originals, which is not an error of this table. `at`: for
    quadratics in a ratio: their value, and the size of its terms, at the estimate, which decide. `rounding`: a value
    that is this share of its terms or less is 0.
    """
    table = square - own
    value, size = (table, np.abs(square)) if at is None else at
    none = np.abs(value) <= rounding * size
    stand_in = ~none & (value < 0)
    return np.where(none, 0.0, np.where(stand_in, population, table)), stand_in


Ends: TypeAlias = "Callable[[float, Target], Array]"
"""(level, target) -> (rows, 2) intervals; NaN for none, infinite where an end is not bounded."""


def normal_ends(
    estimate: Array, errors: Mapping[Target, Array], within: Array, sample: Sample | None = None, step: float = 0.0
) -> Ends:
    """Return normal intervals, clipped to the possible range.

    `estimate`: (rows,). `errors`: target -> (rows,) standard errors. `within`: (rows, 2) the possible range.
    `sample`: the sampling design, whose degrees of freedom determine the intervals of the population. `step`:
    continuity correction of uncertain estimates: `STEP` for numbers of records.
    """

    def ends(level: float, target: Target) -> Array:
        half = reach_of(level, target, sample) * errors[target]
        return clip_interval(estimate, np.where(half > 0, half + step, half), within)

    return ends


STEP = 0.5
"""Yates' continuity correction: half of the step between two possible counts."""


def count_ends(count: Array, noise: Array, reach: float, records: int, *, sampled: bool) -> Array:
    """Return (rows, 2) score intervals of counts of records, with the continuity correction, within [0, N].

    They contain the n with |T - n| - 1/2 <= z sqrt(V(n)). For this table V is the variance that randomisation gives
    T. For the population the sampling variance of a count n is added, N/(N-1) n (1 - n/N), so that it does not depend
    on how many records of the cell happened to be drawn. Without randomisation that is Wilson's interval with
    continuity correction; this table's count is then certain.

    `count`: (rows,) T, unbiased. `noise`: (rows,) variance of T by randomisation alone. `sampled`: whether the records
    are a random sample of the population that is counted.

    References:
        Wilson 1927; Yates 1934; Newcombe 1998, "Two-sided confidence intervals for the single proportion", method 4.
    """
    square, sampling = reach**2, bessel(records) if sampled else 0.0
    within = np.array([[0.0, records]])
    step = np.where((noise > 0) | sampled, STEP, 0.0)
    middle = np.where(lies_outside(count, step + reach * np.sqrt(noise), within), np.clip(count, 0, records), count)
    ends = []
    for side in (-1.0, 1.0):
        near = middle + side * step
        # the roots n of A n^2 - 2 B n + C: there the squared distance of n from `near` is z^2 V(n)
        A, B, C = 1 + square * sampling / records, near + square * sampling / 2, near**2 - square * noise
        end = (B + side * np.sqrt(np.maximum(B**2 - A * C, 0.0))) / A
        free = near <= 0 if side < 0 else near >= records
        ends.append(np.where(free, 0.0 if side < 0 else records, np.clip(end, 0.0, records)))
    return np.stack(ends, axis=1)


def reach_of(level: float, target: Target, sample: Sample | None) -> float:
    """Return how many standard errors an interval reaches to each side: Student's, where a design was sampled."""
    return quantile(level) if sample is None else quantile(level, sample.degrees_for(target))


Quadratic: TypeAlias = "tuple[Array, Array, Array]"
"""v0, v1, v2 of v0 - 2 r v1 + r^2 v2, a variance for every ratio r."""


@dataclass(frozen=True)
class FiellerRatios:
    """Ratios R = n / d of two estimates, with the variance of n - r d for every r.

    Attributes:
        n: (rows,) numerators.
        d: (rows,) denominators; not positive where a ratio cannot be estimated.
        variances: target -> variances of n - r d, (rows,) each.
        stand_in: (rows,) whether this table's variance estimate is negative, so that the population's is used instead.
        within: (rows, 2) possible range of R.
        centre: subtracted from the numbers before averaging and added back to R; `within` includes it.
        sample: the sampling design; None for a simple random sample.
        step: the continuity correction of the numerators: `STEP` where they are counts of records.
    """

    n: Array = field(repr=False)
    d: Array = field(repr=False)
    variances: Mapping[Target, Quadratic] = field(repr=False)
    stand_in: Mask = field(repr=False)
    within: Array = field(repr=False)
    centre: float = 0.0
    sample: Sample | None = None
    step: float = 0.0

    @classmethod
    def of(
        cls,
        n: Array,
        d: Array,
        *,
        square: Quadratic,
        own: Quadratic,
        sampled: Quadratic,
        within: tuple[float, float],
        centre: float = 0.0,
    ) -> FiellerRatios:
        """Return ratios whose variances are sums over released records; arrays of any shape are made flat.

        `square`: sums of squares of a record's part in n - r d. `own`: the expectation of these squares given the
        originals, which is not an error of this table. `sampled`: the variance of n - r d for the population.
        """
        n, d = n.reshape(-1), d.reshape(-1)
        squares, owns, sampling = (_flatten(q) for q in (square, own, sampled))
        R = np.divide(n, d, out=np.full(n.shape, np.nan), where=d > 0)
        scale = np.abs(squares[0]) + 2 * np.abs(R * squares[1]) + R**2 * np.abs(squares[2])
        table, stand_in = table_variance(squares, owns, sampling, at=(_evaluate_quadratic(squares - owns, R), scale))
        variances: dict[Target, Quadratic] = {
            "table": (table[0], table[1], table[2]),
            "population": (sampling[0], sampling[1], sampling[2]),
        }
        return cls(n, d, variances, stand_in, np.tile(np.array(within, dtype=float), (n.size, 1)), centre)

    @classmethod
    def shares(cls, part: Array, whole: Array, square: Quadratic, records: int) -> FiellerRatios:
        """Return the shares of parts in wholes that contain them, by the same records.

        The population's variance is this table's and that of drawing r of the whole, r (1 - r) sum d: where nothing is
        randomised the test is Wilson's.
        """
        drawn, more = np.maximum(whole, 0.0), bessel(records)
        v0, v1, v2 = square
        sampled = (more * (v0 - part), more * (v1 - part - drawn / 2), more * (v2 - whole - drawn))
        found = cls.of(part, whole, square=square, own=(part, part, whole), sampled=sampled, within=(0.0, 1.0))
        return replace(found, step=STEP)

    @classmethod
    def joined(cls, parts: Sequence[FiellerRatios]) -> FiellerRatios:
        """Return the ratios of several below each other; all have one centre."""
        return cls(
            np.concatenate([part.n for part in parts]),
            np.concatenate([part.d for part in parts]),
            {t: _stack_terms([part.variances[t] for part in parts]) for t in parts[0].variances},
            np.concatenate([part.stand_in for part in parts]),
            np.concatenate([part.within for part in parts]),
            parts[0].centre,
            parts[0].sample,
            parts[0].step,
        )

    def select(self, rows: Ints) -> FiellerRatios:
        """Return some of the ratios, in the order of their places."""
        variances: dict[Target, Quadratic] = {t: (a[rows], b[rows], c[rows]) for t, (a, b, c) in self.variances.items()}
        return replace(
            self,
            n=self.n[rows],
            d=self.d[rows],
            variances=variances,
            stand_in=self.stand_in[rows],
            within=self.within[rows],
        )

    @property
    def estimate(self) -> Array:
        """Return (rows,) R; NaN where the denominator is not positive."""
        ratio = np.divide(self.n, self.d, out=np.full(self.n.shape, np.nan), where=self.d > 0)
        return np.asarray(ratio + self.centre)

    def errors(self) -> dict[Target, Array]:
        """Return target -> (rows,) standard errors (delta method)."""
        R = self.estimate - self.centre
        return {
            t: np.sqrt(np.maximum(_evaluate_quadratic(np.stack(v), R), 0.0)) / self.d for t, v in self.variances.items()
        }

    def bias(self, target: Target) -> Array:
        """Return (rows,) the bias of R, to second order.

        E[n/d] - E[n]/E[d] is (R Var d - Cov(n, d)) / d^2 up to terms of higher order (Cochran 1977, section 6.8).
        """
        _, v1, v2 = self.variances[target]
        ratio = self.estimate - self.centre
        return np.asarray(np.divide(ratio * v2 - v1, self.d**2, out=np.full(self.n.shape, np.nan), where=self.d > 0))

    def ends(self, level: float, target: Target) -> Array:
        """Return (rows, 2) Fieller's sets: the r for which n - r d is no farther than z standard errors from 0.

        If the denominator does not differ significantly from 0, such a set is everything, or everything outside of an
        interval. The smallest interval that contains it is returned, infinite where nothing bounds R. Where the
        estimate is outside the possible, distances are counted from that of the nearest possible value, so that no
        set is empty (Fieller 1954; Cox 1967 for ratios with limits).
        """
        if not self.step:
            return self._set(self.n, level, target)
        v0, v1, v2 = self.variances[target]
        step = np.where((v0 != 0) | (v1 != 0) | (v2 != 0), self.step, 0.0)
        low, high = self._set(self.n - step, level, target)[:, 0], self._set(self.n + step, level, target)[:, 1]
        least, most = self.within.T
        ends = [
            np.where((step > 0) & (self.n - step <= (least - self.centre) * self.d), least, low),
            np.where((step > 0) & (self.n + step >= (most - self.centre) * self.d), most, high),
        ]
        return np.stack(ends, axis=1)

    def _set(self, n: Array, level: float, target: Target) -> Array:
        """Return (rows, 2) Fieller's sets of some numerators."""
        low, high = (self.within - self.centre).T
        v0, v1, v2 = self.variances[target]
        cut = reach_of(level, target, self.sample) ** 2 + self._beyond(target)
        # A r^2 - 2 B r + C <= 0
        A, B, C = self.d**2 - cut * v2, n * self.d - cut * v1, n**2 - cut * v0
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(np.maximum(B**2 - A * C, 0.0))
            first, second = np.sort([(B - root) / A, (B + root) / A], axis=0)
        outer = (A < 0) & (root > 0)
        ends = np.stack(
            [
                np.where(A > 0, first, np.where(outer & (first < low), second, low)),
                np.where(A > 0, second, np.where(outer & (second > high), first, high)),
            ],
            axis=1,
        )
        possible = np.stack([low, high], axis=1)
        ends = np.where((self.d > 0)[:, None], np.clip(ends, low[:, None], high[:, None]), possible)
        return np.where(np.isnan(self.d)[:, None] | np.isnan(ends), possible, ends) + self.centre

    def outside(self, level: float, target: Target) -> Mask:
        """Return (rows,) whether every possible value is rejected, so that the set is around the nearest one."""
        return np.asarray(self._beyond(target) > reach_of(level, target, self.sample) ** 2)

    def doubts(self, level: float, target: Target) -> tuple[tuple[str, Mask], ...]:
        """Return the flags of ratios, each with (rows,) whether it applies."""
        return (POPULATION_VARIANCE, self.stand_in & (target == "table")), (OUTSIDE, self.outside(level, target))

    def _beyond(self, target: Target) -> Array:
        """Return (rows,) the squared distance, in standard errors, of n - r d from 0 at the nearest possible r."""
        low, high = (self.within - self.centre).T
        with np.errstate(divide="ignore", invalid="ignore"):
            R = self.n / self.d
            edge = np.clip(R, low, high)
            beyond = (self.n - edge * self.d) ** 2 / _evaluate_quadratic(np.stack(self.variances[target]), edge)
        return np.where((edge != R) & (beyond > 0) & np.isfinite(beyond), beyond, 0.0)  # infinite: rounding at a limit


def _stack_terms(parts: Sequence[Quadratic]) -> Quadratic:
    """Return the terms of several below each other."""
    first, second, third = (np.concatenate(terms) for terms in zip(*parts, strict=True))
    return first, second, third


def _flatten(quadratic: Quadratic) -> Array:
    """Return (3, rows)."""
    return np.stack([v.reshape(-1) for v in quadratic])


def _evaluate_quadratic(quadratic: Array, r: Array) -> Array:
    return np.asarray(quadratic[0] - 2 * r * quadratic[1] + r**2 * quadratic[2])


def p_values(estimates: Array, errors: Array, degrees: float = math.inf) -> Array:
    """Return (rows,) p-values of two-sided tests that the quantity is 0; NaN without a standard error.

    `estimates`: (rows,). `errors`: (rows,) their standard errors; an estimate with an error of 0 is certain. `degrees`:
    of freedom of the errors; endless for the normal law.
    """
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.where((estimates == 0) & (errors == 0), 0.0, np.abs(estimates) / errors)
    return np.asarray(2 * stdtr(degrees, -distance))


def holm(p: Array) -> Array:
    """Return (rows,) p-values adjusted for so many tests, whatever their dependence (Holm 1979); NaN stays."""
    order = np.argsort(p, kind="stable")[: int(np.count_nonzero(~np.isnan(p)))]
    out = np.full(len(p), math.nan)
    out[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)), 1.0)
    return out
