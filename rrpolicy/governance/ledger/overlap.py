"""Releases that may contain the same people, and their joint channel.

The overlap of people in several tables is declared; nothing else is known of it. A person is in some of the releases
and not in others; a person is hidden only among people with the same pattern of presence. With `any` one person may be
the only one of a pattern, so that k = 1; with `nested` the numbers of records determine how many people share each
pattern.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from rrpolicy.canonical_json import canonical, digest
from rrpolicy.channels.json_decoding import channel_from_json
from rrpolicy.errors import RRPolicyError
from rrpolicy.governance.ledger.composition import (
    LinkedChannel,
    ReleaseComponent,
    composition_obstacle,
    further_value_component,
    link_changing_values,
    link_same_values,
)
from rrpolicy.governance.ledger.entry import ReleaseEntry
from rrpolicy.planning.series import channel_digest
from rrpolicy.policy.model import Overlap
from rrpolicy.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rrpolicy.canonical_json import Value
    from rrpolicy.channels.base import Channel
    from rrpolicy.manifest.manifest import ManifestSeries
    from rrpolicy.source.protocol import Original

SAME = "the same table: rows of all releases are linked, and are one channel"
NESTED = (
    "of any two tables one contains all people of the other: values may have changed, so that ratios multiply and "
    "epsilons add; the smallest group of people who are in the same releases: {least:,}"
)
UNLIKE = (
    "the policy declares the same table, but the numbers of records differ, or earlier releases were of other people: "
)
SERIES = (
    "; of a series of {releases} releases a person counts with {values} different values of an attribute ({said}, "
    "and never more than it has categories), given which of a person's entries are equal, so that changes are revealed"
)
ANY = "people may be in some releases and not in others, alone: ratios multiply, epsilons add, and k = 1"


MOST_CELLS = 1 << 25
"""Maximum number of released cells of linked rows to assess on a table: about a minute; with more, no table is used."""


class PopulationDeclaration(Protocol):
    """Declaration on the people of a release: of a policy under [ledger], or of an entry."""

    @property
    def overlap(self) -> Overlap:
        """Return the relation of its people to those of earlier releases."""
        ...

    @property
    def different_values(self) -> int | None:
        """Return the maximum number of different values of an attribute per person in a series; None if unknown."""
        ...


class PresenceGroup(Struct, frozen=True):
    """People who are in the same releases.

    Attributes:
        channel: the joint channel of these releases.
        people: their number, or the table if they are all its people.
    """

    channel: Channel
    people: Original | int


class JointReleases(Struct, frozen=True):
    """Releases of the same people together.

    Attributes:
        groups: groups of people; the weakest result of any group applies to all.
        composed: the channel of linked rows, if all releases are of one table.
    """

    rule: str
    groups: tuple[PresenceGroup, ...]
    composed: LinkedChannel | None = None


def overlapping_releases(
    earlier: Mapping[str, ReleaseEntry], overlap: Overlap, population: str | None
) -> Mapping[str, ReleaseEntry]:
    """Return the releases that may contain the same people, by their hash.

    Releases of two named populations contain different people; a release of an unnamed population may contain any
    people.
    """
    if overlap == "none":
        return {}
    return {
        own: entry
        for own, entry in earlier.items()
        if population is None or entry.population is None or entry.population == population
    }


def release_component(entry: ReleaseEntry, registry: Registry) -> ReleaseComponent:
    """Return the component of an entry for composition.

    Raises RRPolicyError if no loaded plugin reads its channel.
    """
    channel = channel_from_json(dict(entry.channel), registry.kinds)
    series = None if entry.series is None else draw_identity(entry.series, channel)
    return ReleaseComponent(entry.name, channel, entry.records, entry.domains, series)


def draw_identity(series: ManifestSeries, channel: Channel) -> str:
    """Return the common id of releases that draw a person's value with the same noise."""
    return f"{series.name} {series.id} {channel_digest(channel)}"


def domain_digests(attributes: Iterable[tuple[str, Sequence[Value] | None]]) -> dict[str, str | None]:
    """Return attribute -> digest of its categories in their order; None for a column without listed categories."""
    return {name: None if domain is None else digest(canonical(list(domain))) for name, domain in attributes}


