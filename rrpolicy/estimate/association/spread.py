"""Measures of association of counts that are spread evenly inside released groups: a description, without an error.

The table is the even spread of generalised labels over their categories, or of dealt values over the records of their
group (Xiao, Tao 2006, section 5), which is the mean over all ways in which values can go with records. Measures are
taken there. Spreading draws them towards independence; no sampling law says how far.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical import Value
from rrpolicy.estimate.association.association import Association, dichotomised, value_of, wanted
from rrpolicy.estimate.association.grid import uncertain_grid
from rrpolicy.estimate.association.measures import Measure
from rrpolicy.estimate.results.flags import NOT_ESTIMABLE, SPREAD
from rrpolicy.estimate.results.target import Target
from rrpolicy.source.counts import Array

if TYPE_CHECKING:
    from rrpolicy.estimate.results.table import Crosstab


def spread_association(
    asked: Crosstab,
    measures: Sequence[Measure] | None,
    present: tuple[Sequence[Value], Sequence[Value]] | None,
) -> Association:
    """Return measures of a table of spread counts.

    Args:
        asked: by the row and the column.
        measures: as `association`.
        present: as `association`.

    Raises:
        PolicyError: RR273 if a measure is not defined for this table.
    """
    table, chosen = dichotomised(uncertain_grid(asked), present)
    named = wanted(measures, table)
    estimate = np.array([value_of(measure, table.estimate) for measure in named])
    unknown = np.full(len(named), np.nan)

    def ends(level: float, target: Target) -> Array:
        del level, target
        return np.full((len(named), 2), np.nan)

    return Association(
        target=asked.target,
        level=asked.level,
        records=asked.records,
        where=asked.where,
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
        max_records=asked.max_records,
    )
