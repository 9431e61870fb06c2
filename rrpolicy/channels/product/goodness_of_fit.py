"""Test whether a release is a draw from its channel, given the original. False alarms: at most 1e-9.

**Exactly**: the number of records, the domains, and the joint counts of unrandomised columns (identity axes, recoded
    ones and carried columns) must agree. A released value that is impossible for its original must not occur.

**In distribution**: given the original, the released records are independent, each drawn from its own column of P. A
statistic T = sum over released records of f(record), f fixed by the plan and the original, is then a sum of independent
variables, each within b = max f - min f of its mean, with the exact mean sum f . (P c) and the exact variance
V = sum_v c_v ((P^T f^2)_v - (P^T f)_v^2). Bennett's inequality bounds each tail at every sample size, small tables
included:

    Pr(|T - E T| >= x) <= 2 exp(-(V / b^2) h(b x / V)),     h(u) = (1 + u) log(1 + u) - u

With m statistics, 2 m times the smallest bound is an upper bound of the p-value (Bonferroni): `achieved`. The release
fails below 1e-9. The statistics, over the joint table of every axis, every two axes, and all axes, where small enough:

- every released cell of one and two axes (f its indicator): finds a transposed matrix, another plan, a moved margin;
  of sets, every value in them, by the other axis, and every two values in one set;
- f = (e' - e) / (e' + e) for the expectation e' if it were the raw table, or if every axis or one of them were
  less noisy (a quarter of the way to the identity): it adds up the small shifts of many cells that a wrong retention
  makes, in both directions. A raw table in place of the release is found there.

A table so uniform that P c = c to within the noise cannot be distinguished from its release; a draw that is only too
close to its expectation is not suspicious here.

References:
    Bennett 1962, eq. 8b; Boucheron, Lugosi, Massart 2013, theorem 2.9.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from rrpolicy.channels.axes.set_inclusion import SetInclusionMatrix, pair_moments, sum_moments
from rrpolicy.channels.axes.sets import Sets
from rrpolicy.channels.base import Axis, Transition
from rrpolicy.channels.product.released_counts import (
    ReleasedCounts,
    Subset,
    count_released_rows,
    deterministic_counts_agree,
    is_deterministic,
)
from rrpolicy.finding import Basis, Companion, Finding, Measure, Standing, Verdict

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channels.product.channel import Product
    from rrpolicy.counts import Array, Ints
    from rrpolicy.source.protocol import Original

FALSE_ALARM = Fraction(1, 10**9)
_LARGEST = 1 << 20  # cells of a joint table that is tested
_STEP = 0.25
_PAIR = 2
_ROUNDING = 1e-9  # relative; far above what sums of doubles lose, far below any noise


@dataclass
class ConformityStatistics:
    """The most surprising statistic so far, and the number of statistics."""

    statistics: int = 0
    surprise: float = 0.0
    name: str = "no statistic"
    skipped: list[str] = field(default_factory=list)

    def add(self, name: str, surprises: Array) -> None:
        """Take negative logarithms of tail bounds."""
        self.statistics += surprises.size
        worst = float(surprises.max(initial=0.0))
        if worst > self.surprise:
            self.surprise, self.name = worst, name

    def bound(self) -> float:
        """Return an upper bound of the p-value of all statistics together."""
        return min(1.0, 2 * self.statistics * math.exp(-self.surprise)) if self.surprise else 1.0


def check_fit(product: Product, original: Original, reader: pa.RecordBatchReader) -> Finding:
    """Test a release; see the module.

    The achieved number is an upper bound of the p-value: 0 if parts that must be equal differ.
    """
    tested = [slot for slot, axis in enumerate(product.axes) if _has_listed_values(axis)]
    evidence = ConformityStatistics()
    subsets = [s for s in _tested_subsets(product, tested) if _is_testable(product, s, evidence)]
    released = count_released_rows(product, reader, subsets)
    wrong = _exact_mismatch(product, original, released)
    if all(is_deterministic(axis) for axis in product.axes):
        return deterministic_finding(wrong)
    if wrong is None:
        for subset, counts in released.counts.items():
            _test_joint_table(product, original, subset, counts, evidence)
    untested = [a for slot, axis in enumerate(product.axes) if slot not in tested for a in axis.attributes]
    return fit_finding(evidence, wrong, untested)


def _has_listed_values(axis: Axis) -> bool:
    return isinstance(axis, (Transition, Sets)) and all(c.labels for c in axis.columns())


def _expectation_matrix(axis: Axis) -> Transition | SetInclusionMatrix:
    """Return the map from original counts to expected released ones: of sets, to the number with each value."""
    if isinstance(axis, Sets):
        return SetInclusionMatrix(axis)
    return cast("Transition", axis)  # `_listed` tested it; a test of the protocol here took a third of the time


def _tested_subsets(product: Product, tested: Sequence[int]) -> Iterator[Subset]:
    """Return one axis, two axes, all axes, sets with themselves; without those that are deterministic."""
    yield from ((slot, slot) for slot in tested if isinstance(product.axes[slot], Sets))
    sizes = sorted({1, 2, len(tested)} & set(range(1, len(tested) + 1)))
    for size in sizes:
        for subset in combinations(tested, size):
            if not all(is_deterministic(product.axes[slot]) for slot in subset):
                yield subset


def _is_testable(product: Product, subset: Subset, evidence: ConformityStatistics) -> bool:
    axes = [product.axes[slot] for slot in subset]
    cells = max(math.prod(a.original_size for a in axes), math.prod(_released_size(a) for a in axes))
    if cells > _LARGEST:
        evidence.skipped.append(_axis_names(axes))
    return cells <= _LARGEST


def _released_size(axis: Axis) -> int:
    return math.prod(len(column.labels) for column in axis.columns())


def _axis_names(axes: Sequence[Axis]) -> str:
    return " x ".join("+".join(axis.attributes) for axis in axes)


def _exact_mismatch(product: Product, original: Original, released: ReleasedCounts) -> str | None:
    """Return a difference between parts that must be equal."""
    if released.problem is not None:
        return released.problem
    if released.records != original.records:
        return "the number of records differs from the original's"
    kept = [slot for slot, axis in enumerate(product.axes) if is_deterministic(axis)]
    if (kept or product.carried) and not deterministic_counts_agree(product, original, released, kept):
        return "what is released unchanged, or recoded, differs from the original"
    return None


def _test_joint_table(
    product: Product, original: Original, subset: Subset, observed: Ints, evidence: ConformityStatistics
) -> None:
    axes = [product.axes[slot] for slot in subset]
    if len(set(subset)) < len(subset):
        _test_pairs(axes[0], original, observed, evidence)
        return
    counts = original.counts(*(a for axis in axes for a in axis.attributes)).dense()
    c = counts.reshape([axis.original_size for axis in axes]).astype(np.float64)
    o = observed.reshape([_released_size(axis) for axis in axes]).astype(np.float64)
    e = np.maximum(_apply_channel(axes, c), 0.0)
    name = _axis_names(axes)
    impossible = (e == 0) & (o > 0)
    if impossible.any():
        evidence.add(f"{name}: a combination that no original can become", np.array([math.inf]))
        return
    if len(subset) <= _PAIR:
        variance = np.maximum(e - _apply_channel(axes, c, power=2), 0.0)
        evidence.add(f"{name}: one released combination", bennett_surprise(o - e, variance, 1.0, e))
    if sum(isinstance(axis, Sets) for axis in axes) > 1:
        return
    for towards, alternative in _less_noisy_expectations(axes, c):
        f = np.divide(alternative - e, alternative + e, out=np.zeros_like(e), where=alternative + e > 0)
        spread, width = _sum_moments(axes, c, f)
        if width == 0:
            continue
        deviation = np.array([float((f * o).sum()) - float((f * e).sum())])
        scale = np.array([float(np.abs(f * e).sum() + c.sum())])
        evidence.add(f"{name}: {towards}", bennett_surprise(deviation, np.array([spread]), width, scale))


def _sum_moments(axes: Sequence[Axis], c: Array, f: Array) -> tuple[float, float]:
    """Return the variance of the sum of f over all records, and the range of a record's f."""
    for place, axis in enumerate(axes):
        if isinstance(axis, Sets):
            return sum_moments(axes, place, c, f)
    spread = float((c * (_apply_transpose(axes, f * f) - _apply_transpose(axes, f) ** 2)).sum())
    return max(spread, 0.0), float(f.max() - f.min())


