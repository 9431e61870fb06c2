"""Columns whose categories are numbers: how large each is, and which are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical import Value, same_category
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.columns import kind_of

if TYPE_CHECKING:
    from rrpolicy.estimate.weights.base import AxisWeights, Mask
    from rrpolicy.source.counts import Array


def numbers_on(axis: AxisWeights, name: str, absent: Sequence[Value]) -> tuple[Array, Mask]:
    """Return (V,) the numbers of an axis' original cells, 0 where there is none, and which have one.

    Args:
        axis: of the column.
        name: of the column.
        absent: its categories of who has no number.

    Raises:
        PolicyError: RR274 if other categories are no numbers either.
    """
    labels = axis.told_of(name)
    known = np.array([not any(same_category(v, a) for a in absent) for v in labels])
    if any(kind_of(v) != "number" for v, there in zip(labels, known, strict=True) if there) or not known.any():
        raise PolicyError(Problem("RR274", f"the categories of {name!r} are no numbers", hint="count them by crosstab"))
    return np.array([float(v) if there else 0.0 for v, there in zip(labels, known, strict=True)]), known
