"""Certain bounds of the posterior for an attacker who knows how the sensitive attribute depends on the others.

The attacker reads the released quasi-identifiers of everybody in a person's group, and knows the shares c_u(alpha) of
the values among the people of each combination alpha. The posterior is a ratio of permanents
(`rrpolicy.privacy.anatomy.permanents`). The groups are drawn later; these bounds hold before the draw.

**Bound by odds.** Let member i have u in a group of the values W. Every assignment of W without u to the others becomes
an assignment of W without v if the member with v takes u, so that

    Pr(i has u | group) <= 1/(1 + t sum over v in W other than u of x_v(i)/x_u(i)),
    t = min over the others j of s(j),    s(j) = x_u(j) / max over v other than u of x_v(j),

with x_v = c_v/n_v, n_v the records with v; a factor of each value changes neither side. The member with v is one of
the n_v people with v, equally likely, and independent for different v: that gives the distribution of t, and the
expectation of the bound. t = 1 where values are independent of the quasi-identifiers: the bound is 1/l. t is 0 where a
person without u may be in the group.

**Bound by revealing.** If all values of the group but u and w are revealed, the expected posterior of u can only
increase (data processing: it is a martingale, and its square's mean increases). The bound above then applies with W =
{u, w}, where it is exact. It applies to any w of the group, and the least bound counts.

The values of a group are the worst that the schedule's phases permit, phase by phase. Phases in which every group has a
value are weighted by their number of groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from rrpolicy.channels.anatomy.partition_plan import PartitionPhase, largest_eligible, partition_phases

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints

Numbers: TypeAlias = npt.NDArray[Any]
"""Doubles, or fractions."""

MOST = 1 << 27
"""Products (groups of people, values, values) over the phases, beyond which phases are not distinguished."""
_STEPS = 24
"""Thresholds to which t is rounded down in doubles; fractions use all."""
_ROWS = 1 << 16


class ValueStage(Struct, frozen=True):
    """Groups of one construction that have a given value.

    Attributes:
        groups: the number of groups that certainly have it; 0 if that is random.
        fixed: the other values that each of them has.
        level: values that alternate between groups.
        turns: the number of these in each group.
    """

    groups: int
    fixed: tuple[int, ...]
    level: tuple[int, ...]
    turns: int

    @property
    def values(self) -> list[int]:
        """Return the other possible values."""
        return [*self.fixed, *(self.level if self.turns else ())]


class PosteriorBounds(Struct, frozen=True, dict=True):
    """Bounds of the posterior of the own value; ones where nothing hides it.

    Attributes:
        people: (groups, values) people with equal quasi-identifiers, or of one kind, by sensitive value.
        phases: phases of the schedule; empty for a table that is not eligible.
        size: l.
        residues: whether remaining records join a group without their value.
    """

    people: Ints
    phases: tuple[PartitionPhase, ...]
    size: int
    residues: bool

    @classmethod
    def of(cls, people: Ints, size: int) -> PosteriorBounds:
        """Return the bounds of a table of (groups, values) people for l = `size`."""
        counts = people.sum(axis=0).tolist()
        phases = partition_phases(counts, size) if 1 <= size <= largest_eligible(counts) else ()
        return cls(people, phases, size, residues=sum(counts) % size > 0)

    @cached_property
    def expected(self) -> Array:
        """Return (groups, values) upper bounds of the expected posterior; 0 for a value that does not occur."""
        return self._each(self._expected)

    @cached_property
    def highest(self) -> Array:
        """Return (groups, values) upper bounds of the posterior in any possible group."""
        return self._each(self._highest)

    @property
    def fractions(self) -> int:
        """Return about how many fractions `exactly` computes with."""
        return int((len(self.phases) + self.people.shape[1]) * self.people.size)

    def exactly(self, group: int, own: int) -> Fraction:
        """Return the bound of one expectation in fractions, without rounded thresholds."""
        asked = _OwnValue(self._fractions, np.array([group]), own, self.residues)
        return Fraction(self._expected(asked)[0]) if self.phases else Fraction(1)

    def _each(self, bound: Callable[[_OwnValue], Numbers]) -> Array:
        if not self.phases:
            return (self.people > 0).astype(np.float64)
        out = np.zeros(self.people.shape)
        odds = self.people / np.maximum(self.people.sum(axis=0), 1)
        for own in np.flatnonzero(self.people.any(axis=0)).tolist():
            rows = np.flatnonzero(self.people[:, own])
            out[rows, own] = bound(_OwnValue(odds, rows, own, self.residues))
        return out

    @cached_property
    def _fractions(self) -> Numbers:
        counts = self.people.sum(axis=0).tolist()
        rows = [
            [Fraction(n, max(count, 1)) for n, count in zip(row, counts, strict=True)] for row in self.people.tolist()
        ]
        return np.array(rows, dtype=object).reshape(self.people.shape)

    def _expected(self, asked: _OwnValue) -> Numbers:
        left = whole = int(self.people[:, asked.own].sum())
        expected = by_chance = asked.one * 0
        for stage in self._stages(asked.own):
            if stage.groups:
                expected, left = expected + asked.expected(stage) * stage.groups / whole, left - stage.groups
            else:
                by_chance = np.maximum(by_chance, asked.expected(stage))
        most: Numbers = np.minimum(expected + by_chance * left / whole, asked.one)
        return most

    def _highest(self, asked: _OwnValue) -> Numbers:
        most: Numbers = np.maximum.reduce([asked.highest(stage) for stage in self._stages(asked.own)])
        return most

    @cached_property
    def _told_apart(self) -> bool:
        return len(self.people) * sum((len(p.above) + len(p.level)) ** 2 for p in self.phases) <= MOST

    @cached_property
    def _holding(self) -> dict[int, list[PartitionPhase]]:
        """Return the phases whose groups may have each value."""
        found: dict[int, list[PartitionPhase]] = {}
        for phase in self.phases:
            for value in (*phase.above, *phase.level):
                found.setdefault(value, []).append(phase)
        return found

    def _stages(self, own: int) -> Iterator[ValueStage]:
        """Yield the groups that a value may be in."""
        if not self._told_apart:
            others = tuple(v for v in np.flatnonzero(self.people.any(axis=0)).tolist() if v != own)
            yield ValueStage(0, (), others, self.size - 1)
            return
        for phase in self.phases if self.residues else self._holding.get(own, []):
            fixed, level, turns = _group_members(phase)
            others = tuple(value for value in level if value != own)
            if own in fixed:
                yield ValueStage(phase.groups, tuple(value for value in fixed if value != own), level, turns)
                continue
            if own in level:
                yield ValueStage(0, tuple(fixed), others, turns - 1)
            if self.residues and len(others) >= turns:
                yield ValueStage(0, tuple(fixed), others, turns)


def _group_members(phase: PartitionPhase) -> tuple[list[int], tuple[int, ...], int]:
    """Return the values of every group of a phase, the alternating values, and the number of these in a group.

    A single group that takes all values ahead takes those that have just come from above.
    """
    if phase.turns == len(phase.level):
        return [*phase.above, *phase.level], (), 0
    if phase.groups > 1 or phase.turns < phase.ahead:
        return list(phase.above), phase.level, phase.turns
    level = tuple(value for value in phase.level if value not in phase.joins_ahead)
    return [*phase.above, *phase.joins_ahead], level, phase.turns - len(phase.joins_ahead)


class _OwnValue(Struct, frozen=True, dict=True):
    """One value of some people, and the other possible members of their groups.

    Attributes:
        odds: (groups, values) x.
        rows: (rows,) the combinations of the people.
        own: their value.
        residues: whether records other than those of a stage may have joined a group.
    """

    odds: Numbers
    rows: Ints
    own: int
    residues: bool

    @cached_property
    def others(self) -> Numbers:
        """Return (rows, values) x_v/x_u."""
        ratio: Numbers = self.odds[self.rows] / self.odds[self.rows, self.own][:, None]
        return ratio

    @cached_property
    def one(self) -> Numbers:
        """Return (rows,) ones."""
        one: Numbers = self.others[:, self.own] * 0 + 1
        return one

    @cached_property
    def _pairs(self) -> dict[int, Numbers]:
        """Cache the columns of `pairs` by value: few of many combinations are ever in one group."""
        return {}

    def pairs(self, others: Sequence[int]) -> Numbers:
        """Return (rows, others) the expected posterior if all values but the own and this one are revealed."""
        for other in others:
            if other not in self._pairs and (self.odds[:, other] > 0).any():
                times, survival = _smallest_sum_distribution(self.odds, self.own, [other])
                self._pairs[other] = _expected_inverse(self.others[:, other], times, survival[:, 0])
        return np.stack([self._pairs.get(other, self.one) for other in others], axis=1)

    def expected(self, stage: ValueStage) -> Numbers:
        """Return (rows,) bounds of the expected posterior in the groups of a stage."""
        others, fixed, turns = stage.values, len(stage.fixed), stage.turns
        if not others:
            return self.one
        pairs = self.pairs(others)
        times, survival = _smallest_sum_distribution(self.odds, self.own, others)
        alike = survival[:, :fixed].prod(axis=1) * np.sort(survival[:, fixed:], axis=1)[:, :turns].prod(axis=1)
        if turns:  # the worst alternating values
            pairs = np.concatenate((pairs[:, :fixed], np.sort(pairs[:, fixed:], axis=1)[:, -turns:]), axis=1)
        most: Numbers = np.minimum(_expected_inverse(self._total(stage), times, alike), pairs.min(axis=1))
        return most

    def highest(self, stage: ValueStage) -> Numbers:
        """Return (rows,) bounds of the posterior in any group of a stage."""
        anybody = [value for value in range(self.odds.shape[1]) if value != self.own]
        others = anybody if self.residues else stage.values
        if not others:
            return self.one
        least = _odds_terms(self.odds, self.own, others)[0].min()
        most: Numbers = np.minimum(1 / (1 + least * self._total(stage)), self.one)
        return most

    def _total(self, stage: ValueStage) -> Numbers:
        """Return (rows,) the least sum of x_v/x_u over the other values of a group."""
        others, fixed = self.others[:, stage.values], len(stage.fixed)
        rare = np.sort(others[:, fixed:], axis=1)[:, : stage.turns]
        total: Numbers = others[:, :fixed].sum(axis=1) + rare.sum(axis=1)
        return total


def _odds_terms(odds: Numbers, own: int, others: Sequence[int]) -> tuple[Numbers, Numbers]:
    """Return s of each combination whose people may be in the group, and the x of the values that they may have."""
    held = odds[:, list(others)]
    most = held.max(axis=1)
    some = np.flatnonzero(most > 0)
    return odds[some, own] / most[some], held[some]


def _smallest_sum_distribution(odds: Numbers, own: int, others: Sequence[int]) -> tuple[Numbers, Numbers]:
    """Return the distribution of s over the people with a value among `others`.

    It has (steps,) increasing thresholds of s, the first its minimum, and (steps, values) the probability that the
    member with each value has at least this s.
    """
    times, held = _odds_terms(odds, own, others)
    order = np.argsort(times, kind="stable")
    times, survival = times[order], np.cumsum(held[order][::-1], axis=0)[::-1]
    first = np.flatnonzero(np.concatenate(([True], times[1:] != times[:-1])))
    if odds.dtype != object and len(first) > _STEPS:
        first = first[np.unique(np.linspace(0, len(first) - 1, _STEPS).astype(np.int64))]
    return times[first], survival[first]


def _expected_inverse(total: Numbers, times: Numbers, survival: Numbers) -> Numbers:
    """Return (rows,) E 1/(1 + t total), from (steps,) thresholds and probabilities that t is at least these."""
    chance = survival - np.append(survival[1:], survival[:1] * 0)
    out = total * 0
    step = max(1, _ROWS // len(times))
    for start in range(0, len(total), step):
        part = slice(start, start + step)
        out[part] = (1 / (1 + total[part, None] * times)) @ chance
    return out
