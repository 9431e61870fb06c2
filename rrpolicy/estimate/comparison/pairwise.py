"""Every two rows of one result compared: the larger one, and whether the data show it.

Estimates of one release depend on one another: a record that is released as one category counts against the others, and
the sample is the same. Counts, shares and means have a covariance that follows from the record weights, so that the
variance of a difference is Var a + Var b - 2 Cov(a, b). Intervals combine the rows' own ends, with the correlation that
this variance means (Zou and Donner 2008); p-values are adjusted for all pairs (Holm 1979).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import Json
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.comparison.combined_intervals import combined_interval, distances, p_value_columns, refuse_spread
from rrpolicy.estimate.results.chart_layout import PlottedQuantity
from rrpolicy.estimate.results.flags import POPULATION_VARIANCE
from rrpolicy.estimate.results.intervals import holm, p_values, reach_of, table_variance
from rrpolicy.estimate.results.quantities import EstimatedQuantity, ResultColumn
from rrpolicy.estimate.results.result import Result
from rrpolicy.estimate.results.target import Target
from rrpolicy.frozen import replace
from rrpolicy.numbers import level_percent
from rrpolicy.plotting.chart import ChartReferenceLine

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints
    from rrpolicy.estimate.comparison.comparison import Question
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.weights.base import Mask

MOST = 100
"""The most rows of which every two are compared."""
_WEIGHTS = np.array([1.0, -1.0])
_ROUNDING = 3e-7
"""An error of at most this share of the estimates is rounding."""


class LargestRow(Struct, frozen=True):
    """The row with the largest estimate of a quantity.

    Attributes:
        quantity: its name.
        row: its group, in words.
        not_shown: the rows that it is not shown to be larger than, all pairs considered.
    """

    quantity: str
    row: str
    not_shown: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Pairwise(Result):
    """Differences between every two rows of a result: the first less the other one.

    Attributes:
        of: the rows, in words.
        largest: the largest row of each quantity that can be estimated.
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
        """Return the rows that are compared."""
        return f"Differences between every two rows: {self.of}"

    def contents(self) -> tuple[ResultColumn | EstimatedQuantity, ...]:
        """Return the groups of a pair, then every quantity."""
        return self._shown

    def labels(self) -> list[str]:
        """Return the pairs, in words."""
        names, rows = self.row_keys()
        half = len(names) // 2
        return [f"{_row_label(row[:half])} less {_row_label(row[half:])}" for row in rows]

    def preface(self) -> tuple[str, ...]:
        """Return the largest row of each quantity, and whether the data show it."""
        lines = []
        for found in self.largest:
            head, others = f"largest {found.quantity}: {found.row}", ", ".join(found.not_shown)
            if self.exact:
                lines.append(f"{head}, as {others}" if others else head)
            elif others:
                lines.append(f"{head}; it is not shown to be larger than {others}")
            else:
                lines.append(
                    f"{head}; at level {level_percent(self.level)} it is shown to be larger than every other row"
                )
        return tuple(lines)

    def plotted_quantities(self) -> tuple[PlottedQuantity, ...]:
        """Return each quantity with the value of no difference."""
        return tuple(PlottedQuantity(m, m.name, line=ChartReferenceLine(0.0, "no difference")) for m in self.quantities)

    def metadata(self) -> dict[str, Json]:
        """Return the largest row."""
        return {"largest": [{"of": n.quantity, "row": n.row, "not_shown": list(n.not_shown)} for n in self.largest]}


def pairwise(release: Release, question: Question) -> Pairwise:
    """Compare every two rows of a result, as `Release.pairwise` describes."""
    found = release.query(question) if isinstance(question, str) else question(release)
    names, keys = found.row_keys()
    if len(keys) < 2 or len(keys) > MOST:  # noqa: PLR2004 two can be compared
        message = f"the answer has {len(keys):,} rows"
        raise PolicyError(Problem("RR573", message, expected=f"2 to {MOST} rows, of which every two are compared"))
    for part in found.quantities:
        refuse_spread([part], "list the bounds of the rows")
        if part.covariance is None:
            message = f"how the rows' estimates of {part.name!r} depend on one another is not known"
            hint = "request counts, shares or means by groups that exclude each other"
            raise PolicyError(Problem("RR573", message, expected="unbiased counts, shares or means", hint=hint))
    first, other = (np.array(places) for places in zip(*combinations(range(len(keys)), 2), strict=True))
    # a name stays unambiguous when `_other` is added to it
    named = [name if f"{name}_other" not in names else f"{name} (group)" for name in names]
    shown: list[ResultColumn | EstimatedQuantity] = [
        ResultColumn(name + side, tuple(keys[i][at] for i in places))
        for side, places in (("", first), ("_other", other))
        for at, name in enumerate(named)
    ]
    labels, largest = [_row_label(key) for key in keys], []
    for part in found.quantities:
        difference = _difference(found, part, first, other)
        p = _difference_p_values(found, part, difference, first, other)
        if np.isfinite(part.estimate).any():
            largest.append(_largest_row(part, labels, first, other, ~(holm(p) <= 1 - found.level)))
        printed = found.target == "population" or not part.exact
        shown += [difference, *p_value_columns(part.name, p, printed=printed)]
    return Pairwise(**found.scope, notes=found.notes, of=found.title, largest=tuple(largest), _shown=tuple(shown))


def _row_label(key: tuple[object, ...]) -> str:
    return ", ".join(map(str, key))


def _difference(found: Result, part: EstimatedQuantity, first: Ints, other: Ints) -> EstimatedQuantity:
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


def _largest_row(part: EstimatedQuantity, labels: list[str], first: Ints, other: Ints, open_: Mask) -> LargestRow:
    """Return the row with the largest estimate; `open_` has (pairs,) whether the test does not distinguish the two."""
    top = int(np.argmax(np.nan_to_num(part.estimate, nan=-np.inf)))
    pairs = zip(first.tolist(), other.tolist(), open_.tolist(), strict=True)
    missing = np.isnan(part.estimate)
    rivals = [i + j - top for i, j, undecided in pairs if top in {i, j} and (undecided or missing[i] or missing[j])]
    return LargestRow(part.name, labels[top], tuple(labels[i] for i in sorted(rivals)))
