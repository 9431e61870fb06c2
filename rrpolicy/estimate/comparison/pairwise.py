"""Every two rows of one answer compared: which group is the larger one, and is it shown.

Estimates of one release depend on one another: a record that is released as one category speaks against the others, and
the sample is the same. Counts, shares and means have a covariance that follows from the record weights, so that the
variance of a difference is Var a + Var b - 2 Cov(a, b). Intervals are put together from the rows' own ends, with the
correlation that this variance means (Zou and Donner 2008); p-values are adjusted for all pairs (Holm 1979).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import field, replace
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from rrpolicy.canonical_json import Json
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.comparison.combined_intervals import combined_interval, distances
from rrpolicy.estimate.results.chart_layout import PlottedQuantity
from rrpolicy.estimate.results.flags import POPULATION_VARIANCE
from rrpolicy.estimate.results.intervals import holm, p_values, reach_of, table_variance
from rrpolicy.estimate.results.quantities import EstimatedQuantity, ResultColumn
from rrpolicy.estimate.results.result import Result
from rrpolicy.estimate.results.target import Target
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.plotting.chart import ChartReferenceLine

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.weights.base import Mask

Question: TypeAlias = "str | Callable[[Release], Result]"
MOST = 100
"""The most rows of which every two are compared."""
_WEIGHTS = np.array([1.0, -1.0])
_ROUNDING = 3e-7
"""Of the estimates, what an error that is no more than this share of them consists of."""


@frozen
class LargestRow:
    """The row with the largest estimate of a quantity.

    Attributes:
        quantity: its name.
        row: what the row is of, in words.
        not_shown: the rows that it is not shown to be larger than, all pairs considered.
    """

    quantity: str
    row: str
    not_shown: tuple[str, ...]


@frozen(slots=False, kw_only=True)
class Pairwise(Result):
    """Differences between every two rows of an answer: the first less the other one.

    Attributes:
        of: what the rows are, in words.
        largest: of each quantity that can be estimated, which row is the largest.
    """

    schema: ClassVar[str] = "rrpolicy.pairwise/1"
    intervals: ClassVar[str] = (
        "low to high: {level} intervals of each difference by itself; p: of a two-sided test that there is none, "
        "p_holm: adjusted for all pairs"
    )

    of: str
    largest: tuple[LargestRow, ...]
    _shown: tuple[ResultColumn | EstimatedQuantity, ...] = field(repr=False)

    @property
    def title(self) -> str:
        """Return what is compared."""
        return f"Differences between every two rows: {self.of}"

    def contents(self) -> tuple[ResultColumn | EstimatedQuantity, ...]:
        """Return what the rows of a pair are of, then every quantity."""
        return self._shown

    def labels(self) -> list[str]:
        """Return the pairs, in words."""
        names, rows = self.row_keys()
        half = len(names) // 2
        return [f"{_row_label(row[:half])} less {_row_label(row[half:])}" for row in rows]

    def preface(self) -> tuple[str, ...]:
        """Return which row is the largest, and whether that is shown."""
        return tuple(self._said(largest) for largest in self.largest)

    def _said(self, largest: LargestRow) -> str:
        head = f"largest {largest.quantity}: {largest.row}"
        if self.exact:
            return f"{head}, as {', '.join(largest.not_shown)}" if largest.not_shown else head
        if not largest.not_shown:
            return f"{head}; at level {100 * self.level:g} % it is shown to be larger than every other row"
        return f"{head}; it is not shown to be larger than {', '.join(largest.not_shown)}"

    def plotted_quantities(self) -> tuple[PlottedQuantity, ...]:
        """Return each quantity beside none."""
        return tuple(PlottedQuantity(m, m.name, line=ChartReferenceLine(0.0, "no difference")) for m in self.quantities)

    def metadata(self) -> dict[str, Json]:
        """Return which row is the largest."""
        return {"largest": [{"of": n.quantity, "row": n.row, "not_shown": list(n.not_shown)} for n in self.largest]}


def pairwise(release: Release, question: Question) -> Pairwise:
    """Compare every two rows of an answer; `Release.pairwise` says how.

    Raises:
        PolicyError: RR288 if counts are spread inside groups; RR573 for rows that cannot be compared with one another.
    """
    found = release.query(question) if isinstance(question, str) else question(release)
    names, keys = found.row_keys()
    if len(keys) < 2 or len(keys) > MOST:  # noqa: PLR2004 two can be compared
        message = f"the answer has {len(keys):,} rows"
        raise PolicyError(Problem("RR573", message, expected=f"2 to {MOST} rows, of which every two are compared"))
    for part in found.quantities:
        if part.biased:
            message = f"{part.name!r} is spread inside groups: it has bounds and no errors"
            raise PolicyError(Problem("RR288", message, hint="put the bounds of the rows beside one another"))
        if part.covariance is None:
            message = f"how the rows' estimates of {part.name!r} depend on one another is not known"
            hint = "ask for counts, shares or means by groups that exclude each other"
            raise PolicyError(Problem("RR573", message, expected="unbiased counts, shares or means", hint=hint))
    first, other = (np.array(places) for places in zip(*combinations(range(len(keys)), 2), strict=True))
    shown: list[ResultColumn | EstimatedQuantity] = []
    for side, places in (("", first), ("_other", other)):
        shown += [
            ResultColumn(name + side, tuple(keys[i][at] for i in places)) for at, name in enumerate(_free_names(names))
        ]
    largest = []
    for part in found.quantities:
        difference = _difference(found, part, first, other)
        p = _difference_p_values(found, part, difference, first, other)
        adjusted = holm(p)
        printed = found.target == "population" or not part.exact
        if np.isfinite(part.estimate).any():
            largest.append(
                _largest_row(part, [_row_label(key) for key in keys], first, other, ~(adjusted <= 1 - found.level))
            )
        shown += [
            difference,
            ResultColumn(f"{part.name}_p", tuple(p.tolist()), key=False, printed=printed, p_values=True),
            ResultColumn(f"{part.name}_p_holm", tuple(adjusted.tolist()), key=False, printed=printed, p_values=True),
        ]
    return Pairwise(**found.scope, notes=found.notes, of=found.title, largest=tuple(largest), _shown=tuple(shown))


def _free_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names that stay apart when ` _other` is written after them."""
    taken = set(names)
    return tuple(name if f"{name}_other" not in taken else f"{name} (group)" for name in names)