def combine_releases(
    parts: Sequence[ReleaseComponent],
    declared: PopulationDeclaration,
    earlier: Sequence[ReleaseEntry],
    original: Original | int,
) -> JointReleases:
    """Return the joint releases for each group of people who are in the same releases.

    Each part has a composition rule; the last is the new one, whose people `declared` and `original` describe.
    """
    overlap = declared.overlap
    sizes = [part.records for part in parts]
    between = [entry.overlap for entry in earlier[1:]]  # relation of earlier releases to each other
    if overlap == "same" and len(set(sizes)) == 1 and "none" not in between:
        composed = link_same_values(list(_independent_components(parts, 1)))
        columns = (column for axis in composed.channel.axes for column in axis.columns())
        told = not composed.strange and math.prod(len(column.labels) for column in columns) <= MOST_CELLS
        return JointReleases(SAME, (PresenceGroup(composed.channel, original if told else sizes[-1]),), composed)
    most, said = _max_different_values(parts, declared, earlier)
    if overlap == "nested" and set(between) <= {"nested", "same"}:
        steps = sorted({0, *sizes})
        rings = [(size, size - before) for before, size in pairwise(steps)]
        groups = [
            _changing_values_group([p for p in parts if p.records >= size], people, most) for size, people in rings
        ]
        least = min(group.people for group in groups if isinstance(group.people, int))
        return JointReleases(NESTED.format(least=least) + said, tuple(groups))
    return JointReleases((UNLIKE if overlap == "same" else "") + ANY + said, (_changing_values_group(parts, 1, most),))


def combine_entries(earlier: Sequence[ReleaseEntry], entry: ReleaseEntry, registry: Registry) -> JointReleases | str:
    """Return the joint releases of an entry and earlier ones, or in words why no rule composes them."""
    try:
        parts = [release_component(each, registry) for each in (*earlier, entry)]
    except RRPolicyError as error:
        return error.problems[0].message
    obstacle = next(filter(None, (composition_obstacle(part.channel) for part in parts)), None)
    return obstacle or combine_releases(parts, entry, earlier, entry.records)


def _max_different_values(
    parts: Sequence[ReleaseComponent], declared: PopulationDeclaration, earlier: Sequence[ReleaseEntry]
) -> tuple[int, str]:
    """Return the maximum number of different values per person in a series, with its source in words."""
    series = Counter(part.series for part in parts if part.series is not None)
    if not series:
        return len(parts), ""
    each = zip(parts, (*earlier, declared), strict=True)
    stated = [entry.different_values for part, entry in each if part.series is not None]
    known = [number for number in stated if number is not None]
    most = max(known) if len(known) == len(stated) else len(parts)
    largest = max(series.values())
    said = f"as the policy declares at most {most}" if most < largest else "one for each release"
    return most, SERIES.format(values=min(most, largest), releases=largest, said=said)


def _changing_values_group(parts: Sequence[ReleaseComponent], people: int, most: int) -> PresenceGroup:
    """Return a group of people whose values may change between releases, with a limited number of values in a series.

    An attacker who links the releases of a series sees which of a person's values are equal. A person is hidden only
    among people with the same pattern of equal values, whose number is unknown: with two values or more, one person.
    """
    series = Counter(part.series for part in parts if part.series is not None)
    seen = any(min(releases, most) > 1 for releases in series.values())
    return PresenceGroup(link_changing_values(list(_independent_components(parts, most))), 1 if seen else people)


def _independent_components(parts: Sequence[ReleaseComponent], most: int) -> Iterator[ReleaseComponent]:
    """Yield releases with independent draws: of a series, one per different value of a person.

    `most` is the number of different values of a person in a series.
    """
    releases = Counter(part.series for part in parts)
    for part in parts:
        left = releases[part.series]  # of its series, including itself: the last one counts in full
        if part.series is None:
            yield part
        elif left <= most:
            yield further_value_component(part, left - 1)
        releases[part.series] -= 1
