"""Method of counting records by each released column: directly, by estimates, or not at all."""

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


class CountingMethod(StrEnum):
    """Method of counting records by a column; the value is its sentence."""

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
        """Whether counting rows is correct."""
        return self in {CountingMethod.EXACT, CountingMethod.NUMBERS, CountingMethod.LABELS}

    @property
    def estimated(self) -> bool:
        """Whether counts are estimated."""
        return self in {CountingMethod.ESTIMATES, CountingMethod.SETS, CountingMethod.GROUPS}


def counting_methods(release: Release) -> Mapping[str, CountingMethod]:
    """Return the counting method of each released column, in the order of the files."""
    return {name: _column_counting_method(release, name) for name in release.columns.columns}


def _column_counting_method(release: Release, name: str) -> CountingMethod:
    known = release.columns
    if name in known.refused:
        withheld = any(name in decoder.columns for decoder in release.manifest.withheld)
        return CountingMethod.WITHHELD if withheld else CountingMethod.NOTHING
    if name in known.spread:
        return CountingMethod.LABELS
    return _axis_counting_method(known.axes[name], name) if name in known.axes else CountingMethod.NUMBERS


def _axis_counting_method(axis: AxisWeights, name: str) -> CountingMethod:
    if isinstance(axis, AnatomyWeights):
        return CountingMethod.GROUPS
    if not axis.randomised:
        return CountingMethod.EXACT
    try:
        column_precision(axis, name)
    except PolicyError:
        return CountingMethod.NOTHING
    return CountingMethod.SETS if isinstance(axis, SetWeights) else CountingMethod.ESTIMATES


def column_precision(axis: AxisWeights, name: str) -> Precision | None:
    """Return the precision of counts by one column of an axis, which may couple it with others.

    Raises:
        PolicyError: RR267 if the released values do not distinguish its categories.
    """
    return precision(axis, _category_combinations(axis, name) if len(axis.columns) > 1 else None)


def _category_combinations(axis: AxisWeights, name: str) -> Mask:
    """Return (V, k): the combinations that have each category of a column."""
    import numpy as np

    place = axis.columns.index(name)
    own = [cell[place] for cell in axis.original]
    return np.array([[value == category for category in dict.fromkeys(own)] for value in own], dtype=bool)
