"""What dealt groups tell of everybody, once they are written: exact posteriors, measured for the audit alone.

Of each person it takes the shares of the sensitive values among people with the same quasi-identifiers, from the
original, and the person's group with the quasi-identifiers of all its members, from the release; see
`rrpolicy.privacy.permanents`. It decides nothing: redrawing until it pleases would destroy the guarantee.

Which of a group's values is whose, only the key could tell. So shown is the highest posterior of any value, which is at
least that of the true one, and equal to it where it is 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channel.groups import QIT, ST, Groups
from rrpolicy.channel.values import read_codes
from rrpolicy.finding import Basis, Companion, Finding, Measure
from rrpolicy.privacy.equivalence import numbered
from rrpolicy.privacy.evidence import Evidence, gather, sides
from rrpolicy.privacy.permanents import MOST_MEMBERS, posteriors
from rrpolicy.privacy.spread import at_the_top, spread

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channel.table import Column
    from rrpolicy.privacy.model import Written
    from rrpolicy.source.counts import Array, Codes, Ints
    from rrpolicy.source.protocol import Original

NAME = "written-posteriors"
MEASURED = "measured on the written release; it decides nothing"
ADVERSARY = (
    "reads the quasi-identifiers of everybody in a person's group, and knows the shares of the values among people "
    "with the same ones"
)
REFERENCE = "Xiao, Tao 2006, definition 3; a ratio of permanents"
QUANTITY = "highest posterior of a value of {}, given the written group"
MEAN = "the highest posterior of a value, on average over everybody"
CERTAIN = "people whose value follows from their group with certainty"
ATTAINED = (
    "c_u times the expected posterior of the true value over the written groups, the largest of any people and value: "
    "what the risk of attribute disclosure came to in this draw"
)
UNKNOWN = "the release holds combinations that the original does not have"
SURE = 1 - 1e-12
"""A posterior from which on a value is taken for certain."""
_CHUNK = 1 << 17


@dataclass(frozen=True, slots=True)
class _Told:
    """What the groups tell.

    Attributes:
        combination: (people,) the combination of everybody, by number.
        highest: (people,) the highest posterior of any value.
        expected: (combinations, values) the sum of posteriors of each value.
        own: (combinations, values) the sum of their squares: the expected posterior of the value where it is true.
    """

    combination: Codes
    highest: Array
    expected: Array
    own: Array


def attained(channel: Groups, original: Original, written: Written) -> Finding | None:
    """Return what is measured of everybody.

    Args:
        channel: the groups.
        original: the table.
        written: both tables as they were written.

    Returns:
        None if groups are too large to compute it.
    """
    name = channel.sensitive.attribute
    if channel.size + original.records % channel.size > MOST_MEMBERS:
        return None
    evidence = gather(original, sides(channel.untouched(sensitive=True), original.policy, name))
    told = _told(channel, evidence, written)
    most = told.highest
    certain = most >= SURE
    largest = evidence.shares.max(axis=1)
    shares = evidence.shares
    read = np.divide(told.own, told.expected, out=np.zeros_like(told.own), where=told.expected > 0)
    ones = np.ones(len(most), dtype=np.int64)
    top = at_the_top(evidence, most, ones, told.combination.astype(np.int64))
    beside = (
        ("people with a posterior of 1", float(certain.sum()), CERTAIN),
        ("mean highest posterior", float(most.mean()) if len(most) else 0.0, MEAN),
        ("risk attained", float((shares * read).max(initial=0.0)), ATTAINED),
    )
    return Finding(
        code=NAME,
        model=NAME,
        requirement=MEASURED,
        place=None,
        reached=Measure(float(most.max(initial=0.0))),
        limit=None,
        verdict=None,
        basis=Basis.ORIGINAL,
        adversary=ADVERSARY,
        beside=tuple(Companion(what, Measure(n), Basis.ORIGINAL, text, name) for what, n, text in beside),
        profile=spread(QUANTITY.format(name), most, largest[told.combination], ones, top),
        reference=REFERENCE,
        assessor="rrpolicy",
    )


def _told(channel: Groups, evidence: Evidence, written: Written) -> _Told:
    """Compute everybody's posteriors; where both tables disagree on a group, it is taken to hide nothing."""
    combination, member = _members(channel, evidence, written)
    value, holder = _values(channel, written)
    last = int(max(member.max(initial=0), holder.max(initial=0)))
    here, stated = (np.bincount(number, minlength=last + 1) for number in (member, holder))
    by_group, by_value = np.argsort(member, kind="stable"), np.argsort(holder, kind="stable")
    first, start = np.cumsum(here) - here, np.cumsum(stated) - stated
    shares = evidence.shares
    told = _Told(combination, np.ones(len(member)), np.zeros(shares.shape), np.zeros(shares.shape))
    agreed = np.flatnonzero((here == stated) & (here > 0) & (here <= MOST_MEMBERS))
    for size in np.unique(here[agreed]).tolist():
        alike = agreed[here[agreed] == size]
        step = max(1, _CHUNK // size)
        for low in range(0, len(alike), step):
            numbers = alike[low : low + step, None]
            people = by_group[first[numbers] + np.arange(size)]
            values = value[by_value[start[numbers] + np.arange(size)]]
            _note(told, shares, people, values)
    return told


def _note(told: _Told, shares: Array, people: Ints, values: Ints) -> None:
    """Enter (groups, members) people whose groups have (groups, members) values."""
    who = told.combination[people].astype(np.int64)
    found = posteriors(shares[who[:, :, None], values[:, None, :]])
    told.highest[people] = found.max(axis=2)
    place = (who[:, :, None] * shares.shape[1] + values[:, None, :]).reshape(-1)
    for whole, what in ((told.expected, found), (told.own, found * found)):
        whole.reshape(-1)[:] += np.bincount(place, weights=what.reshape(-1), minlength=whole.size)


def _members(channel: Groups, evidence: Evidence, written: Written) -> tuple[Codes, Codes]:
    """Return (people,) the combination, and the group, of everybody in the written table."""
    columns = {c.attribute: c for c in channel.known}
    wanted = [columns[name] for name in evidence.names]
    find = _Finder(evidence)
    found, member = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int32)]
    for batch in written.distinct(QIT):
        times = _integers(batch.column("n"))
        codes = [_codes(c, evidence, i, batch.column(c.name)) for i, c in enumerate(wanted)]
        found.append(np.repeat(find(codes, len(times)).astype(np.int32), times))
        member.append(np.repeat(_integers(batch.column(channel.group.name)).astype(np.int32), times))
    return np.concatenate(found), np.concatenate(member)


