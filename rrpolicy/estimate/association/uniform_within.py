"""Measures of association of counts that are spread evenly inside released groups: a description, and what is certain.

The table is the even spread of generalised labels over their categories, or of dealt values over the records of their
group (Xiao, Tao 2006, section 5), which is the mean over all ways in which values can go with records. Measures are
taken there. Spreading draws them towards independence; no sampling law says how far.

What is certain is known of two categories by two whose margins are exact, as those of dealt values are: one number is
open, how many records have both, and the bounds of its count (Fréchet 1940, summed over groups) are tight. With fixed
margins every measure either rises or falls with it, or does so on each side of independence, where it is least, so
that its values at both ends, and at independence if that lies between, bound it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical_json import Value
from rrpolicy.counts import Array
from rrpolicy.estimate.association.association import Association, dichotomise, select_measures, value_of
from rrpolicy.estimate.association.measures import AssociationMeasure
from rrpolicy.estimate.association.two_way_table import two_way_table_without_covariance
from rrpolicy.estimate.counts.condition import split
from rrpolicy.estimate.expression import Member
from rrpolicy.estimate.results.flags import NOT_ESTIMABLE, SPREAD
from rrpolicy.estimate.results.target import Target

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.table import Crosstab


def spread_association(
    release: Release,
    asked: Crosstab,
    measures: Sequence[AssociationMeasure] | None,
    present: tuple[Sequence[Value], Sequence[Value]] | None,
) -> Association:
    """Return measures of a table of spread counts.

    Args:
        release: that the table is of, counted inside labels.
        asked: by the row and the column.
        measures: as `association`.
        present: as `association`.

    Raises:
        PolicyError: RR273 if a measure is not defined for this table.
    """
    table, chosen = dichotomise(two_way_table_without_covariance(asked), present)
    named = select_measures(measures, table)
    estimate = np.array([value_of(measure, table.estimate) for measure in named])
    unknown = np.full(len(named), np.nan)
    extremes = None if chosen is None else _extremes(release, asked, chosen)

    def ends(level: float, target: Target) -> Array:
        del level
        if extremes is None or target != "table":
            return np.full((len(named), 2), np.nan)
        return np.array([_measure_bounds(measure, extremes) for measure in named])

    return Association(
        **asked.scope,
        by=("measure",),
        keys=tuple({"measure": m.name} for m in named),
        estimate=estimate,
        errors={"table": unknown, "population": unknown},
        range=np.array([[m.low, m.high] for m in named]),
        estimator=tuple(SPREAD if np.isfinite(v) else NOT_ESTIMABLE for v in estimate),
        flags=((SPREAD,),) * len(named),
        ends=ends,
        notes=(),
        row=asked.by[0],
        column=asked.by[1],
        present=chosen,
    )


def _extremes(release: Release, asked: Crosstab, present: tuple[tuple[Value, ...], tuple[Value, ...]]) -> Array | None:
    """Return (k, 2, 2) tables whose measures bound those of the true one; None if a margin is not known."""
    if asked.where is not None:
        return None
    members = [Member(name, tuple(values)) for name, values in zip(asked.by, present, strict=True)]

    def bounds(*parts: Member) -> tuple[float, float]:
        condition = split(parts, release.columns)
        (count,) = release.tables((), [()], None, condition, target="table", level=asked.level)
        low, high = count.conf_int(target="table")[0]
        return float(low), float(high)

    (row, most_row), (column, most_column) = map(bounds, members)
    if row != most_row or column != most_column:
        return None
    low, high = bounds(*members)
    low, high = max(low, row + column - asked.records, 0.0), min(high, row, column)
    independent = row * column / asked.records
    both = [low, high, *([independent] if low < independent < high else [])]
    return np.array([[[asked.records - row - column + x, column - x], [row - x, x]] for x in both])


def _measure_bounds(measure: AssociationMeasure, extremes: Array) -> tuple[float, float]:
    """Return the least and the largest that a measure can be; the ends of its range where it is not defined."""
    with np.errstate(all="ignore"):
        values, _ = measure.of(extremes)
    if np.isnan(values).any():
        return measure.low, measure.high
    return float(max(values.min(), measure.low)), float(min(values.max(), measure.high))
