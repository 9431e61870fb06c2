"""The base of every result other than a table of counts: estimates by name, with standard errors for both targets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import Json, Value
from rrpolicy.counts import Array
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.results.flags import (
    FEW_RECORDS,
    IMPOSSIBLE,
    MIDDLE,
    MOMENT,
    NOT_ESTIMABLE,
    ONE_END,
    POPULATION_VARIANCE,
    SPREAD,
    UNFLAGGED,
    UNINFORMATIVE,
    Flags,
    flags_of,
    rests_on_few_records,
)
from rrpolicy.estimate.results.intervals import (
    Ends,
    FiellerRatios,
    clip_interval,
    is_uninformative,
    normal_ends,
    reach_of,
)
from rrpolicy.estimate.results.quantities import (
    SINGLE_QUANTITY_NAMES,
    Covariance,
    EstimatedQuantity,
    ResultColumn,
    key_columns,
)
from rrpolicy.estimate.results.result import Result
from rrpolicy.estimate.results.target import Sample, Target

if TYPE_CHECKING:
    from rrpolicy.estimate.counts.condition import Where
    from rrpolicy.estimate.counts.grouping import Grouping
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.weights.base import Mask

_CHEBYSHEV = ("low_chebyshev", "high_chebyshev")
Interval: TypeAlias = Literal["tested", "normal", "chebyshev"]


@dataclass(frozen=True, kw_only=True)
class Estimates(Result):
    """Estimates of one kind, one per row.

    Attributes:
        by: names of the grouping columns.
        keys: the group of each row, by column.
        estimate: (rows,) NaN where it cannot be estimated.
        errors: target -> (rows,) standard errors; NaN where no interval belongs to the estimate.
        range: (rows, 2) the range that intervals are clipped to; estimates are not.
        estimator: (rows,) `moment`, `EM`, `spread`, `middles of bins` or `not estimable`.
        flags: (rows,) for the target; see `MEANINGS`. The absence of flags guarantees nothing.
        ends: the intervals that are shown, by level and target.
        released: (rows,) number of released records that support each row; None if not counted.
        covariance: covariance of the rows' estimates; None if unknown.
    """

    schema: ClassVar[str] = "rrpolicy.estimates/1"
    intervals: ClassVar[str] = "low to high: the values that a test of the estimate does not reject ({level})"

    of_bins: ClassVar[str] = "low to high: from the {level} interval by lower edges to that by upper edges"

    by: tuple[str, ...]
    keys: tuple[Mapping[str, Value], ...] = field(repr=False)
    estimate: Array
    errors: Mapping[Target, Array] = field(repr=False)
    range: Array = field(repr=False)
    estimator: tuple[str, ...] = field(repr=False)
    flags: Flags = field(repr=False)
    ends: Ends = field(repr=False)
    released: Array | None = field(default=None, repr=False)
    covariance: Covariance | None = field(default=None, repr=False)
    notes: tuple[str, ...] = (UNFLAGGED,)

    def se(self, target: Target | None = None) -> Array:
        """Return (rows,) standard errors (delta method).

        Raises:
            PolicyError: RR271 for another target; RR247 for the population if a unit may have several records.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> release.mean("hours", by="sex").se("population").shape
            (2,)
        """
        return self.errors[self.target_scope.of(target)]

    def conf_int(
        self, level: float | None = None, target: Target | None = None, interval: Interval = "tested"
    ) -> Array:
        """Return (rows, 2) intervals inside the possible range; infinite where an end is not bounded.

        Args:
            level: default that of the result.
            target: default that of the result.
            interval: "tested": the values that a test of the estimate does not reject, by scores for measures, by
                Fieller for means and shares; of totals, the normal one. "normal" is right in large releases only.
                "chebyshev" is valid for any distribution with a known standard error, approximately with an estimated
                one, and is 2.3 times as long at 95 %.

        Raises:
            PolicyError: RR271 for another level or target, RR278 for another interval; RR247 as of `se`.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> release.mean("hours", by="sex").conf_int(0.9).shape
            (2, 2)
        """
        level = self.level if level is None else level
        target = self.target_scope.of(target, level)
        if interval == "tested":
            return self.ends(level, target)
        standard = reach_of(level, target, self.sample) if interval == "normal" else factor(interval, level)
        half = standard * self.se(target)
        return clip_interval(self.estimate, half, self.range)

    def all_notes(self) -> tuple[str, ...]:
        """Return the notes, and those on estimates and intervals that exceed, or fill, the possible range."""
        beyond = (self.estimate < self.range[:, 0]) | (self.estimate > self.range[:, 1])
        ends = self.conf_int()
        empty, one_end = is_uninformative(ends, self.range).any(), (np.isinf(ends).sum(axis=1) == 1).any()
        said = ((IMPOSSIBLE, beyond.any()), (UNINFORMATIVE, empty), (ONE_END, one_end))
        return (*super().all_notes(), *(text for text, holds in said if holds))

    @property
    def quantity(self) -> EstimatedQuantity:
        """Return the estimates, a row each."""
        at_level = MIDDLE in self.estimator
        return EstimatedQuantity(
            SINGLE_QUANTITY_NAMES, self.estimate, self.errors, self.ends, self.flags, self.released,
            biased=at_level or SPREAD in self.estimator, at_level=at_level, covariance=self.covariance,
            within=self.range,
        )  # fmt: skip

    def interval_description(self) -> str:
        """Return the meaning of low and high, in words."""
        return self.of_bins if self.quantity.at_level else super().interval_description()

    def contents(self) -> tuple[ResultColumn | EstimatedQuantity, ...]:
        """Return the group of each row, the estimates, the estimators, and Chebyshev's intervals."""
        estimator = ResultColumn("estimator", self.estimator, key=False, printed=set(self.estimator) != {MOMENT})
        wide = self.conf_int(interval="chebyshev").T.tolist()
        ends = (
            ResultColumn(name, tuple(v), key=False, printed=False) for name, v in zip(_CHEBYSHEV, wide, strict=True)
        )
        keys = key_columns(self.by, self.keys, (*SINGLE_QUANTITY_NAMES, estimator.name, *_CHEBYSHEV))
        return (*keys, self.quantity, estimator, *ends)

    def metadata(self) -> dict[str, Json]:
        """Return the grouping columns."""
        return {"by": list(self.by)}


