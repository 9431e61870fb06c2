"""Means and totals of a column of numbers by groups, by whichever source of variance there is (`numeric_sums`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, TypeVar

from rrpolicy.canonical_json import Json, Value
from rrpolicy.counts import Array
from rrpolicy.estimate.counts.condition import Where, read
from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.estimate.results.estimates import Estimates, assemble
from rrpolicy.estimate.results.result import json_number
from rrpolicy.estimate.results.target import Target, check_target
from rrpolicy.estimate.sums.category_values import (
    Limits,
    bin_bounds,
    notes_on_category_values,
    with_category_values,
    with_inner_categories,
)
from rrpolicy.estimate.sums.cube import notes_on_labels
from rrpolicy.estimate.sums.numeric_sums import sum_numbers
from rrpolicy.estimate.sums.uniform_within_sums import SpreadNumbers
from rrpolicy.frozen import replace
from rrpolicy.numbers import percent

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release


@dataclass(frozen=True, kw_only=True)
class NumericEstimates(Estimates):
    """Estimates of a column of numbers; `keys` are the groups.

    Attributes:
        value: the column of numbers, or that numbers were stated for.
        missing: records without the number, which are left out.
        sizes: the groups' estimated sizes, without those records.
        categories: those that are not numbers (of missing values, of values outside), whose records are left out.
        left_out: their estimated share of the records in question.
    """

    statistic: ClassVar[str]

    value: str
    missing: int
    sizes: Array = field(repr=False)
    categories: tuple[Value, ...] = ()
    left_out: float = 0.0

    @property
    def title(self) -> str:
        """Return the estimated quantity, the people and the groups."""
        by = f" by {', '.join(self.by)}" if self.by else ""
        return f"Estimated {self.statistic} of {self.value}{by}{self.without}"

    def metadata(self) -> dict[str, Json]:
        """Return the column and the records that are left out."""
        return {
            **super().metadata(),
            "value": self.value,
            "missing": self.missing,
            "categories": list(self.categories),
            "left_out": json_number(self.left_out),
        }

    @property
    def without(self) -> str:
        """Return in words which records are left out; "" if all are counted."""
        if self.categories:
            share = f"{'' if self.exact else 'an estimated '}{percent(max(self.left_out, 0.0))} of the records"
            return f", without {' and '.join(repr(str(c)) for c in self.categories)} ({share})"
        return f", without {self.missing:,} records that have none" if self.missing else ""


@dataclass(frozen=True, kw_only=True)
class Means(NumericEstimates):
    """Estimated means."""

    schema: ClassVar[str] = "rrpolicy.mean/1"
    statistic: ClassVar[str] = "mean"


@dataclass(frozen=True, kw_only=True)
class Totals(NumericEstimates):
    """Estimated totals."""

    schema: ClassVar[str] = "rrpolicy.total/1"
    intervals: ClassVar[str] = "low and high are normal {level} intervals"
    statistic: ClassVar[str] = "total"


_N = TypeVar("_N", bound=NumericEstimates)


def estimate_numbers(
    kind: type[_N],
    release: Release,
    value: str,
    by: Sequence[str] | str,
    where: Where,
    *,
    target: Target = "table",
    level: float = LEVEL,
    values: Mapping[Value, float | None] | None = None,
    limits: Limits = (None, None),
) -> _N:
    """Estimate means or totals; see `Release.mean`. A condition that was read already is not in the result.

    Raises:
        PolicyError: RR274 if the column contains no numbers, or is a grouping column as well; RR532 for limits of a
            column without bins.
    """
    check_target(target, level, release.max_records)
    release, value = (release, value) if values is None else with_category_values(release, value, values)
    release, conjuncts = with_inner_categories(release, value), read(where)
    by = [by] if isinstance(by, str) else by

    def ask(of: Release, edge: str) -> _N:
        return estimate_numbers(kind, of, edge, by, where, target=target, level=level)

    binned = bin_bounds(release, value, conjuncts, ask, limits)
    if binned is not None:
        return replace(binned, value=release.columns.name(value))
    numbers = sum_numbers(release, value, by, conjuncts, f"{kind.statistic}s")
    name, grouping = numbers.asked.name, numbers.asked.grouping
    labels = () if isinstance(numbers, SpreadNumbers) else notes_on_labels(release, grouping.by, conjuncts)
    return assemble(
        kind, release, grouping, numbers.means if kind.statistic == "mean" else numbers.totals,
        target=target, level=level, where=where,
        notes=(*notes_on_category_values(release.columns, name), *labels),
        value=name, missing=numbers.missing, sizes=numbers.sizes, categories=numbers.categories,
        left_out=numbers.left_out,
    )  # fmt: skip
