"""Other point estimates for a count: maximum likelihood by EM, and projection on the simplex."""

from __future__ import annotations

import math

import numpy as np

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.condition import Condition
from rrpolicy.estimate.counts.scan import DataFile, count
from rrpolicy.estimate.invert.simplex import along, maximum_likelihood, projected, transition
from rrpolicy.estimate.results.table import EM, PROJECTION, Crosstab
from rrpolicy.estimate.weights.base import AxisWeights, Mask
from rrpolicy.source.counts import Array, Ints

LIKELIHOOD_CELLS = 1_000_000
"""The largest table that EM runs on."""


def constrained(data: DataFile, table: Crosstab, condition: Condition, estimator: str) -> Crosstab:
    """Return the table with point estimates that have no negative cell.

    Raises:
        PolicyError: RR278 for an unknown estimator, or one that is not defined for a column; RR268 for more cells than
            EM can be run on.
    """
    match estimator:
        case "em":
            return _likeliest(data, table, condition)
        case "projection":
            total = min(max(float(table.moment.sum()), 0.0), float(table.records))
            return table.constrained(projected(table.moment, total), PROJECTION)
        case _:
            raise PolicyError(
                Problem("RR278", f"no such estimator: {estimator!r}", expected='"moment", "em" or "projection"')
            )


def _likeliest(data: DataFile, table: Crosstab, condition: Condition) -> Crosstab:
    """Run EM over the grouping axes and those of the condition, then sum what is asked for."""
    grouped = table.axes
    others: list[tuple[AxisWeights, Mask | None]] = [
        (axis, mask[:, None]) for axis, mask in condition.masks.values() if all(axis is not a for a, _ in grouped)
    ]
    parts = [*grouped, *others]
    cells = max(math.prod(len(a.released) for a, _ in parts), math.prod(len(a.original) for a, _ in parts))
    if cells > LIKELIHOOD_CELLS:
        raise PolicyError(
            Problem(
                "RR268",
                f"EM would run on {cells:,} cells, more than {LIKELIHOOD_CELLS:,}",
                hint='group by fewer columns, or use estimator="moment"',
            )
        )
    matrices = [transition(axis) for axis, _ in parts]
    codes, n = count(data, [axis for axis, _ in parts], condition.filter, condition.parameters)
    found = maximum_likelihood(dense(parts, codes, n), matrices)
    sums = [np.eye(len(a.original)) if mask is None else mask.T.astype(float) for a, mask in parts]
    counts = along(found.counts, sums).reshape(table.moment.shape)
    short = "" if found.converged else f"; stopped {found.gap:.2g} below the largest log-likelihood"
    return table.constrained(counts, EM + short)


def dense(parts: list[tuple[AxisWeights, Mask | None]], codes: list[Ints], n: Ints) -> Array:
    """Return released counts as an array, one dimension an axis."""
    shape = tuple(len(axis.released) for axis, _ in parts)
    flat = np.zeros(len(n), dtype=np.int64)
    for size, code in zip(shape, codes, strict=True):
        flat = flat * size + code
    return np.bincount(flat, weights=n, minlength=math.prod(shape)).astype(float).reshape(shape)
