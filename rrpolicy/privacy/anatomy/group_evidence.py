"""What an attacker holds against dealt groups, of one sensitive attribute or of one of two.

Of two attributes the values of a group stand in tables of their own. Bounds are those of who is told as well which of
them belong to one record: a combination is then what is dealt, the counts fix which combinations stand together, and
nobody who is not told can expect to conclude more (data processing). Of one attribute they follow by summing:

    R_S(u | alpha) = sum over combinations w with u of c_w/c_u R_S(w | alpha)

and no group holds two combinations with the same value.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from rrpolicy.channels.anatomy.pair_groups import largest_pair_group_size, pair_group_kinds
from rrpolicy.channels.anatomy.partition_plan import PartitionPhase
from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.privacy.anatomy.posterior_bounds import PosteriorBounds
from rrpolicy.privacy.disclosure.combination_kinds import CombinationKinds
from rrpolicy.privacy.evidence import gather_evidence, split_axes

if TYPE_CHECKING:
    from rrpolicy.channels.anatomy.channel import AnatomyChannel
    from rrpolicy.counts import Array, Ints
    from rrpolicy.privacy.evidence import Evidence
    from rrpolicy.source.protocol import Original

BOUND_ONLY_NOTE = "Who stands with whom is drawn later: what decides is a bound that no deal exceeds on average."
PAIRING_KNOWN_NOTE = (
    "Bounds are those of who is told, besides what is released, which values of both attributes belong to one record "
    "of a group: that can only raise them."
)
_MOST = 1 << 24
"""Products (kinds of people, combinations, combinations) beyond which nothing is bounded but by 1."""


@frozen(slots=False)
class CombinationBounds:
    """Bounds of the posterior of a value that is part of the combinations that are dealt.

    Attributes:
        cells: bounds of combinations.
        part: (combinations,) the value of each.
        values: how many there are.
    """

    cells: PosteriorBounds
    part: Ints
    values: int

    @cached_property
    def expected(self) -> Array:
        """Return (groups, values) upper bounds of the expected posterior; 0 where nobody has the value."""
        mine, people = self._sums(self.cells.people * self.cells.expected), self._sums(self.cells.people)
        return np.divide(mine, people, out=np.zeros_like(mine), where=people > 0)

    @cached_property
    def highest(self) -> Array:
        """Return (groups, values) upper bounds of the posterior in any group that can be dealt."""
        out = np.zeros((len(self.cells.people), self.values))
        np.maximum.at(out.T, self.part, self.cells.highest.T)
        return out

    @property
    def fractions(self) -> int:
        """Return about how many fractions `exactly` computes with."""
        return self.cells.fractions * int(np.bincount(self.part).max(initial=1))

    def exactly(self, group: int, own: int) -> Fraction:
        """Return the bound of one expectation in fractions."""
        people = self.cells.people[group]
        here = [cell for cell in np.flatnonzero(self.part == own).tolist() if people[cell]]
        whole = int(people[here].sum())
        return sum((Fraction(int(people[cell]), whole) * self.cells.exactly(group, cell) for cell in here), Fraction(0))

    def _sums(self, cells: Array | Ints) -> Array:
        out = np.zeros((len(cells), self.values))
        np.add.at(out.T, self.part, cells.T.astype(np.float64))
        return out


ValueBounds: TypeAlias = PosteriorBounds | CombinationBounds
"""Bounds of each value of an attribute."""


def gather_groups(channel: AnatomyChannel, original: Original, name: str) -> Evidence:
    """Return the groups of people with the same quasi-identifiers; of two sensitive attributes with combinations."""
    (own,) = (column for column in channel.sensitive if column.attribute == name)
    told = split_axes(channel.untouched(own), original.policy, name)
    if len(channel.sensitive) > 1:
        domains = [Domain(column.attribute, column.labels) for column in channel.sensitive]
        told = replace(told, sensitive=Recode.by_levels(domains, [domain.labels for domain in domains]))
    return gather_evidence(original, told).of(name, [len(column.labels) for column in channel.sensitive])


def bound_posteriors(channel: AnatomyChannel, evidence: Evidence, cells: Ints) -> tuple[CombinationKinds, ValueBounds]:
    """Return people taken together whose quasi-identifiers tell the same, and bounds of each kind of them.

    Args:
        channel: the groups.
        evidence: of the attribute.
        cells: (groups, cells) people by what is dealt: values, or combinations.
    """
    if evidence.part is None:
        alike = CombinationKinds.of(cells)
        return alike, PosteriorBounds.of(alike.people, channel.size)
    occurs = np.flatnonzero(cells.any(axis=0))
    alike = CombinationKinds.of(cells[:, occurs])
    n = alike.people.sum(axis=0).tolist()
    sizes = tuple(len(column.labels) for column in channel.sensitive)
    first, second = (codes.tolist() for codes in np.unravel_index(occurs, sizes))
    pairs = list(zip(first, second, strict=True))
    phases: tuple[PartitionPhase, ...] = ()
    few = len(alike.people) * len(occurs) ** 2 <= _MOST
    if few and channel.size <= largest_pair_group_size(pairs, n):
        phases = tuple(
            PartitionPhase(k.groups, k.held, (), 0, 0, (), ()) for k in pair_group_kinds(pairs, n, channel.size)
        )
    bounds = PosteriorBounds(alike.people, phases, channel.size, residues=False)
    return alike, CombinationBounds(bounds, evidence.part[occurs], evidence.histograms.shape[1])
