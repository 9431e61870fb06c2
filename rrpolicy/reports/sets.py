"""Released sets, uncorrected: frequency of each, and number of records whose set holds a value. Exact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rrpolicy.estimate.counts.scan import count_sets
from rrpolicy.estimate.weights.sets import SetWeights
from rrpolicy.report import ReleasedSet, SetPanel
from rrpolicy.reports.attributes import category_label

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release

MOST = 20
"""Maximum number of sets of a column that are shown: the most frequent."""
WIDEST = 40
"""Maximum number of values of a column whose sets are shown; more are unreadable side by side."""


def set_panels(release: Release) -> tuple[SetPanel, ...]:
    """Return the released sets of each column that is released as sets."""
    return tuple(_set_panel(release, axis) for axis in _set_axes(release) if len(axis.original) <= WIDEST)


def _set_axes(release: Release) -> Iterator[SetWeights]:
    seen = {id(axis): axis for axis in release.columns.axes.values()}
    return (axis for axis in seen.values() if isinstance(axis, SetWeights))


def _set_panel(release: Release, axis: SetWeights) -> SetPanel:
    found = count_sets(release.data, axis, MOST)
    return SetPanel(
        attribute=" × ".join(axis.columns),
        values=tuple(map(category_label, axis.original)),
        size=axis.set_size,
        held=tuple(n / release.records for n in found.held),
        sets=tuple(ReleasedSet(members, n / release.records) for members, n in found.sets),
        different=found.different,
    )
