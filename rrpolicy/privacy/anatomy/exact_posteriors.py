"""What dealt groups tell of everybody, once they are written: exact posteriors, measured for the audit alone.

Of each person it takes the shares of the sensitive values among people with the same quasi-identifiers, from the
original, and the person's group with the quasi-identifiers of all its members, from the release; see
`rrpolicy.privacy.anatomy.permanents`. It decides nothing: redrawing until it pleases would destroy the guarantee.

Which of a group's values is whose, only the key could tell. So shown is the highest posterior of any value, which is at
least that of the true one, and equal to it where it is 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channels.anatomy.channel import QIT, ST, AnatomyChannel
from rrpolicy.channels.values import read_codes
from rrpolicy.counts import number_rows
from rrpolicy.engine.arrays import as_numpy, typed_array, value_positions
from rrpolicy.finding import Basis, Companion, Finding, Measure, Risk
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.privacy.anatomy.group_evidence import gather_groups
from rrpolicy.privacy.anatomy.permanents import MOST_MEMBERS, member_posteriors
from rrpolicy.privacy.cells import distinct_row_index
from rrpolicy.privacy.disclosure.risk_profile import highest_risk_groups, risk_histograms

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channels.table import Column
    from rrpolicy.counts import Array, Codes, Ints
    from rrpolicy.privacy.evidence import Evidence
    from rrpolicy.privacy.model import Written
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
CERTAIN = (
    "people whose value is certain, as the groups were written, for an attacker who knows which group is theirs and "
    "how many people with the same quasi-identifiers have each value in the original table"
)
ATTAINED = (
    "c_u times the expected posterior of the true value over the written groups, the largest of any people and value: "
    "what the risk of attribute disclosure came to in this draw"
)
UNKNOWN = "the release holds combinations that the original does not have"
SURE = 1 - 1e-12
"""A posterior from which on a value is taken for certain."""
_CHUNK = 1 << 18


@frozen
class _GroupPosteriors:
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


def posterior_measures(channel: AnatomyChannel, original: Original, written: Written) -> Finding | None:
    """Return what is measured of everybody.

    Args:
        channel: the groups.
        original: the table.
        written: both tables as they were written.

    Returns:
        None if groups are too large to compute it, or differ in two attributes.
    """
    if len(channel.sensitive) > 1:  # which values belong together has no short law, and stands in no table
        return None
    name = channel.sensitive[0].attribute
    if channel.size + original.records % channel.size > MOST_MEMBERS:
        return None
    evidence = gather_groups(channel, original, name)
    shares = evidence.shares
    told = _group_posteriors(channel, evidence, shares, written)
    most = told.highest
    certain = most >= SURE
    read = np.divide(told.own, told.expected, out=np.zeros_like(told.own), where=told.expected > 0)
    everybody = np.broadcast_to(np.int64(1), len(most))
    top = highest_risk_groups(evidence, most, everybody, told.combination)
    beside = (
        ("people with a posterior of 1", float(certain.sum()), CERTAIN, Risk.READING),
        ("mean highest posterior", float(most.mean()) if len(most) else 0.0, MEAN, None),
        ("risk attained", float((shares * read).max(initial=0.0)), ATTAINED, None),
    )
    return Finding(
        code=NAME,
        model=NAME,
        requirement=MEASURED,
        promise=f"Guessing the value: how likely the groups, as they were written, make the likeliest value of {name}.",
        place=None,
        achieved=Measure(float(most.max(initial=0.0))),
        limit=None,
        verdict=None,
        basis=Basis.ORIGINAL,
        adversary=ADVERSARY,
        companions=tuple(
            Companion(what, Measure(n), Basis.ORIGINAL, text, name, certain_of=risk) for what, n, text, risk in beside
        ),
        profile=risk_histograms(QUANTITY.format(name), most, shares.max(axis=1)[told.combination], everybody, top),
        reference=REFERENCE,
        assessor="rrpolicy",
        chance_of=Risk.READING,
    )


def _group_posteriors(channel: AnatomyChannel, evidence: Evidence, shares: Array, written: Written) -> _GroupPosteriors:
    """Compute everybody's posteriors; where both tables disagree on a group, it is taken to hide nothing.

    Members and values of a group are put in order, by what the shares tell apart, so that groups alike are equal rows.
    """
    people = evidence.histograms
    first, kind = distinct_row_index(people // np.gcd.reduce(people, axis=1, keepdims=True))
    kinds, order = shares[first], np.argsort(kind, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    member = _group_entries(_group_members(channel, evidence, rank, written), len(order))
    entry = _group_entries(_sensitive_entries(channel, written), shares.shape[1])
    here, stated, size = _matching_groups(member, entry)
    codes, combination = entry.code, member.code
    del entry, member
    np.take(order.astype(np.int32), combination, out=combination, mode="clip")
    told = _GroupPosteriors(combination, np.ones(len(combination)), np.zeros(shares.shape), np.zeros(shares.shape))
    for members in np.unique(size[size <= MOST_MEMBERS]).tolist():
        same = np.flatnonzero(size == members)
        step = max(1, _CHUNK // members)
        for low in range(0, len(same), step):
            part = same[low : low + step, None]
            who, values = here[part] + np.arange(members), stated[part] + np.arange(members)
            _record_posteriors(told, kinds, kind, who, codes[values])
    return told


@frozen
class _GroupedEntries:
    """Entries of a written table, group by group.

    Attributes:
        code: (entries,) of each entry; in a group they do not decrease.
        number: (groups,) the groups' numbers, increasing.
        start: (groups,) where each begins.
        size: (groups,) its entries.
    """

    code: Codes
    number: Ints
    start: Ints
    size: Ints


def _group_entries(parts: Iterable[tuple[Ints, Ints]], codes: int) -> _GroupedEntries:
    """Return entries group by group from (group, code) of each, codes below `codes`."""
    bits = (codes - 1).bit_length()
    keys = np.zeros(0, dtype=np.int64)
    for group, code in parts:
        known = len(keys)
        keys.resize(known + len(group), refcheck=False)  # in place: the parts beside the whole would be twice as much
        keys[known:] = (group << bits) + code
    if np.any(keys[1:] < keys[:-1]):
        keys.sort()
    new = np.ones(len(keys), dtype=np.bool_)
    for low in range(1, len(keys), _CHUNK):
        part = keys[low - 1 : low + _CHUNK] >> bits
        new[low : low + _CHUNK] = part[1:] != part[:-1]
    start = np.flatnonzero(new)
    number = keys[start] >> bits
    keys &= (1 << bits) - 1
    return _GroupedEntries(keys.astype(np.int32), number, start, np.diff(start, append=len(keys)))


def _matching_groups(member: _GroupedEntries, entry: _GroupedEntries) -> tuple[Ints, Ints, Ints]:
    """Return where each group's members begin, where its values do, and how many, of groups with as many of both."""
    mine = others = np.arange(len(member.number))
    if not np.array_equal(member.number, entry.number):
        _, mine, others = np.intersect1d(member.number, entry.number, assume_unique=True, return_indices=True)
    agreed = member.size[mine] == entry.size[others]
    return member.start[mine[agreed]], entry.start[others[agreed]], member.size[mine[agreed]]


