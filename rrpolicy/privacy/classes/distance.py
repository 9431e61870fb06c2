"""Distances of the sensitive values of each class from those of the whole release, as ratios of integers.

All three are earth mover's distances (Li, Li, Venkatasubramanian 2007, section 4):

    variational     all values are equally far apart: half the sum of absolute differences
    ordered         |i - j|/(m - 1) from the i-th to the j-th of m values: sum of |cumulated differences| / (m - 1)
    hierarchical    the level where two values meet over the height H of the tree. The mass that leaves a group at level
                    j passes the edge above it, and an edge has length 1/(2 H): the mean, over the levels j = 0 … H-1,
                    of the variational distance between the groups at level j.

The module loads without numpy: a policy with a distance is checked without counting anything.
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

    `levels` has (values,) the group of each value, for each level under the root, from the values themselves up.
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

    Between two values that occur in a class its cumulated count is constant and that of the release increases, so that
    their difference changes sign at most once: prefix sums and one search per cell suffice.
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
    """Return (values,) the group of each value as a number, for each level under the root.

    hierarchy[j][i] is the group of the i-th value at level j; level 0 are the values. The root is the first level with
    a single group, or is above the last.
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
    """The property that the values need; empty if none."""
    of: Callable[[Histograms, Any], tuple[Integers, Integers]]
    """(histograms, hierarchy) -> (classes,) numerators and denominators of the distance from the whole release.

    Histograms have ordered values in their order; the hierarchy is not None if it is needed."""

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
        """Whether every value needs a place in the declared domain."""
        return bool(self.needs)

    def lacks(self, column: Protected) -> tuple[str, str] | None:
        """Return the missing property of a column, and a hint; None if it has all."""
        if self.needs == "order" and not column.ordered:
            return f"the values of '{column.name}' have no order", 'set `scale = "ordinal"` if they have'
        if self.needs == "hierarchy" and column.hierarchy is None:
            return f"'{column.name}' has no hierarchy", "name one under `hierarchy`"
        return None
