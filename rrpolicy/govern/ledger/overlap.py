"""Which releases may speak of the same people, and what is known of them together.

How people of several tables overlap is declared, and nothing else is known of it. A person is in some of the releases
and not in others; people who share such a pattern of presence hide among each other alone. With `any` one person may be
the only one of a pattern, so that k = 1; with `nested` the numbers of records tell how many share each pattern.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from rrpolicy.canonical import canonical, digest
from rrpolicy.channel.reading import channel_from_json
from rrpolicy.govern.ledger.compose import Composed, Part, apart, linked
from rrpolicy.govern.ledger.entry import Release
from rrpolicy.policy.model import Overlap
from rrpolicy.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rrpolicy.canonical import Value
    from rrpolicy.channel.base import Channel
    from rrpolicy.channel.product.channel import Product
    from rrpolicy.source.protocol import Original

SAME = "the same table: rows of all releases are linked, and are one channel"
NESTED = (
    "of any two tables one holds all people of the other: values may have changed, so that ratios multiply and "
    "epsilons add; the smallest group of people who are in the same releases: {least:,}"
)
UNLIKE = (
    "the policy declares the same table, but the numbers of records differ, or earlier releases were of other people: "
)
ANY = "people may be in some releases and not in others, alone: ratios multiply, epsilons add, and k = 1"


MOST_CELLS = 1 << 25
"""Released cells of linked rows over which a table is assessed: about a minute; with more, no table is looked at."""


@dataclass(frozen=True, slots=True)
class Group:
    """People who are in the same releases.

    Attributes:
        channel: of these releases together.
        people: how many, or the table where they are all its people.
    """

    channel: Channel
    people: Original | int


@dataclass(frozen=True, slots=True)
class Joint:
    """Releases of the same people together.

    Attributes:
        rule: by which they are composed, in words.
        groups: of people; what holds is the least that holds of any.
        composed: the channel of linked rows, where all is the same table.
    """

    rule: str
    groups: tuple[Group, ...]
    composed: Composed | None = None


def overlapping(earlier: Mapping[str, Release], overlap: Overlap, population: str | None) -> Mapping[str, Release]:
    """Return the releases that may speak of the same people, by their hash.

    Releases of two populations that are both named speak of different people; where one is not named, of anybody.
    """
    if overlap == "none":
        return {}
    return {
        own: entry
        for own, entry in earlier.items()
        if population is None or entry.population is None or entry.population == population
    }


def part_of(entry: Release, registry: Registry) -> Part:
    """Return an entry as composition takes it.

    Raises:
        RRPolicyError: if no loaded plugin reads its channel.
    """
    return Part(entry.name, channel_from_json(dict(entry.channel), registry.kinds), entry.records, entry.domains)


def domains_of(attributes: Iterable[tuple[str, Sequence[Value] | None]]) -> dict[str, str | None]:
    """Return attribute -> digest of its categories in their order; None for a column without a list of them."""
    return {name: None if domain is None else digest(canonical(list(domain))) for name, domain in attributes}


def joined(parts: Sequence[Part], overlap: Overlap, earlier: Sequence[Release], original: Original | int) -> Joint:
    """Return releases together, for each group of people who are in the same of them.

    Args:
        parts: of which no one is without a rule; the last is the new one.
        overlap: that the new one declares.
        earlier: the entries of the others.
        original: the table of the new one, or its number of records.
    """
    sizes = [part.records for part in parts]
    between = [entry.overlap for entry in earlier[1:]]  # how earlier ones stand to each other
    if overlap == "same" and len(set(sizes)) == 1 and "none" not in between:
        composed = linked(parts)
        told = not composed.strange and _cells(composed.channel) <= MOST_CELLS
        return Joint(SAME, (Group(composed.channel, original if told else sizes[-1]),), composed)
    if overlap == "nested" and set(between) <= {"nested", "same"}:
        steps = sorted({0, *sizes})
        rings = [(size, size - before) for before, size in pairwise(steps)]
        groups = [Group(apart([p for p in parts if p.records >= size]), people) for size, people in rings]
        return Joint(NESTED.format(least=min(people for _, people in rings)), tuple(groups))
    return Joint((UNLIKE if overlap == "same" else "") + ANY, (Group(apart(parts), 1),))


def _cells(channel: Product) -> int:
    """Return how many combinations linked rows may have."""
    return math.prod(len(column.labels) for axis in channel.axes for column in axis.columns())
