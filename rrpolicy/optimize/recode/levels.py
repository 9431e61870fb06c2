"""The attributes and levels of a generalisation, and their axes. No data."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, TypeAlias

from msgspec import Struct

from rrpolicy.canonical_json import Value
from rrpolicy.channels.axes.categories import Domain, category_column
from rrpolicy.channels.axes.recode import ANYTHING, Recode
from rrpolicy.channels.table import Column
from rrpolicy.declarations import Role
from rrpolicy.errors import Place
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Attribute, Policy

LossName: TypeAlias = Literal["ncp", "discernibility", "average-class-size", "kl"]


class Recoded(Struct, frozen=True):
    """A class-defining attribute.

    Attributes:
        attribute: the attribute with its domain.
        levels: the group of each category at each level; the last one is a single group.
        chosen: the numbers of the levels that may be chosen, increasing.
    """

    attribute: Attribute
    levels: tuple[tuple[Value, ...], ...]
    chosen: tuple[int, ...]

    @property
    def domain(self) -> Domain:
        """Return the attribute with its categories."""
        return Domain(self.attribute.name, self.levels[0])


class Goal(Struct, frozen=True):
    """The criterion for the best node of a lattice.

    Attributes:
        loss: minimised over satisfying nodes.
        weights: for each attribute, its weight in `ncp`; not all 0.
        suppression: the share of records that may be suppressed, below 1.
        place: the place of the policy's entry, for errors.
    """

    loss: LossName
    weights: tuple[Fraction, ...]
    suppression: Fraction = Fraction(0)
    place: Place | None = None


def class_attributes(policy: Policy) -> tuple[Attribute, ...]:
    """Return the class-defining attributes: quasi-identifiers and unmodified columns that may identify a person."""
    return policy.linking


def recoded(attribute: Attribute, pinned: int | None = None) -> Recoded:
    """Return an attribute with its levels: its hierarchy's, and `*` above them if they do not end in one group.

    Args:
        attribute: the attribute with its domain; an insensitive one is released unmodified.
        pinned: the level that the policy requires.
    """
    domain = attribute.domain or ()
    levels = attribute.hierarchy or (domain,)
    if len(set(levels[-1])) > 1 or not domain:
        levels = (*levels, (ANYTHING,) * len(domain))
    fixed = 0 if attribute.role is not Role.QUASI_IDENTIFIER else pinned
    return Recoded(attribute, levels, tuple(range(len(levels))) if fixed is None else (fixed,))


def axes_at(
    attributes: Sequence[Recoded], node: Sequence[int], suppressed: Sequence[Sequence[int]] | None = None
) -> tuple[Recode, ...]:
    """Return the axes of a node: one per quasi-identifier, or one for all if suppression is permitted.

    Args:
        attributes: the class-defining ones.
        node: for each attribute, the position of its level among those that may be chosen.
        suppressed: classes that are released as `*`, as positions of groups; None without suppression.
    """
    levels = [a.levels[a.chosen[place]] for a, place in zip(attributes, node, strict=True)]
    if suppressed is not None:
        return (Recode.by_levels([a.domain for a in attributes], levels, columns_of(attributes), suppressed),)
    return tuple(
        Recode.by_levels([a.domain], [level])
        for a, level in zip(attributes, levels, strict=True)
        if a.attribute.role is Role.QUASI_IDENTIFIER
    )


def columns_of(attributes: Sequence[Recoded]) -> tuple[Column, ...]:
    """Return the released columns of attributes that are recoded together, without labels."""
    return tuple(
        replace(
            category_column(a.name, (), a.release_as, assume_unlinkable=a.assume_unlinkable),
            kind="category" if a.bins is None else "interval",
        )
        for a in (r.attribute for r in attributes)
    )
