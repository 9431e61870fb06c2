"""The evidence against anatomy's groups by sensitive attribute, and the posterior of an informed attacker.

With two attributes the values of a group are in separate tables. Bounds are for an attacker who also knows which of
them belong to one record. A combination is then the assigned unit, the counts determine which combinations are in one
group, and no attacker who knows less can expect to conclude more (data processing). For one attribute they follow by
summing:

    R_S(u | alpha) = sum over combinations w with u of c_w/c_u R_S(w | alpha)

and no group has two combinations with the same value.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from msgspec import Struct

from rrpolicy.channels.anatomy.partition_plan import PartitionPhase, largest_pair_group_size, pair_group_kinds
from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.finding import Basis, Companion, Measure, Profile, Risk, Standing
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.anatomy.posterior_bounds import PosteriorBounds
from rrpolicy.privacy.disclosure.risk import highest_risk_groups, risk_histograms, subgroup_mask
from rrpolicy.privacy.evidence import CombinationKinds, gather_evidence, split_axes

if TYPE_CHECKING:
    from rrpolicy.channels.anatomy.channel import AnatomyChannel
    from rrpolicy.counts import Array, Ints
    from rrpolicy.privacy.evidence import Evidence
    from rrpolicy.source.protocol import Original

POSTERIOR = (
    "the largest chance of the true value for who reads the quasi-identifiers of the whole group and knows the shares "
    "of the values among people with the same ones, over all groups that can be dealt; 1/l is for who does not"
)
CERTAIN = (
    "people whose value may be certain for an attacker who knows which group is theirs and how many people with the "
    "same quasi-identifiers have each value in the original table"
)
_MOST = 1 << 24
"""Products (kinds of people, combinations, combinations) beyond which the only bound is 1."""


class CombinationBounds(Struct, frozen=True, dict=True):
    """Bounds of the posterior of a value that is part of the assigned combinations.

    Attributes:
        cells: bounds of combinations.
        part: (combinations,) the value of each.
        values: the number of values.
    """

    cells: PosteriorBounds
    part: Ints
    values: int

    @cached_property
    def expected(self) -> Array:
        """Return (groups, values) upper bounds of the expected posterior; 0 for a value that does not occur."""
        mine, people = self._sums(self.cells.people * self.cells.expected), self._sums(self.cells.people)
        return np.divide(mine, people, out=np.zeros_like(mine), where=people > 0)

    @cached_property
    def highest(self) -> Array:
        """Return (groups, values) upper bounds of the posterior in any possible group."""
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
    """Return the groups of people with equal quasi-identifiers; for two sensitive attributes with combinations."""
    (own,) = (column for column in channel.sensitive if column.attribute == name)
    known = split_axes(channel.untouched(own), original.policy, name)
    if len(channel.sensitive) > 1:
        domains = [Domain(column.attribute, column.labels) for column in channel.sensitive]
        known = replace(known, sensitive=Recode.by_levels(domains, [domain.labels for domain in domains]))
    return gather_evidence(original, known).of(name, [len(column.labels) for column in channel.sensitive])


def bound_posteriors(channel: AnatomyChannel, evidence: Evidence, cells: Ints) -> tuple[CombinationKinds, ValueBounds]:
    """Return kinds of people with the same shares, and the bounds of each kind.

    Args:
        channel: the groups.
        evidence: evidence on the attribute.
        cells: (groups, cells) people by assigned value or combination.
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


def informed_posterior(
    requirement: Requirement, channel: AnatomyChannel, original: Original, name: str
) -> tuple[tuple[Companion, ...], Profile | None]:
    """Return the largest posterior of a sensitive attribute over the people of an entry, and its distribution.

    The attacker knows how the values depend on the quasi-identifiers. The table is eligible.
    """
    evidence = gather_groups(channel, original, name)
    group, value = np.nonzero(subgroup_mask(evidence, requirement, None, ()))
    people = evidence.histograms[group, value]
    alike, bounds = bound_posteriors(channel, evidence, evidence.joint)
    worst = bounds.highest[alike.kind[group], value]
    companions = informed_measures(worst, people, name)
    if not len(worst):
        return companions, None
    top = highest_risk_groups(evidence, worst, people, group)
    before = people / evidence.n[group]
    return companions, risk_histograms(f"informed posterior of {name}, upper bound", worst, before, people, top)


def informed_measures(worst: Array, people: Ints, of: str) -> tuple[Companion, ...]:
    """Return the largest of (k,) posteriors, and how many of (k,) people may have one of 1; both upper bounds."""
    most = Measure(float(worst.max(initial=0.0)), Standing.UPPER_BOUND)
    certain = Measure(float(people[worst >= 1].sum()), Standing.UPPER_BOUND)
    return (
        Companion("informed posterior", most, Basis.ORIGINAL, POSTERIOR, of, chance_of=Risk.READING),
        Companion("people with a posterior of 1", certain, Basis.ORIGINAL, CERTAIN, of, certain_of=Risk.READING),
    )
