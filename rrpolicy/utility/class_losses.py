"""Released rows of deterministic channels, and the losses of their classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channels.axes.categories import certainty_penalty
from rrpolicy.counts import number_rows
from rrpolicy.estimate.counts.scan import count
from rrpolicy.estimate.weights.recode import RecodeWeights
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.utility.draw_counts import released_axis_codes
from rrpolicy.utility.simulation import DrawSettings, EstimatedMarginal, simulate_releases

if TYPE_CHECKING:
    from rrpolicy.channels.base import Channel
    from rrpolicy.counts import Array, Ints
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.weights.base import AxisWeights, Mask
    from rrpolicy.source.protocol import Original


@frozen(slots=False)
class ReleasedRows:
    """Released rows of some attributes.

    Attributes:
        widths: for each attribute, for each of its labels, the number of its categories.
        categories: of each attribute.
        codes: (rows, attributes) labels; the last column is the target, if there is one.
        n: (rows,) records.
    """

    widths: tuple[tuple[int, ...], ...]
    categories: tuple[int, ...]
    codes: Ints
    n: Ints

    @property
    def known(self) -> Ints:
        """Return the class-defining labels."""
        return self.codes[:, : len(self.widths)]

    @property
    def suppressed(self) -> Mask:
        """Return (rows,) whether a row has no information in any class-defining attribute."""
        each = [
            np.array(widths)[self.known[:, place]] == categories
            for place, (widths, categories) in enumerate(zip(self.widths, self.categories, strict=True))
            if categories > 1
        ]
        return np.asarray(np.all(each, axis=0) if each else np.zeros(len(self.n), dtype=bool))


def planned_rows(channel: Channel, original: Original, attributes: Sequence[str], target: str | None) -> ReleasedRows:
    """Return the rows that a deterministic channel will release.

    Args:
        channel: as planned.
        original: the table.
        attributes: the class-defining ones.
        target: the attribute predicted from them, if any.
    """
    names = [*attributes, *([] if target is None else [target])]
    parts = [EstimatedMarginal.of(channel, original, (name,), names) for name in names]
    (drawn,) = simulate_releases(parts, original, DrawSettings(1, 0))
    axes = [axis for part in parts for axis, _ in part.axes]
    return _released_rows(axes, *released_axis_codes(drawn, parts[0].channel.tables(), axes), len(attributes))


def written_rows(release: Release, original: Original, attributes: Sequence[str], target: str | None) -> ReleasedRows:
    """Return the rows of a written release; arguments as for `planned_rows`."""
    names = [*attributes, *([] if target is None else [target])]
    known = [original.policy.attributes[name] for name in names]
    inside = release.disaggregate()
    axes = [inside.columns.axis(a.release_as or a.name) for a in known]
    codes, n = count(release.data, axes, "", ())
    return _released_rows(axes, np.column_stack(codes), n, len(attributes))


def mean_certainty_penalty(rows: ReleasedRows) -> float:
    """Return the mean certainty penalty over records and attributes."""
    found = []
    for place, (widths, categories) in enumerate(zip(rows.widths, rows.categories, strict=True)):
        penalty = np.array([certainty_penalty(width, categories) for width in widths])
        found.append(float(penalty[rows.known[:, place]] @ rows.n) / int(rows.n.sum()))
    return sum(found) / len(found)


def class_sizes_and_suppressed(rows: ReleasedRows) -> tuple[Ints, int]:
    """Return the sizes of the classes of unsuppressed records, and the number of suppressed records."""
    kept = ~rows.suppressed
    member, classes = number_rows(rows.known[kept].T, int(kept.sum()))
    return np.bincount(member, rows.n[kept], classes).astype(np.int64), int(rows.n[~kept].sum())


def discernibility(kept: Ints | Array, suppressed: float, records: int) -> float:
    """Return the sum of the squared sizes of classes, each suppressed record counting N.

    Args:
        kept: sizes of classes.
        suppressed: number of suppressed records.
        records: N.

    References:
        Bayardo, Agrawal 2005, "Data Privacy through Optimal k-Anonymization".
    """
    return float((kept.astype(np.float64) ** 2).sum() + suppressed * records)


def misclassified_share(rows: ReleasedRows) -> float:
    """Return the share of records that are suppressed, or have another target than the commonest of their class."""
    kept = ~rows.suppressed
    member, classes = number_rows(rows.known[kept].T, int(kept.sum()))
    target = rows.codes[kept, -1]
    counts = np.zeros((classes, int(rows.codes[:, -1].max()) + 1))
    np.add.at(counts, (member, target), rows.n[kept])
    return 1 - float(counts.max(axis=1, initial=0).sum()) / int(rows.n.sum())


def _released_rows(axes: Sequence[AxisWeights], codes: Ints, n: Ints, known: int) -> ReleasedRows:
    widths = [
        tuple(map(len, axis.groups)) if isinstance(axis, RecodeWeights) else (1,) * len(axis.released) for axis in axes
    ]
    return ReleasedRows(tuple(widths[:known]), tuple(len(axis.original) for axis in axes[:known]), codes, n)