def _row_label(key: tuple[object, ...]) -> str:
    return ", ".join(map(str, key))


def _difference(found: Result, part: EstimatedQuantity, first: Ints, other: Ints) -> EstimatedQuantity:
    """Return the differences of a quantity between rows."""
    assert part.covariance is not None
    covariances = {target: part.covariance(target) for target in found.target_scope.targets}
    sampled = covariances.get("population", covariances["table"])
    variances: dict[Target, Array] = {target: _variance(c, first, other) for target, c in covariances.items()}
    size = np.abs(np.diag(covariances["table"]))
    kept, stand_in = table_variance(
        variances["table"],
        np.zeros(len(first)),
        np.maximum(_variance(sampled, first, other), 0.0),
        at=(variances["table"], size[first] + size[other]),
    )
    errors = {target: np.sqrt(np.maximum(v, 0.0)) for target, v in variances.items()} | {"table": np.sqrt(kept)}

    def ends(level: float, target: Target) -> Array:
        own, reach = part.ends(level, target), reach_of(level, target, found.sample)
        alone = np.stack([part.errors[target][first], part.errors[target][other]])
        with np.errstate(divide="ignore", invalid="ignore"):
            r = np.nan_to_num(((alone**2).sum(axis=0) - errors[target] ** 2) / (2 * alone.prod(axis=0)))
        between = np.broadcast_to(np.clip(r, -1.0, 1.0), (2, 2, len(first)))
        estimates = np.stack([part.estimate[first], part.estimate[other]])
        far = distances(estimates, np.stack([own[first], own[other]]), reach * alone)
        return combined_interval(_WEIGHTS, estimates, far, between, between)

    flags = tuple(
        tuple(dict.fromkeys((*part.flags[i], *part.flags[j], *((POPULATION_VARIANCE,) if s else ()))))
        for i, j, s in zip(first, other, stand_in & (found.target == "table"), strict=True)
    )
    return replace(
        part,
        estimate=part.estimate[first] - part.estimate[other],
        errors=errors,
        ends=ends,
        flags=flags,
        released=None,
        whole=None,
        covariance=None,
    )


def _variance(covariance: Array, first: Ints, other: Ints) -> Array:
    own = np.diag(covariance)
    return np.asarray(own[first] + own[other] - 2 * covariance[first, other])


def _difference_p_values(
    found: Result, part: EstimatedQuantity, difference: EstimatedQuantity, first: Ints, other: Ints
) -> Array:
    """Return p-values of no difference; NaN where a sample's design leaves the difference without an error."""
    degrees = math.inf if found.sample is None else found.sample.degrees_for(found.target)
    p = p_values(difference.estimate, difference.errors[found.target], degrees)
    if found.sample is None or found.target == "table":
        return p
    bounded = np.isfinite(difference.ends(found.level, found.target)).all(axis=1)
    size = np.abs(part.estimate[first]) + np.abs(part.estimate[other])
    return np.where(bounded & (difference.errors[found.target] > _ROUNDING * size), p, np.nan)


def _largest_row(part: EstimatedQuantity, told: list[str], first: Ints, other: Ints, open_: Mask) -> LargestRow:
    """Return the row with the largest estimate.

    Args:
        part: the quantity.
        told: what each row is of.
        first: of each pair, the row that the other one is taken from.
        other: that one.
        open_: (pairs,) whether the test does not tell the two apart.
    """
    top = int(np.argmax(np.nan_to_num(part.estimate, nan=-np.inf)))
    pairs = zip(first.tolist(), other.tolist(), open_.tolist(), strict=True)
    missing = np.isnan(part.estimate)
    rivals = [i + j - top for i, j, undecided in pairs if top in {i, j} and (undecided or missing[i] or missing[j])]
    return LargestRow(part.name, told[top], tuple(told[i] for i in sorted(rivals)))
