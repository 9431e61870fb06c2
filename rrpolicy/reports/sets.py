"""Released sets as they are: how often each occurs, and how many records have a set that holds a value. Exact."""

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
"""Sets of a column that are shown: the most frequent."""
WIDEST = 40
"""Values up to which the sets of a column are shown; more cannot be read side by side."""


def set_panels(release: Release) -> tuple[SetPanel, ...]:
    """Return which sets were released of each column that is released as sets."""
    return tuple(_set_panel(release, axis) for axis in _set_axes(release) if len(axis.original) <= WIDEST)


def _set_axes(release: Release) -> Iterator[SetWeights]:
    """Yield the axes of sets, each once."""
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
