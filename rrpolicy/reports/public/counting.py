"""How records are counted by each released column: as they stand, by estimates, or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from rrpolicy.errors import PolicyError
from rrpolicy.estimate.sums.precision import Precision, precision
from rrpolicy.estimate.weights.anatomy import AnatomyWeights
from rrpolicy.estimate.weights.sets import SetWeights

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.weights.base import AxisWeights, Mask


class Counting(StrEnum):
    """How records are counted by a column; the value says so in a sentence."""

    EXACT = "Count rows: exact."
    NUMBERS = "Use the values as they are: exact."
    LABELS = "Count rows by label: exact. Categories inside a label: estimates, with bounds that are certain."
    ESTIMATES = "Use estimates: a row counts with its weight."
    SETS = "Use estimates: a row counts, with its weight, for each value that its set holds."
    GROUPS = (
        "By itself exact: add up the counts of its table. With other columns: estimates, with bounds that are certain."
    )
    WITHHELD = "Do not count: values are randomised, and what would undo it is withheld."
    NOTHING = "Do not count: the released values say nothing of the original ones."

    @property
    def rows(self) -> bool:
        """Whether counting rows is right."""
        return self in {Counting.EXACT, Counting.NUMBERS, Counting.LABELS}

    @property
    def estimated(self) -> bool:
        """Whether counts are estimated."""
        return self in {Counting.ESTIMATES, Counting.SETS, Counting.GROUPS}


def countings(release: Release) -> Mapping[str, Counting]:
    """Return how records are counted by each released column, in the order of the files."""
    return {name: _of(release, name) for name in release.columns.columns}


def _of(release: Release, name: str) -> Counting:
    known = release.columns
    if name in known.refused:
        withheld = any(name in decoder.columns for decoder in release.manifest.withheld)
        return Counting.WITHHELD if withheld else Counting.NOTHING
    if name in known.spread:
        return Counting.LABELS
    return _by(known.axes[name], name) if name in known.axes else Counting.NUMBERS


def _by(axis: AxisWeights, name: str) -> Counting:
    if isinstance(axis, AnatomyWeights):
        return Counting.GROUPS
    if not axis.randomised:
        return Counting.EXACT
    try:
        precision_of(axis, name)
    except PolicyError:
        return Counting.NOTHING
    return Counting.SETS if isinstance(axis, SetWeights) else Counting.ESTIMATES


def precision_of(axis: AxisWeights, name: str) -> Precision | None:
    """Return the precision of counts by one column of an axis, which may couple it with others.

    Raises:
        PolicyError: RR267 if the released values do not tell its categories apart.
    """
    return precision(axis, _categories(axis, name) if len(axis.columns) > 1 else None)


def _categories(axis: AxisWeights, name: str) -> Mask:
    """Return (V, k): which combinations have each category of a column."""
    import numpy as np

    place = axis.columns.index(name)
    own = [cell[place] for cell in axis.original]
    return np.array([[value == category for category in dict.fromkeys(own)] for value in own], dtype=bool)