def _test_pairs(axis: Axis, original: Original, observed: Ints, evidence: ConformityStatistics) -> None:
    """Add the number of sets that contain both values, for every two values."""
    assert isinstance(axis, Sets)
    c = original.counts(*axis.attributes).dense().ravel().astype(np.float64)
    e, variance = pair_moments(axis, c)
    o = observed.reshape(e.shape).astype(np.float64)
    evidence.add(f"{_axis_names([axis])}: two values in one set", bennett_surprise(o - e, variance, 1.0, e))


def _apply_channel(axes: Sequence[Axis], x: Array, power: Literal[1, 2] = 1) -> Array:
    for place, axis in enumerate(axes):
        x = _expectation_matrix(axis).forward(x, place, power)
    return x


def _apply_transpose(axes: Sequence[Axis], x: Array) -> Array:
    for place, axis in enumerate(cast("Sequence[Transition]", axes)):
        x = axis.back(x, place)
    return x


def _less_noisy_expectations(axes: Sequence[Axis], c: Array) -> Iterator[tuple[str, Array]]:
    """Yield the expectations of less noisy channels, on axes whose released domain is the original one."""
    of_sets = [place for place, axis in enumerate(axes) if isinstance(axis, Sets)]
    square = [_released_size(axis) == axis.original_size and not isinstance(axis, Sets) for axis in axes]
    noisy = [place for place, axis in enumerate(axes) if square[place] and not is_deterministic(axis)]
    if noisy and all(square):
        yield "towards the original", c
    if len(noisy) > 1:
        yield "towards less noise", _less_noisy_expectation(axes, c, noisy)
    for place in noisy:
        yield f"towards less noise in {_axis_names(axes[place : place + 1])}", _less_noisy_expectation(axes, c, [place])
    for place in of_sets:
        e = _apply_channel(axes, c)
        yield "towards sets without their own value", np.broadcast_to(e.mean(axis=place, keepdims=True), e.shape)