def _record_posteriors(told: _GroupPosteriors, shares: Array, kind: Ints, people: Ints, values: Codes) -> None:
    """Enter (groups, members) people whose groups have (groups, members) values.

    Args:
        told: takes it.
        shares: (kinds, values) of people of each kind.
        kind: (combinations,) the kind of each.
        people: places of the members.
        values: of each group.
    """
    who = told.combination[people]
    members = who.shape[1]
    rows: Ints = np.concatenate((kind[who], values), axis=1)
    first, pattern = distinct_row_index(rows)
    distinct = rows[first]
    found = member_posteriors(shares[distinct[:, :members, None], distinct[:, None, members:]])
    told.highest[people] = reduce(np.maximum, np.moveaxis(found, 2, 0))[pattern]  # along short rows max is slow
    place = (who[:, :, None].astype(np.int64) * told.own.shape[1] + values[:, None, :]).reshape(-1)
    every = found[pattern].reshape(-1)
    np.add.at(told.expected.reshape(-1), place, every)
    np.add.at(told.own.reshape(-1), place, every * every)


def _group_members(
    channel: AnatomyChannel, evidence: Evidence, rank: Ints, written: Written
) -> Iterator[tuple[Ints, Ints]]:
    """Yield the group of members, and the rank of the combination of each."""
    columns = {c.attribute: c for c in channel.known}
    wanted = [columns[name] for name in evidence.names]
    find = _CombinationIndex(evidence)
    for batch in written.unordered(QIT, channel.group.name, *(c.name for c in wanted)):
        codes = [_evidence_codes(c, evidence, i, batch.column(c.name)) for i, c in enumerate(wanted)]
        yield _integer_array(batch.column(channel.group.name)), rank[find(codes, batch.num_rows)]


def _evidence_codes(column: Column, evidence: Evidence, place: int, array: pa.Array) -> Ints:
    """Return the category of each row as the evidence numbers it; -1 for one that it does not know."""
    if column.labels:
        return read_codes(column, array).astype(np.int64)

    known = typed_array(evidence.labels[place], array.type)
    found: Ints = value_positions(array, known)
    return found


class _CombinationIndex:
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
            number, many = number_rows(both, len(both[0]))
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


def _sensitive_entries(channel: AnatomyChannel, written: Written) -> Iterator[tuple[Ints, Ints]]:
    """Yield the group and the code of entries of the sensitive table, each as often as it counts."""
    (own,) = channel.sensitive
    names = channel.group.name, own.name, channel.count.name
    for batch in written.unordered(ST, *names):
        number, values, count = (batch.column(name) for name in names)
        code = np.maximum(read_codes(own, values), 0)
        times = _integer_array(count)
        yield np.repeat(_integer_array(number), times), np.repeat(code, times)


def _integer_array(column: pa.Array) -> Ints:
    """Return whole numbers, 0 for none."""
    numbers: Ints = as_numpy(column, absent=0).astype(np.int64)
    return numbers