class Inference(Struct, frozen=True, kw_only=True):
    """Estimates with errors and intervals; their variance is 0, or that of randomisation or of a survey's design.

    Attributes:
        estimate: (rows,).
        errors: target -> (rows,) standard errors.
        within: (rows, 2) the possible values.
        ends: the intervals.
        estimator: (rows,) as in `Estimates`.
        doubts: returns, for a level and target, the flags with the rows that have each.
        covariance: covariance of the rows' estimates.
        released: (rows,) released records that support each row; fewer than `FEW` are flagged.
        sample: the sampling design, for errors by a survey's design.
        notes: required to read the rows.
    """

    estimate: Array
    errors: Mapping[Target, Array]
    within: Array
    ends: Ends
    estimator: tuple[str, ...]
    doubts: Callable[[float, Target], tuple[tuple[str, Mask], ...]]
    covariance: Covariance | None = None
    released: Array | None = None
    sample: Sample | None = None
    notes: tuple[str, ...] = (UNFLAGGED,)

    @classmethod
    def of_bounds(cls, estimate: Array, low: Array, high: Array, within: tuple[float, float]) -> Inference:
        """Return estimates by even spread: this table's value is certain to lie from low to high (rows,)."""
        exact, missing, unknown = low == high, np.isnan(estimate), np.full(estimate.shape, np.nan)
        bounds = np.stack([low, high], axis=1)
        return cls(
            estimate=estimate,
            errors={"table": np.where(exact, 0.0, unknown), "population": unknown},
            within=np.tile(within, (estimate.size, 1)),
            ends=lambda _, target: bounds if target == "table" else np.full(bounds.shape, np.nan),
            estimator=tuple(np.where(missing, NOT_ESTIMABLE, np.where(exact, MOMENT, SPREAD)).tolist()),
            doubts=lambda _level, _target: ((SPREAD, ~(exact | missing)),),
            notes=(),
        )

    @classmethod
    def of_ratios(cls, ratios: FiellerRatios, covariance: Covariance, released: Array | None = None) -> Inference:
        """Return ratios by randomisation, or by the design of their sample."""
        return cls(
            estimate=ratios.estimate,
            errors=ratios.errors(),
            within=ratios.within,
            ends=ratios.ends,
            estimator=tuple(np.where(np.isfinite(ratios.estimate), MOMENT, NOT_ESTIMABLE).tolist()),
            doubts=ratios.doubts,
            covariance=covariance,
            released=released,
            sample=ratios.sample,
        )

    @classmethod
    def of_sums(
        cls,
        estimate: Array,
        table: tuple[Array, Mask],
        population: Array,
        released: Array,
        sample: Sample | None = None,
    ) -> Inference:
        """Return sums with normal intervals, by their variances of this table (`table_variance`) and the population."""
        errors: dict[Target, Array] = {"table": np.sqrt(table[0]), "population": np.sqrt(population)}
        within = np.tile([-np.inf, np.inf], (estimate.size, 1))
        return cls(
            estimate=estimate,
            errors=errors,
            within=within,
            ends=normal_ends(estimate, errors, within, sample),
            estimator=(MOMENT,) * estimate.size,
            doubts=lambda _, target: ((POPULATION_VARIANCE, table[1] & (target == "table")),),
            released=released,
            sample=sample,
        )