def _less_noisy_expectation(axes: Sequence[Axis], c: Array, places: Sequence[int]) -> Array:
    x = c
    for place, axis in enumerate(axes):
        drawn = _expectation_matrix(axis).forward(x, place)
        x = (1 - _STEP) * drawn + _STEP * x if place in places else drawn
    return np.maximum(x, 0.0)


def bennett_surprise(deviation: Array, variance: Array, width: float, scale: Array) -> Array:
    """Return -log of Bennett's bound of one tail; 0 if there is no deviation.

    `width` is b, of every summand; `variance` is exact up to rounding; `scale` is that of rounding errors.
    """
    x = np.maximum(np.abs(deviation) - _ROUNDING * (1 + scale), 0.0) / width
    v = (variance + _ROUNDING * scale) / width**2
    u = np.divide(x, v, out=np.full_like(x, np.inf), where=v > 0)
    finite = np.where(np.isfinite(u), u, 0.0)
    bound = v * ((1 + finite) * np.log1p(finite) - finite)
    out: Array = np.where(np.isfinite(u), bound, np.where(x > 0, np.inf, 0.0))
    return out


def deterministic_finding(wrong: str | None) -> Finding:
    """Return the finding of a deterministic release.

    `wrong` is the part of the release that does not follow from the original; None if all of it does.
    """
    return Finding(
        code="conforms",
        model="conforms",
        requirement="the released counts are those that follow from the original",
        place=None,
        achieved=Measure(float(wrong is None), Standing.EXACT),
        limit=FALSE_ALARM,
        verdict=Verdict.SATISFIED if wrong is None else Verdict.FAILED,
        basis=Basis.ORIGINAL,
        adversary="an attacker who put something else in place of the release",
        companions=()
        if wrong is None
        else (Companion("what differs", Measure(0.0, Standing.EXACT), Basis.ORIGINAL, wrong),),
        reference="equality of counts",
        assessor="rrpolicy",
    )


def fit_finding(
    evidence: ConformityStatistics, wrong: str | None, untested: Sequence[str], reference: str = "Bennett 1962, eq. 8b"
) -> Finding:
    """Return the finding.

    `wrong` is a difference between parts that must be equal.
    """
    achieved = Measure(evidence.bound(), Standing.UPPER_BOUND) if wrong is None else Measure(0.0, Standing.EXACT)
    if wrong is not None or achieved.value < FALSE_ALARM:
        verdict = Verdict.FAILED
    else:
        verdict = Verdict.UNDECIDED if untested else Verdict.SATISFIED
    limits = [f"the joint table of {name} is too large to be tested" for name in evidence.skipped]
    limits += [f"the released values of {name} cannot be listed and were not tested" for name in untested]
    most = Companion(
        "most surprising statistic",
        Measure(float(math.exp(-evidence.surprise)), Standing.UPPER_BOUND),
        Basis.ORIGINAL,
        wrong or evidence.name,
    )
    return Finding(
        code="conforms",
        model="conforms",
        requirement="the released counts are a plausible draw from the channel, p-value >= 1e-9",
        place=None,
        achieved=achieved,
        limit=FALSE_ALARM,
        verdict=verdict,
        basis=Basis.ORIGINAL,
        adversary="an attacker who put something else in place of the draw",
        assumptions=tuple(limits),
        companions=(most,),
        reference=reference,
        assessor="rrpolicy",
    )
