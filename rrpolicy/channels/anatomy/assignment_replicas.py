"""Anatomy's dealing law simulated: the values of each group, in independent replicas of the deal.

Each replica is the deal of `rrpolicy.channels.anatomy.group_assignment`, ties drawn anew in every step, but of values
only. A phase of many groups repeats itself: after as many groups as bring pile and group to the same place again (a
cycle), the state is as before. Long phases are therefore shortened by whole cycles, and the groups in their middle
represent those that were left out. The law of every single group is unchanged, for each pile after the first of its
phase is in uniform order: in the middle any value of the level is in its share of the groups, with any others. So the
cost depends on the number of values, and not on that of the records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from rrpolicy.channels.anatomy.partition_plan import PartitionPhase, groups_of, partition_phases
from rrpolicy.channels.sampling.shuffle import random_orders

if TYPE_CHECKING:
    from rrpolicy.channels.sampling.prng import Stream
    from rrpolicy.counts import Array, Ints

_CYCLES = 8
"""Cycles of a phase that are dealt in full; the groups of the two at each end represent only themselves."""
_ENDS = 2

Mask = npt.NDArray[np.bool_]


class ShortenedPhase(Struct, frozen=True):
    """The middle of a phase that was shortened.

    Attributes:
        steps: the steps of the replicas that belong to it.
        groups: number of groups of the deal that these steps represent.
        level: the values that take turns.
        share: share of the groups that contain a given value of `level`.
    """

    steps: slice
    groups: int
    level: tuple[int, ...]
    share: float


class AssignmentReplicas(Struct, frozen=True):
    """The simulated deals.

    Attributes:
        values: (steps, replicas, l) the values of one group in each step.
        stands_for: (steps,) groups of the deal that a step represents.
        middles: the middles of the phases that were shortened.
        residues: (replicas, values) whether the last record of a value was left over, to join a group that lacks it.
    """

    values: Ints
    stands_for: Array
    middles: tuple[ShortenedPhase, ...]
    residues: Mask

    def holding(self, value: int) -> Mask:
        """Return (steps, replicas) the mask of the groups with a value among their l."""
        held: Mask = (self.values == value).any(axis=2)
        return held

    def groups(self, value: int, *, lacking: bool = False) -> Array:
        """Return (steps, replicas) the number of groups of the deal whose l values contain a value, or lack it.

        In the middle of a phase all replicas have the same number of such groups: the expected number.
        """
        here = self.holding(value) ^ lacking
        found = np.where(here, self.stands_for[:, None], 0.0)
        for middle in self.middles:
            if value in middle.level:
                part = here[middle.steps]
                share = 1 - middle.share if lacking else middle.share
                found[middle.steps] = part * (middle.groups * share / part.sum(axis=0))
        return found


def replica_group_count(counts: Sequence[int], size: int) -> int:
    """Return the number of groups that a replica deals."""
    return sum(_simulated_group_count(phase) for phase in partition_phases(counts, size))


def simulate_assignments(counts: Sequence[int], size: int, number: int, stream: Stream) -> AssignmentReplicas:
    """Deal an eligible table's values repeatedly.

    `counts` are the records of each sensitive value, `size` is l. Raises ValueError if the table is not eligible.
    """
    phases = partition_phases(counts, size)
    left = np.tile(np.asarray(counts, dtype=np.int64), (number, 1))
    ahead = np.zeros(left.shape, dtype=bool)
    values: list[Ints] = []
    stands_for: list[float] = []
    middles: list[ShortenedPhase] = []
    for phase in phases:
        ahead[:, list(phase.joins_ahead)] = True
        ahead[:, list(phase.joins_behind)] = False
        left[:, list(phase.above)] -= phase.groups
        if phase.turns == len(phase.level):
            left[:, list(phase.level)] -= phase.groups
            together = np.array([*phase.above, *phase.level], dtype=np.int64)
            values.append(np.broadcast_to(together, (number, size)))
            stands_for.append(float(phase.groups))
            continue
        above = np.broadcast_to(np.array(phase.above, dtype=np.int64), (number, len(phase.above)))
        dealt = _simulated_group_count(phase)
        left[:, list(phase.level)] -= (phase.groups - dealt) * phase.turns // len(phase.level)
        for _ in range(dealt):
            turns = _next_turns(phase, ahead, stream)
            np.put_along_axis(left, turns, np.take_along_axis(left, turns, axis=1) - 1, axis=1)
            values.append(np.concatenate((above, turns), axis=1))
        if dealt < phase.groups:
            middles.append(_shortened_phase(phase, len(stands_for)))
        stands_for += _represented_groups(phase)
    return AssignmentReplicas(np.stack(values), np.array(stands_for), tuple(middles), left == 1)


def _next_turns(phase: PartitionPhase, ahead: Mask, stream: Stream) -> Ints:
    """Return (replicas, turns) the values that take the turns of one group, those ahead first; update those ahead."""
    level = np.array(phase.level, dtype=np.int64)
    here = ahead[:, level]
    turns = level[random_orders(stream, len(ahead), len(level), late=~here)[:, : phase.turns]]
    before = np.take_along_axis(ahead, turns, axis=1)
    if before.sum(axis=1)[0] == here[0].sum():  # all who were ahead: the others of the group fall behind the rest
        ahead[:, level] = True
        np.put_along_axis(ahead, turns, before, axis=1)
    else:
        np.put_along_axis(ahead, turns, np.zeros_like(before), axis=1)
    return turns


def _cycle_length(phase: PartitionPhase) -> int:
    return len(phase.level) // math.gcd(len(phase.level), phase.turns)


def _simulated_group_count(phase: PartitionPhase) -> int:
    """Return the number of groups of a phase that are dealt: all, or fewer by whole cycles."""
    if phase.turns == len(phase.level):
        return 1
    cycle = _cycle_length(phase)
    return phase.groups if phase.groups < (_CYCLES + 1) * cycle else _CYCLES * cycle + phase.groups % cycle


def _represented_groups(phase: PartitionPhase) -> list[float]:
    dealt, ends = _simulated_group_count(phase), _ENDS * _cycle_length(phase)
    if dealt == phase.groups:
        return [1.0] * dealt
    middle = dealt - 2 * ends
    return [1.0] * ends + [(phase.groups - 2 * ends) / middle] * middle + [1.0] * ends


def _shortened_phase(phase: PartitionPhase, start: int) -> ShortenedPhase:
    dealt, ends, level = _simulated_group_count(phase), _ENDS * _cycle_length(phase), phase.level
    steps = slice(start + ends, start + dealt - ends)
    return ShortenedPhase(steps, phase.groups - 2 * ends, level, phase.turns / len(level))


def residue_join_probability(dealt: AssignmentReplicas, counts: Sequence[int], size: int, own: int) -> Array:
    """Return (replicas, values) the chance that a residue joins a given group that lacks it.

    `own` is a value that the group contains, whose own last record joins none of the groups.
    """
    groups, _ = groups_of(sum(counts), size)
    lacking = groups - np.asarray(counts, dtype=np.float64) + 1
    chance = np.where(dealt.residues, 1 / np.maximum(lacking, 1.0), 0.0)
    chance[:, own] = 0.0
    return chance
