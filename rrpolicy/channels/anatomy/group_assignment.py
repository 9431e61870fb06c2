"""Anatomy's draw: the values of each group, and the group of each record; both in keyed random order.

The phases of `rrpolicy.channels.anatomy.partition_plan` are fixed by the counts. Random are the order in which values
of the level take turns, the group that a residue joins, the groups' numbers, and the assignment of a value's records to
its groups. Buckets on a level take turns like cards. The level is a pile in random order, and when it ends the next one
is shuffled, such that a group that reaches over two piles gets no value twice. That is the law of drawing ties anew in
every step.

Of two sensitive attributes the counts fix the combinations of each group (`rrpolicy.channels.anatomy.partition_plan`);
random are the groups' numbers, and the assignment of a combination's records to its groups.

A pile's order is that of the pile before it, reordered by a permutation that depends only on the groups' ends. These
are drawn for many piles at once and then composed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from rrpolicy.channels.anatomy.partition_plan import PartitionPhase, group_kinds_of_table, partition_phases
from rrpolicy.channels.sampling.shuffle import random_orders, shuffle_values
from rrpolicy.counts import Ints

if TYPE_CHECKING:
    from rrpolicy.channels.sampling.prng import Stream, Streams
    from rrpolicy.counts import Counts

_PILES = 1 << 20  # turns that are drawn at a time
_SLOTS = 1 << 21

SmallInts = npt.NDArray[Any]
"""Values or numbers in the smallest integer type that represents them."""


class GroupAssignment(Struct, frozen=True):
    """The groups dealt.

    Attributes:
        values: (groups, l) the values of each group, in the order in which the groups were made.
        residues: (group as made, value) of the records that joined a group in the end.
        numbers: (groups,) the released number of each group, from 1.
        members: (records,) the group number of each record: all records of the first value, of the second, ….
    """

    values: SmallInts
    residues: tuple[tuple[int, int], ...]
    numbers: SmallInts
    members: SmallInts


def assign_groups(counts: Sequence[int], size: int, streams: Streams) -> GroupAssignment:
    """Deal a table's records into groups.

    `counts` are the records of each sensitive value, `size` is l. Raises ValueError if the table is not eligible.
    """
    values = group_compositions(partition_phases(counts, size), size, len(counts), streams.stream("groups", "ties"))
    groups = len(values)
    kind = np.min_scalar_type(groups)
    numbers = shuffle_values(np.arange(1, groups + 1, dtype=kind), streams.stream("groups", "numbers"))
    starts = np.concatenate(([0], np.cumsum(np.asarray(counts, dtype=np.int64))))
    members, room = np.empty(int(starts[-1]), dtype=kind), starts[:-1].copy()
    _groups_by_value(values, numbers, members, room)
    residues = tuple(_residue_groups(values, room, starts, streams.stream("groups", "residues")))
    for group, value in residues:
        members[room[value]] = numbers[group]
        room[value] += 1
    for value in np.flatnonzero(np.diff(starts)).tolist():
        part = members[starts[value] : starts[value + 1]]
        part[:] = shuffle_values(part, streams.stream("groups", "members", str(value)))
    return GroupAssignment(values, residues, numbers, members)


def assign_pair_groups(counts: Counts, size: int, streams: Streams) -> tuple[SmallInts, Ints, SmallInts]:
    """Deal the records of a table with two sensitive attributes.

    Returns (records,) the number of a group and a row of the counts in it, group by group in the order of dealing; and
    (records,) the group number of each record: all records of the first row of the counts, of the second, …. Raises
    ValueError if the table is not eligible.
    """
    kinds = group_kinds_of_table(counts, size)
    held = np.concatenate([np.tile(np.array(kind.held, dtype=np.int64), kind.groups) for kind in kinds])
    many = np.concatenate([np.full(kind.groups, len(kind.held), dtype=np.int64) for kind in kinds])
    numbers = np.arange(1, len(many) + 1, dtype=np.min_scalar_type(len(many)))
    group = np.repeat(shuffle_values(numbers, streams.stream("groups", "numbers")), many)
    members = group[np.argsort(held, kind="stable")]
    ends = np.cumsum(counts.n)
    for row, (low, high) in enumerate(zip((ends - counts.n).tolist(), ends.tolist(), strict=True)):
        own = ",".join(map(str, counts.codes[row].tolist()))
        members[low:high] = shuffle_values(members[low:high], streams.stream("groups", "members", own))
    return group, held, members


def _groups_by_value(values: SmallInts, numbers: SmallInts, members: SmallInts, room: Ints) -> None:
    """Write the numbers of the groups with each value into its part of `members`."""
    flat, size = values.reshape(-1), values.shape[1]
    for low in range(0, len(flat), _SLOTS):
        here = flat[low : low + _SLOTS]
        order = np.argsort(here, kind="stable")
        many = np.bincount(here, minlength=len(room))
        first = np.cumsum(many) - many
        members[np.repeat(room - first, many) + np.arange(len(here))] = numbers[(order + low) // size]
        room += many


def _residue_groups(values: SmallInts, room: Ints, starts: Ints, stream: Stream) -> Iterator[tuple[int, int]]:
    """Yield the group that each residue joins: any that lacks its value, each equally likely."""
    for value in np.flatnonzero(room < starts[1:]):
        holding = np.flatnonzero((values == value).any(axis=1))
        lacking = len(values) - len(holding)
        nth = int(stream.below(np.array([lacking], dtype=np.int64))[0])
        # the nth group without it: as many places on as there are groups with it before
        yield nth + int(np.searchsorted(holding - np.arange(len(holding)), nth, side="right")), int(value)


def group_compositions(phases: Sequence[PartitionPhase], size: int, values: int, stream: Stream) -> SmallInts:
    """Return (groups, l) the values of each group, in the order in which groups are made."""
    groups = sum(phase.groups for phase in phases)
    out = np.empty((groups, size), dtype=np.min_scalar_type(max(values - 1, 1)))
    ahead, behind = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    start = 0
    for phase in phases:
        ahead = np.concatenate((ahead, np.array(phase.joins_ahead, dtype=np.int64)))
        behind = np.concatenate((behind, np.array(phase.joins_behind, dtype=np.int64)))
        part = out[start : start + phase.groups]
        fixed = len(phase.above)
        part[:, :fixed] = np.array(phase.above, dtype=out.dtype)
        if phase.turns == len(phase.level):
            part[:, fixed:] = np.array(phase.level, dtype=out.dtype)
        else:
            first = np.concatenate((behind, ahead[random_orders(stream, 1, len(ahead))[0]]))
            turns = np.empty(phase.groups * phase.turns, dtype=out.dtype)
            last = _alternate_piles(first, len(behind), phase.turns, turns, stream)
            part[:, fixed:] = turns.reshape(phase.groups, phase.turns)
            done = (len(behind) + len(turns)) % len(first)
            behind, ahead = last[:done], last[done:]
        start += phase.groups
    return out


def _alternate_piles(first: Ints, begin: int, turns: int, out: SmallInts, stream: Stream) -> Ints:
    """Fill in the values that take turns, group by group; return the order of the next or current pile.

    `first`: (t,) order of the pile that is being dealt; `begin`: the position on it of the first group; `turns`: values
    of a group, fewer than t; `out`: (groups turns,) to be filled.
    """
    size = len(first)
    taken = min(size - begin, len(out))
    out[:taken] = first[begin : begin + taken]
    piles = (begin + len(out)) // size  # after the first one, also if nothing of the last is dealt
    order, step = first, max(1, _PILES // size)
    for low in range(0, piles, step):
        number = np.arange(low + 1, min(low + step, piles) + 1)
        split = (number * size - begin) % turns  # records of a group from the pile before
        dealt = compose_orders(order, _pile_reorderings(size, split, turns, stream))
        flat = dealt.reshape(-1)[: len(out) - taken]
        out[taken : taken + len(flat)] = flat
        taken += len(flat)
        order = dealt[-1]
    return order


def _pile_reorderings(size: int, split: Ints, turns: int, stream: Stream) -> Ints:
    """Return (piles, t) the position on the pile before of each place of a pile.

    If a group reaches over, its rest is drawn from the values that the pile before did not give it; the others follow.
    """
    heads = np.zeros((len(split), size), dtype=bool)
    over = np.flatnonzero(split)
    if len(over):
        given = np.arange(size) >= size - split[over, None]
        first = random_orders(stream, len(over), size, late=given)
        chosen = np.zeros((len(over), size), dtype=bool)
        np.put_along_axis(chosen, first, np.arange(size) < turns - split[over, None], axis=1)
        heads[over] = chosen
    return random_orders(stream, len(split), size, late=~heads)


def compose_orders(first: Ints, reorderings: Ints) -> Ints:
    """Return (piles, t) first[r_1], first[r_1][r_2], …: every order applied upon the one before.

    In two levels, so that few steps of Python are needed: inside about sqrt(piles) runs, then run upon run.

    `first`: (t,); `reorderings`: (piles, t) permutations of places.
    """
    piles, size = reorderings.shape
    run = max(1, math.isqrt(piles))
    runs = -(-piles // run)
    inside = np.empty((runs * run, size), dtype=np.int64)
    inside[:piles] = reorderings
    inside[piles:] = np.arange(size)
    inside = inside.reshape(runs, run, size)
    for place in range(1, run):
        inside[:, place] = np.take_along_axis(inside[:, place - 1], inside[:, place], axis=1)
    out = np.empty_like(inside)
    order = first
    for number in range(runs):
        out[number] = order[inside[number]]
        order = out[number, -1]
    return out.reshape(-1, size)[:piles]
