"""Released rows of deterministic channels, and the losses of their classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.channels.axes.categories import certainty_penalty
from rrpolicy.counts import number_rows
from rrpolicy.estimate.counts.scan import count
from rrpolicy.estimate.weights.recode import RecodeWeights
from rrpolicy.utility.draw_counts import released_axis_codes
from rrpolicy.utility.simulation import DrawSettings, EstimatedMarginal, simulate_releases

if TYPE_CHECKING:
    from rrpolicy.channels.base import Channel
    from rrpolicy.counts import Array, Ints
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.weights.base import AxisWeights, Mask
    from rrpolicy.source.protocol import Original


class ReleasedRows(Struct, frozen=True):
    """Released rows of some attributes, with (rows,) records each.

    `codes` are (rows, attributes) labels; the last column is the target, if there is one. `widths` has, for each
    attribute, the number of categories of each label, `categories` that of all.
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

    @property
    def records(self) -> int:
        """Return N."""
        return int(self.n.sum())

    def certainty_penalty(self) -> float:
        """Return the mean certainty penalty over records and attributes."""
        found = []
        for place, (widths, categories) in enumerate(zip(self.widths, self.categories, strict=True)):
            penalty = np.array([certainty_penalty(width, categories) for width in widths])
            found.append(float(penalty[self.known[:, place]] @ self.n) / self.records)
        return sum(found) / len(found)

    def discernibility(self) -> float:
        """Return the discernibility of the classes of unsuppressed records."""
        kept = ~self.suppressed
        member, classes = number_rows(self.known[kept].T, int(kept.sum()))
        sizes = np.bincount(member, self.n[kept], classes).astype(np.int64)
        return discernibility(sizes, int(self.n[~kept].sum()), self.records)

    def misclassified(self) -> float:
        """Return the share of suppressed records and of those whose target is not the commonest of their class."""
        kept = ~self.suppressed
        member, classes = number_rows(self.known[kept].T, int(kept.sum()))
        counts = np.zeros((classes, int(self.codes[:, -1].max()) + 1))
        np.add.at(counts, (member, self.codes[kept, -1]), self.n[kept])
        return 1 - float(counts.max(axis=1, initial=0).sum()) / self.records


def planned_rows(channel: Channel, original: Original, attributes: Sequence[str], target: str | None) -> ReleasedRows:
    """Return the rows that a deterministic channel will release, by class-defining attributes and a target."""
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


def discernibility(kept: Ints | Array, suppressed: float, records: int) -> float:
    """Return the sum of the squared sizes of classes, each suppressed record counting N.

    Bayardo, Agrawal 2005, "Data Privacy through Optimal k-Anonymization".
    """
    return float((kept.astype(np.float64) ** 2).sum() + suppressed * records)


def _released_rows(axes: Sequence[AxisWeights], codes: Ints, n: Ints, known: int) -> ReleasedRows:
    widths = [
        tuple(map(len, axis.groups)) if isinstance(axis, RecodeWeights) else (1,) * len(axis.released) for axis in axes
    ]
    return ReleasedRows(tuple(widths[:known]), tuple(len(axis.original) for axis in axes[:known]), codes, n)
