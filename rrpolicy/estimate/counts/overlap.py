"""Labels that overlap carry no information on the association of columns.

Where a category has several labels, such as `[0, 40)` and `[30, 40)`, or `30` and `*`, which of them a record has was
chosen by its other columns: by the box that it lies in, or because its class was suppressed. So labels of columns that
are independent depend on one another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.errors import PolicyError, Problem

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.estimate.counts.columns import Columns
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.weights.base import AxisWeights, Mask

SUPPRESSED = "{n} suppressed, and counted in no row of a category of {of}"
HIDDEN = "{n} released with a label for all categories, and not counted in any category of {of}"
OVERLAPPING = (
    "labels of {of} overlap: rows are of the records that were released with their labels, and do not add up to "
    "categories; by category, with certain bounds: `rrpolicy estimate --spread`, release.crosstab(..., spread=True)"
)


@dataclass(frozen=True)
class LabelOverlap:
    """Overlap between the labels of a generalised column and the groups of a table of counts.

    Attributes:
        column: exact name.
        held: (labels, categories) whether the label covers the category.
        inside: (labels, groups) whether a record with the label is certain to belong to the group.
        meets: (labels, groups) whether a record with the label may belong to the group.
        suppressed: (labels,) whether the label covers every category.
        own: (groups,) whether no other released label overlaps the group, apart from suppressed records.
        everything: (groups,) whether the group includes the label of suppressed records.
    """

    column: str
    held: Mask = field(repr=False)
    inside: Mask = field(repr=False)
    meets: Mask = field(repr=False)
    suppressed: Mask = field(repr=False)
    own: Mask = field(repr=False)
    everything: Mask = field(repr=False)

    @classmethod
    def of(cls, columns: Columns, axis: AxisWeights, targets: Mask | None, records: Array) -> LabelOverlap | None:
        """Return the overlap of an axis's labels; None if the axis is not generalised, or its labels do not overlap.

        `targets`: (labels, groups) the labels in its groups; None for every label by itself. `records`: (labels,)
        released with each label.
        """
        groups = columns.spread.get(axis.columns[0])
        if groups is None or axis is groups or columns.axes[axis.columns[0]] is not axis:
            return None
        held = np.zeros((len(groups.released), len(groups.original)), dtype=bool)
        for label, categories in enumerate(groups.groups):
            held[label, list(categories)] = True
        had = records > 0
        if (held[had].sum(axis=0) <= 1).all():
            return None
        chosen = np.eye(len(held), dtype=bool) if targets is None else targets
        suppressed = np.asarray(held.all(axis=1))
        of = (chosen.T.astype(float) @ held.astype(float)) > 0
        shared = held.astype(float) @ of.T.astype(float)
        others = (shared > 0) & (had & ~suppressed)[:, None] & ~chosen
        everything = np.asarray(chosen[suppressed].any(axis=0))
        inside, meets = shared == held.sum(axis=1, keepdims=True), shared > 0
        inside[:, everything] = meets[:, everything] = chosen[:, everything]
        return cls(axis.columns[0], held, inside, meets, suppressed, np.asarray(~others.any(axis=0)), everything)

    def categories(self, labels: Mask) -> Mask:
        """Return (categories, groups) the categories that the labels of groups cover; `labels` is (labels, groups)."""
        return np.asarray(self.held.T.astype(float) @ labels.astype(float) > 0)


def notes_on_overlaps(release: Release, overlaps: Sequence[LabelOverlap], suppressed: int) -> Iterator[str]:
    """Yield notes on counts by labels that overlap.

    `suppressed`: number of records whose label of one of these columns covers every category.
    """
    apart = [overlap.column for overlap in overlaps if not overlap.own[~overlap.everything].all()]
    if suppressed:
        n = "1 more record is" if suppressed == 1 else f"{suppressed:,} more records are"
        of = " and ".join(repr(overlap.column) for overlap in overlaps)
        yield (HIDDEN if _uses_boxes(release) else SUPPRESSED).format(n=n, of=of)
    if apart:
        yield OVERLAPPING.format(of=" and ".join(map(repr, apart)))


def _uses_boxes(release: Release) -> bool:
    """Return whether columns were generalised into boxes, where a label of every category suppresses no record."""
    axes = release.manifest.channel.get("axes")
    rules = [axis.get("rule") for axis in axes if isinstance(axis, dict)] if isinstance(axes, list) else []
    return any(isinstance(rule, dict) and rule.get("rule") == "boxes" for rule in rules)


def refuse_overlap(release: Release, columns: Iterable[str], where: str | None, what: str) -> None:
    """Refuse a question on columns whose labels overlap, among those that records have.

    Raises:
        PolicyError: RR288.
    """
    for name in map(release.columns.name, columns):
        groups = release.columns.spread.get(name)
        if groups is None or not groups.overlap(label for (label,) in groups.released):
            continue
        table = release.crosstab([name], where, "table")
        occurring = [row.group[name] for row in table.rows if row.estimate]
        if groups.overlap(occurring):
            message = (
                f"{what} of {name!r} cannot be estimated: its labels overlap. A record's label was chosen by its "
                f"other columns, so labels of independent columns depend on one another"
            )
            hint = (
                "leave the column out; an association with `spread=True` describes it; counts, shares and means have "
                "bounds that are certain"
            )
            raise PolicyError(Problem("RR288", message, hint=hint))
