"""One attribute as Mondrian sees it: how its categories are grouped, how a group is cut, and what it is called."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from rrpolicy.canonical_json import Value
from rrpolicy.channels.axes.recode import ANYTHING
from rrpolicy.optimize.recode.levels import Recoded
from rrpolicy.policy.model import intervals

if TYPE_CHECKING:
    from rrpolicy.policy.model import Attribute

CategoryGroup: TypeAlias = tuple[int, ...]
"""Categories of an attribute, in domain order."""
GroupParts: TypeAlias = tuple[CategoryGroup, ...]


@dataclass
class MondrianAttribute:
    """One attribute: which groups its categories are put into, and how a group can be cut.

    Attributes:
        recoded: the attribute with its levels.
        labels: group -> its number among the labels, in the order in which they were needed.
    """

    recoded: Recoded
    labels: dict[CategoryGroup, int] = field(default_factory=dict)

    @property
    def attribute(self) -> Attribute:
        """Return the attribute."""
        return self.recoded.attribute

    @property
    def size(self) -> int:
        """Return the number of categories."""
        return len(self.recoded.levels[0])

    @property
    def everything(self) -> CategoryGroup:
        """Return all categories."""
        return tuple(range(self.size))

    def number(self, group: CategoryGroup) -> int:
        """Return a group's number; a group that was not needed before gets the next one."""
        return self.labels.setdefault(group, len(self.labels))

    @property
    def ordered(self) -> CategoryGroup:
        """Return the categories that have an order: none of a nominal attribute, and not what stands for no value."""
        attribute = self.attribute
        if attribute.scale == "nominal" and attribute.bins is None:
            return ()
        apart = {v for v in (attribute.nulls, attribute.outside) if v is not None}
        declared = len(attribute.bins.labels) if attribute.bins is not None else self.size
        return tuple(c for c in range(declared) if self.recoded.levels[0][c] not in apart)

    def cuts(self, group: CategoryGroup) -> Iterator[GroupParts]:
        """Yield the ways to cut a group."""
        if len(group) == 1:
            return
        order = self.ordered
        if order and set(group) <= set(order):
            for place in range(1, len(group)):
                yield group[:place], group[place:]
        elif order:
            alone = tuple((c,) for c in group if c not in order)
            yield (order, *alone) if set(order) <= set(group) else alone
        else:
            yield self.below(group)

    def around(self, group: CategoryGroup, occupied: set[int]) -> GroupParts:
        """Return a cut of a group that leaves all occupied categories in one part, as narrow as it goes; or no cut.

        A range keeps what lies between its outermost occupied categories, a group of a hierarchy the part that holds
        them all, if one does.
        """
        if set(group) <= set(self.ordered):
            first, last = (group.index(c) for c in (min(occupied), max(occupied)))
            return tuple(part for part in (group[:first], group[first : last + 1], group[last + 1 :]) if part)
        for parts in self.cuts(group):
            if sum(1 for part in parts if occupied & set(part)) == 1:
                return parts
        return (group,)

    def arranged(self, used: Collection[int]) -> list[int]:
        """Return the groups by number: first those that are used, in the order of the domain, then the others."""
        groups = list(self.labels)
        return sorted(range(len(groups)), key=lambda i: (i not in used, groups[i][0], len(groups[i]), i))

    def names(self, groups: Iterable[CategoryGroup]) -> tuple[Value, ...]:
        """Return the labels of groups, in their order; one that is taken, if by a category, gets its place in full."""
        taken: dict[str, CategoryGroup] = {str(category): (c,) for c, category in enumerate(self.recoded.levels[0])}
        labels: list[Value] = []
        for group in groups:
            label = self.label(group)
            if taken.setdefault(str(label), group) != group:
                label = " or ".join(str(self.recoded.levels[0][c]) for c in group)
            while taken.setdefault(str(label), group) != group:
                label = f"({label})"
            labels.append(label)
        return tuple(labels)

    def below(self, group: CategoryGroup) -> GroupParts:
        """Return the parts of a group at the highest level of the hierarchy that parts it."""
        for level in reversed(self.recoded.levels):
            parts: dict[Value, list[int]] = {}
            for code in group:
                parts.setdefault(level[code], []).append(code)
            if len(parts) > 1:
                return tuple(tuple(codes) for codes in parts.values())
        return tuple((code,) for code in group)

    def label(self, group: CategoryGroup) -> Value:
        """Return what a group is released as: a category, a group of the hierarchy, a range, or `*`."""
        domain = self.recoded.levels[0]
        if len(group) == 1:
            return domain[group[0]]
        for level in self.recoded.levels[1:]:
            if tuple(c for c in range(self.size) if level[c] == level[group[0]]) == group:
                return level[group[0]]
        if len(group) == self.size:
            return ANYTHING
        bins = self.attribute.bins
        if bins is not None and domain[: len(bins.labels)] == intervals(bins.edges):
            last = str(domain[group[-1]])
            return f"{str(domain[group[0]]).partition(',')[0]},{last.partition(',')[2]}"
        return f"{domain[group[0]]} to {domain[group[-1]]}"
