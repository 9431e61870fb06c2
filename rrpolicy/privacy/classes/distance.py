"""How far the sensitive values of each class are from those of the whole release, as ratios of integers.

All three are earth mover's distances (Li, Li, Venkatasubramanian 2007, section 4):

    variational     every value is as far from every other: half the sum of absolute differences
    ordered         |i - j|/(m - 1) from the i-th to the j-th of m values: sum of |cumulated differences| / (m - 1)
    hierarchical    the level where two values meet over the height H of the tree. What must leave a group at level j
                    passes the edge above it, and an edge is half of 1/H long: the mean, over the levels j = 0 … H-1, of
                    the variational distance between the groups at level j.

Light: a policy that names a distance is checked without counting anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Literal, Self

if TYPE_CHECKING:
    from rrpolicy.counts import Ints
    from rrpolicy.privacy.classes.class_model import Protected
    from rrpolicy.privacy.classes.histograms import Histograms, Integers


def variational_distances(histograms: Histograms) -> tuple[Integers, Integers]:
    """Return (classes,) numerators and denominators of the variational distance."""
    import numpy as np

    return hierarchical_distances(histograms, [np.arange(histograms.values)])


def hierarchical_distances(histograms: Histograms, levels: Sequence[Ints]) -> tuple[Integers, Integers]:
    """Return (classes,) numerators and denominators of the hierarchical earth mover's distance.

    Args:
        histograms: of the classes.
        levels: for each level under the root, from the values themselves up, the group that each value lies in.
    """
    import numpy as np

    from rrpolicy.privacy.classes.histograms import Histograms, integer_type_for

    whole = histograms.whole
    records = max(int(whole.sum()), 1)
    height = len(levels)
    kind = integer_type_for(2 * height * records * int(histograms.sizes.max(initial=0)))
    size = histograms.sizes.astype(kind)
    above = np.zeros(histograms.classes, dtype=kind)
    for level in levels:
        groups = int(level.max(initial=0)) + 1
        grouped = Histograms.of_cells(
            histograms.group, level[histograms.value], histograms.n, classes=histograms.classes, values=groups
        )
        totals = np.zeros(groups, dtype=np.int64)
        np.add.at(totals, level, whole)
        total = totals.astype(kind)[grouped.value]
        apart = np.abs(grouped.n.astype(kind) * records - total * size[grouped.group])
        above = above + grouped.sums(apart) + size * (records - grouped.sums(total))
    return above * (size > 0), 2 * height * records * np.maximum(size, 1)


def ordered_distances(histograms: Histograms) -> tuple[Integers, Integers]:
    """Return (classes,) numerators and denominators of the ordered earth mover's distance; 0 for a single value.

    Between two values that occur in a class its cumulated count is constant and that of the release grows, so their
    difference changes sign once at most: prefix sums and one search a cell, whatever the number of values.
    """
    import numpy as np

    from rrpolicy.privacy.classes.histograms import integer_type_for

    records, values = max(int(histograms.whole.sum()), 1), histograms.values
    kind = integer_type_for(2 * max(values, 1) * records * int(histograms.sizes.max(initial=0)))
    size = histograms.sizes.astype(kind)
    achieved = np.cumsum(histograms.whole)
    prefix = np.concatenate(([0], np.cumsum(achieved))).astype(kind)
    n = histograms.n.astype(kind)
    running = np.cumsum(n)
    before = np.concatenate((np.zeros(1, dtype=kind), running))[histograms.start[:-1]]
    group = histograms.group
    count = running - before[group]
    first = histograms.value
    last = np.append(first[1:], values)
    last[histograms.start[1:][histograms.distinct > 0] - 1] = values
    cross = np.searchsorted(achieved, (count * records // size[group]).astype(np.int64), side="right")
    cross = np.clip(cross, first, last)
    below = count * records * (cross - first) - size[group] * (prefix[cross] - prefix[first])
    beyond = size[group] * (prefix[last] - prefix[cross]) - count * records * (last - cross)
    lead = np.zeros(histograms.classes, dtype=kind)
    occupied = np.flatnonzero(histograms.distinct)
    lead[occupied] = size[occupied] * prefix[first[histograms.start[occupied]]]
    return lead + histograms.sums(below + beyond), max(values - 1, 1) * records * np.maximum(size, 1)


def tree_levels(hierarchy: Sequence[Sequence[object]]) -> list[Ints]:
    """Return, for every level under the root, the group of each value, as numbers.

    Args:
        hierarchy: hierarchy[j][i] is what the i-th value becomes at level j; level 0 are the values. The root is the
            first level with a single group, or stands above the last.
    """
    import numpy as np

    levels: list[Ints] = []
    for level in hierarchy:
        number: dict[object, int] = {}
        groups = [number.setdefault(group, len(number)) for group in level]
        if len(number) == 1 and levels:
            break
        levels.append(np.array(groups, dtype=np.int64))
    return levels


class ValueDistance(StrEnum):
    """How far two sensitive values are from each other."""

    needs: Literal["", "order", "hierarchy"]
    """Of the values, to be measured by it; empty if any will do."""
    of: Callable[[Histograms, Any], tuple[Integers, Integers]]
    """Given the histograms of all released classes, with an order the values in theirs, and the hierarchy, which is
    there if it is needed: (classes,) numerators and denominators of each class's distance from the whole release."""

    def __new__(
        cls, name: str, needs: Literal["", "order", "hierarchy"], of: Callable[..., tuple[Integers, Integers]]
    ) -> Self:
        """Make a distance of a name."""
        distance = str.__new__(cls, name)
        distance._value_, distance.needs, distance.of = name, needs, of
        return distance

    VARIATIONAL = "variational", "", lambda histograms, _: variational_distances(histograms)
    ORDERED = "ordered", "order", lambda histograms, _: ordered_distances(histograms)
    HIERARCHICAL = (
        "hierarchical",
        "hierarchy",
        lambda histograms, levels: hierarchical_distances(histograms, tree_levels(levels)),
    )

    @property
    def placed(self) -> bool:
        """Whether every value needs a place in the domain that is declared."""
        return bool(self.needs)

    def lacks(self, column: Protected) -> tuple[str, str] | None:
        """Return what a column lacks, and what helps; None if nothing."""
        if self.needs == "order" and not column.ordered:
            return f"the values of '{column.name}' have no order", 'say `scale = "ordinal"` if they have'
        if self.needs == "hierarchy" and column.hierarchy is None:
            return f"'{column.name}' has no hierarchy", "name one under `hierarchy`"
        return None