_E = TypeVar("_E", bound=Estimates)


def assemble(
    kind: Callable[..., _E],
    release: Release,
    grouping: Grouping,
    found: Inference,
    *,
    target: Target,
    level: float,
    where: Where = None,
    notes: Sequence[str] = (),
    **own: Any,
) -> _E:
    """Return estimates by groups, with `notes` before those of the inference and `own` for the kind's own fields."""
    scope = {
        "where": where if isinstance(where, str) else None,
        "target": target,
        "level": level,
        "records": release.records,
        "max_records": release.max_records,
        "sample": found.sample,
    }
    return result_of(kind, scope, grouping.by, grouping.keys, found, notes=notes, **own)


def result_of(
    kind: Callable[..., _E],
    scope: Mapping[str, Any],
    by: tuple[str, ...],
    keys: tuple[Mapping[str, Value], ...],
    found: Inference,
    *,
    notes: Sequence[str] = (),
    **own: Any,
) -> _E:
    """Return a result of some kind; `scope` has the fields that `Result.scope` of a table has."""
    target: Target = scope["target"]
    doubts = found.doubts(scope["level"], target)
    if found.released is not None:
        doubts = ((FEW_RECORDS, rests_on_few_records(found.released, found.errors[target])), *doubts)
    return kind(
        **scope,
        by=by,
        keys=keys,
        estimate=found.estimate,
        errors=found.errors,
        range=found.within,
        ends=found.ends,
        estimator=found.estimator,
        flags=flags_of(doubts),
        covariance=found.covariance,
        released=found.released,
        notes=(*notes, *found.notes, *(found.sample.notes if found.sample else ())),
        **own,
    )


def factor(interval: str, level: float) -> float:
    """Return how many standard errors an interval reaches to each side; see `reach_of` for the normal one.

    Raises:
        PolicyError: RR278 for an unknown kind of interval.
    """
    if interval == "chebyshev":
        return 1 / math.sqrt(1 - level)
    raise PolicyError(Problem("RR278", f"no such interval: {interval!r}", expected='"tested", "normal" or "chebyshev"'))
