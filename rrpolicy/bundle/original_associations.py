"""The strongest associations of the original table, with their estimates from the release: audit only."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from rrpolicy.errors import RRPolicyError
from rrpolicy.estimate.counts.scan import count
from rrpolicy.estimate.weights.anatomy import AnatomyWeights
from rrpolicy.estimate.weights.sets import SetWeights
from rrpolicy.numbers import figure
from rrpolicy.report import AssociationRow

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release
    from rrpolicy.source.protocol import Original

COLUMNS = 12
"""The most columns whose pairs are examined: the first of the policy that have categories."""
MOST = 3
CELLS = 10_000
"""The most cells of a pair's table for which it is examined."""
ESTIMATED = 256
"""The most cells of a pair's table for which it is estimated: the likeliest table is found at once."""
TOGETHER = 1 << 16
"""The most cells of several columns that are counted together."""
DIGITS = 2


def strongest_associations(original: Original, release: Release) -> tuple[AssociationRow, ...]:
    """Return the pairs of columns with the largest Cramér's V in the original, each with its estimate.

    Args:
        original: the table.
        release: of it, opened.
    """
    found = sorted(_original_associations(original), key=lambda pair: -pair[0])[:MOST]
    _prefetch_pair_counts(release, [name for v, cells, *pair in found if v > 0 and cells <= ESTIMATED for name in pair])
    return tuple(_association_row(release, v, cells, one, other) for v, cells, one, other in found if v > 0)


def _original_associations(original: Original) -> Iterator[tuple[float, int, str, str]]:
    """Yield V of pairs of attributes, with their cells and their released names."""
    from rrpolicy.privacy.epsilon.association import exact_cramers_v

    known = [a for a in original.policy.released if a.domain is not None][:COLUMNS]
    for one, other in combinations(known, 2):
        cells = len(one.domain or ()) * len(other.domain or ())
        if cells <= CELLS:
            v = exact_cramers_v(original, one.name, other.name).value
            yield v, cells, one.release_as or one.name, other.release_as or other.name


def _prefetch_pair_counts(release: Release, names: Sequence[str]) -> None:
    """Count the cells of some columns together, in one pass, from which the table of each pair follows."""
    known = release.columns.axes
    axes = list({id(axis): axis for axis in (known[name] for name in names if name in known)}.values())
    unfit = any(isinstance(axis, (AnatomyWeights, SetWeights)) for axis in axes)
    if axes and not unfit and math.prod(len(axis.released) for axis in axes) <= TOGETHER:
        count(release.data, axes)


def _association_row(release: Release, v: float, cells: int, one: str, other: str) -> AssociationRow:
    untold = AssociationRow((one, other), figure(v, DIGITS), None, None)
    if {one, other} & release.columns.spread.keys():  # labels go together otherwise than what they stand for
        return untold
    if cells > ESTIMATED:
        return untold
    try:
        found = release.association(one, other, "cramers_v")
    except RRPolicyError:
        return untold
    (estimate,), (error,) = found.estimate.tolist(), found.se().tolist()
    if not math.isfinite(estimate):
        return untold
    return replace(untold, estimate=_format_v(estimate), error=_format_v(error) if math.isfinite(error) else None)


def _format_v(v: float) -> str:
    return figure(round(v, 3), DIGITS)
