"""The expected precision of an estimated share, from a channel and the number of records alone.

The variance of a record's weight w, given its original category v, is E[w^2 | v] - [v satisfies the predicate]. Of N
records of which a share s satisfies it, the estimated share has the variance

    (s Var(w | a satisfying one) + (1 - s) Var(w | another)) / N,

exactly so where Var(w | v) is the same for all v of a side; else it is at most that with the largest of each side.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.estimate.results.intervals import quantile
from rrpolicy.estimate.weights.base import AxisWeights, IdentityWeights, MatrixWeights, RetentionWeights
from rrpolicy.estimate.weights.sets import SetWeights

if TYPE_CHECKING:
    from collections.abc import Collection

    from rrpolicy.counts import Array
    from rrpolicy.estimate.weights.base import Mask

_LARGEST = 4_000_000
"""Entries of a matrix up to which its weights are solved for."""
_ALIKE = 1e-9
"""Share of a variance by which another may differ through rounding alone."""


class Precision(Struct, frozen=True):
    """The largest variances of a record's weight in the count of a group of categories.

    Attributes:
        inside: for a record whose original category is in the group.
        outside: for any other record.
        exact: whether they are the same for every group, whatever the categories on either side.
    """

    inside: float
    outside: float
    exact: bool

    def half_width(self, share: float, records: int, level: float = LEVEL) -> float:
        """Return half the width of a normal interval of a share of a table's records; an upper bound if not exact."""
        return quantile(level) * math.sqrt((share * self.inside + (1 - share) * self.outside) / records)


def precision(axis: AxisWeights, targets: Mask | None = None) -> Precision | None:
    """Return the precision of counts by an axis; None where it is too wide for that, or of a form without one.

    `targets`: (V, k) the groups of original categories that are counted; None for each category by itself.

    Raises:
        PolicyError: RR267 if the released values do not distinguish the groups.
    """
    match axis:
        case IdentityWeights():
            return Precision(0.0, 0.0, exact=True)
        case RetentionWeights():
            return _retention_precision(axis, targets)
        case MatrixWeights(rows=rows) if len(rows) * len(axis.original) <= _LARGEST:
            return _matrix_precision(axis, np.array([[float(v) for v in row] for row in rows]), targets)
        case SetWeights() if axis.counted * len(axis.original) <= _LARGEST:
            held = np.full((len(axis.original),) * 2, float(axis.inclusion))
            np.fill_diagonal(held, 1.0)
            return _matrix_precision(axis, np.vstack([np.ones(len(held)), held]), targets)
        case _:
            return None


def _retention_precision(axis: RetentionWeights, targets: Mask | None) -> Precision:
    """Return the precision of retention in blocks; a group contains t of the d categories of a block."""
    inside, outside = [], []
    for block in axis.blocks:
        d, p, q = block.size, float(block.keep), float(block.move)
        if d < len(axis.original):
            outside.append(0.0)  # of records in other blocks, which are never taken for one of this
        held = [1] if targets is None else np.unique(targets[list(block.members)].sum(axis=0)).tolist()
        for t in filter(None, held):
            kept, moved = axis.kept_and_moved(block) if t < d else (1.0, 0.0)
            speaks, silent = (kept + moved * (t - 1)) ** 2, (moved * t) ** 2
            inside.append((p + (t - 1) * q) * speaks + (d - t) * q * silent - 1)
            outside += [t * q * speaks + (1 - t * q) * silent] * (t < d)
    return _largest_variances(inside, outside)


def _matrix_precision(axis: AxisWeights, given: Array, targets: Mask | None) -> Precision:
    """Return the precision, from (counted, V) expected counts of a record given its original category."""
    own = np.eye(len(axis.original), dtype=bool) if targets is None else targets.T
    variances = axis.contract(given, 0, targets, 2) - own
    return _largest_variances(variances[own], variances[~own])


def _largest_variances(inside: Collection[float], outside: Collection[float]) -> Precision:
    sides = [(max(side), min(side)) if len(side) else (0.0, 0.0) for side in (inside, outside)]
    exact = all(most - least <= _ALIKE * max(most, 1.0) for most, least in sides)
    return Precision(max(float(sides[0][0]), 0.0), max(float(sides[1][0]), 0.0), exact)