def _codes(column: Column, evidence: Evidence, place: int, array: pa.Array) -> Ints:
    """Return the category of each row as the evidence numbers it; -1 for one that it does not know."""
    if column.labels:
        return read_codes(column, array).astype(np.int64)
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pa.array(evidence.labels[place], type=array.type)
    found: Ints = pc.index_in(array, value_set=known).fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return found


class _Finder:
    """Finds the combination that codes belong to, by their place in the order of all."""

    def __init__(self, evidence: Evidence) -> None:
        self.values = evidence.values.astype(np.int64)
        self.shape = tuple(len(labels) for labels in evidence.labels)
        self.wide = math.prod(self.shape) >= 1 << 62
        keys = np.zeros(len(self.values), dtype=np.int64) if self.wide else self._keys(list(self.values.T))
        self.order = np.argsort(keys, kind="stable")
        self.sorted = keys[self.order]

    def _keys(self, codes: list[Ints]) -> Ints:
        keys = np.zeros(len(codes[0]) if codes else len(self.values), dtype=np.int64)
        for code, size in zip(codes, self.shape, strict=True):
            keys = keys * size + code
        return keys

    def __call__(self, codes: list[Ints], rows: int) -> Ints:
        """Return (rows,) combinations.

        Raises:
            ValueError: if some row is of none: the release is of another table.
        """
        if not codes:
            return np.zeros(rows, dtype=np.int64)
        if any((code < 0).any() for code in codes):
            raise ValueError(UNKNOWN)
        if self.wide:
            both = [np.concatenate(pair) for pair in zip(self.values.T, codes, strict=True)]
            number, many = numbered(both, len(both[0]))
            place = np.full(many, -1, dtype=np.int64)
            place[number[: len(self.values)]] = np.arange(len(self.values))
            found = place[number[len(self.values) :]]
            right = found >= 0
        else:
            keys = self._keys(codes)
            at = np.minimum(np.searchsorted(self.sorted, keys), len(self.sorted) - 1)
            found, right = self.order[at], self.sorted[at] == keys
        if not right.all():
            raise ValueError(UNKNOWN)
        return found


def _values(channel: Groups, written: Written) -> tuple[Codes, Codes]:
    """Return (records,) the value and the group of every entry of the sensitive table."""
    values, groups = [np.zeros(0, dtype=np.int32)], [np.zeros(0, dtype=np.int32)]
    for code, number, times in _entries(channel, written):
        values.append(np.repeat(code.astype(np.int32), times))
        groups.append(np.repeat(number.astype(np.int32), times))
    return np.concatenate(values), np.concatenate(groups)


def _entries(channel: Groups, written: Written) -> Iterator[tuple[Ints, Ints, Ints]]:
    for batch in written.distinct(ST):
        code = read_codes(channel.sensitive, batch.column(channel.sensitive.name)).astype(np.int64)
        number, count, n = (_integers(batch.column(name)) for name in (channel.group.name, channel.count.name, "n"))
        yield np.maximum(code, 0), number, count * n


def _integers(column: pa.Array) -> Ints:
    """Return whole numbers, 0 for none."""
    numbers: Ints = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers
