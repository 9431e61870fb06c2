"""Written groups of anatomy: whether they satisfy the definition, and the exact posteriors that follow from them.

Posteriors are measured for the audit alone, of each person. The original gives the shares of the sensitive values among
people with equal quasi-identifiers; the release gives the person's group with the quasi-identifiers of all its members
(`rrpolicy.privacy.anatomy.permanents`). They decide nothing: redrawing until results look good would invalidate the
guarantee.

Only the key could determine which of a group's values is whose. The reported number is therefore the highest posterior
of any value. It is at least that of the true one, and equal to it where it is 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.channels.anatomy.channel import QIT, ST, AnatomyChannel
from rrpolicy.channels.anatomy.partition_plan import groups_of
from rrpolicy.channels.values import read_codes
from rrpolicy.counts import number_rows
from rrpolicy.engine.arrays import as_numpy, typed_array, value_positions
from rrpolicy.finding import Basis, Companion, Finding, Measure, Risk
from rrpolicy.privacy.anatomy.group_evidence import gather_groups
from rrpolicy.privacy.anatomy.permanents import MOST_MEMBERS, member_posteriors
from rrpolicy.privacy.cells import distinct_row_index
from rrpolicy.privacy.disclosure.risk import highest_risk_groups, risk_histograms
from rrpolicy.source.protocol import MULTIPLICITY

if TYPE_CHECKING:
    import pyarrow as pa

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
UNKNOWN = "the release contains combinations that the original does not have"
SURE = 1 - 1e-12
"""The posterior from which a value counts as certain."""
_CHUNK = 1 << 18


def empirical_diversity(channel: AnatomyChannel, written: Written) -> tuple[int, Fraction | None]:
    """Return the number of written records, and the largest share of one value in a group that is not as defined.

    The share is None if every group has l or more values of each attribute, each once, and as many values as records.
    It is 1 if a group cannot be identified.
    """
    held = [(number, n) for number, n, _ in _group_rows(channel, written.distinct(QIT), None)]
    records = sum(int(n.sum()) for _, n in held)
    shares = [_largest_share(channel, held, records, written.distinct(table)) for table in channel.of_values]
    return records, max((share for share in shares if share is not None), default=None)


def _largest_share(
    channel: AnatomyChannel, held: Sequence[tuple[Ints, Ints]], records: int, rows: Iterable[pa.RecordBatch]
) -> Fraction | None:
    """Return the share of `empirical_diversity` for one table of values; `held` has (group, records) of the rows."""
    values = list(_group_rows(channel, rows, channel.count.name))
    groups, _ = groups_of(records, channel.size)
    numbers = [number for number, *_ in (*held, *values)]
    if not groups or any(int(n.min(initial=1)) < 1 or int(n.max(initial=1)) > groups for n in numbers):
        return Fraction(1)
    inside, stated, most = (np.zeros(groups + 1, dtype=np.int64) for _ in range(3))
    repeated = False
    for number, n in held:
        np.add.at(inside, number, n)
    for number, n, count in values:
        np.add.at(stated, number, n * count)
        np.maximum.at(most, number, n * count)
        repeated |= bool((n > 1).any())
    inside, stated, most = inside[1:], stated[1:], most[1:]
    if repeated or (inside != stated).any() or (stated == 0).any():
        return Fraction(1)
    if (most == 1).all() and (stated >= channel.size).all():
        return None
    return max(Fraction(int(a), int(b)) for a, b in zip(most, stated, strict=True))


def _group_rows(
    channel: AnatomyChannel, reader: Iterable[pa.RecordBatch], count: str | None
) -> Iterator[tuple[Ints, Ints, Ints]]:
    """Yield the group number, the multiplicity and the count of distinct rows."""
    for batch in reader:
        number, n = (_integer_array(batch.column(name)) for name in (channel.group.name, MULTIPLICITY))
        yield number, n, n if count is None else _integer_array(batch.column(count))


def _integer_array(column: pa.Array) -> Ints:
    """Return whole numbers, 0 for a missing one."""
    numbers: Ints = as_numpy(column, absent=0).astype(np.int64)
    return numbers


class _GroupPosteriors(Struct, frozen=True):
    """Posteriors of everybody.

    Attributes:
        combination: (people,) the combination of each person, by number.
        highest: (people,) the highest posterior of any value.
        expected: (combinations, values) the sum of posteriors of each value.
        own: (combinations, values) the sum of their squares: the expected posterior of the value where it is true.
    """

    combination: Codes
    highest: Array
    expected: Array
    own: Array


def posterior_finding(channel: AnatomyChannel, original: Original, written: Written) -> Finding | None:
    """Return the posteriors of everybody; None if groups are too large to compute them, or differ in two attributes."""
    if len(channel.sensitive) > 1:  # which values belong together has no short law, and is in no table
        return None
    name = channel.sensitive[0].attribute
    if channel.size + original.records % channel.size > MOST_MEMBERS:
        return None
    evidence = gather_groups(channel, original, name)
    shares = evidence.shares
    found = _group_posteriors(channel, evidence, shares, written)
    most = found.highest
    read = np.divide(found.own, found.expected, out=np.zeros_like(found.own), where=found.expected > 0)
    everybody = np.broadcast_to(np.int64(1), len(most))
    top = highest_risk_groups(evidence, most, everybody, found.combination)
    companions = (
        ("people with a posterior of 1", float((most >= SURE).sum()), CERTAIN, Risk.READING),
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
            Companion(of, Measure(n), Basis.ORIGINAL, text, name, certain_of=risk) for of, n, text, risk in companions
        ),
        profile=risk_histograms(QUANTITY.format(name), most, shares.max(axis=1)[found.combination], everybody, top),
        reference=REFERENCE,
        assessor="rrpolicy",
        chance_of=Risk.READING,
    )


def _group_posteriors(channel: AnatomyChannel, evidence: Evidence, shares: Array, written: Written) -> _GroupPosteriors:
    """Compute everybody's posteriors; a group on which the tables disagree counts as hiding nothing.

    Members and values of a group are sorted by kinds of equal shares, so that equivalent groups are equal rows.
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
    found = _GroupPosteriors(combination, np.ones(len(combination)), np.zeros(shares.shape), np.zeros(shares.shape))
    for members in np.unique(size[size <= MOST_MEMBERS]).tolist():
        same = np.flatnonzero(size == members)
        step = max(1, _CHUNK // members)
        for low in range(0, len(same), step):
            part = same[low : low + step, None]
            who, values = here[part] + np.arange(members), stated[part] + np.arange(members)
            _record_posteriors(found, kinds, kind, who, codes[values])
    return found


class _GroupedEntries(Struct, frozen=True):
    """Entries of a written table, group by group.

    Attributes:
        code: (entries,) non-decreasing in each group.
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
        keys.resize(known + len(group), refcheck=False)  # in place: a copy would need twice the memory
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
    """Return the starts of members and values, and the size, of each group with as many members as values."""
    mine = others = np.arange(len(member.number))
    if not np.array_equal(member.number, entry.number):
        _, mine, others = np.intersect1d(member.number, entry.number, assume_unique=True, return_indices=True)
    agreed = member.size[mine] == entry.size[others]
    return member.start[mine[agreed]], entry.start[others[agreed]], member.size[mine[agreed]]


def _record_posteriors(found: _GroupPosteriors, shares: Array, kind: Ints, people: Ints, values: Codes) -> None:
    """Enter the posteriors of (groups, members) people whose groups have (groups, members) values.

    Args:
        found: the result to fill in.
        shares: (kinds, values) of people of each kind.
        kind: (combinations,) the kind of each.
        people: positions of the members.
        values: values of each group.
    """
    who = found.combination[people]
    members = who.shape[1]
    rows: Ints = np.concatenate((kind[who], values), axis=1)
    first, pattern = distinct_row_index(rows)
    distinct = rows[first]
    posterior = member_posteriors(shares[distinct[:, :members, None], distinct[:, None, members:]])
    # a reduction by columns: max along short rows is slow; sums of products can exceed 1 in the last digit
    found.highest[people] = np.minimum(reduce(np.maximum, np.moveaxis(posterior, 2, 0)), 1.0)[pattern]
    place = (who[:, :, None].astype(np.int64) * found.own.shape[1] + values[:, None, :]).reshape(-1)
    every = posterior[pattern].reshape(-1)
    np.add.at(found.expected.reshape(-1), place, every)
    np.add.at(found.own.reshape(-1), place, every * every)


def _group_members(
    channel: AnatomyChannel, evidence: Evidence, rank: Ints, written: Written
) -> Iterator[tuple[Ints, Ints]]:
    """Yield the group of members, and the rank of the combination of each."""
    columns = {c.attribute: c for c in channel.known}
    wanted = [columns[name] for name in evidence.names]
    find = _CombinationIndex(evidence)
    for batch in written.unordered(QIT, channel.group.name, *(c.name for c in wanted)):
        codes: list[Ints] = []
        for column, labels in zip(wanted, evidence.labels, strict=True):
            array = batch.column(column.name)
            if column.labels:
                codes.append(read_codes(column, array).astype(np.int64))
            else:
                codes.append(value_positions(array, typed_array(labels, array.type)))  # -1 for an unknown value
        yield _integer_array(batch.column(channel.group.name)), rank[find(codes, batch.num_rows)]


class _CombinationIndex:
    """Finds the combination of codes by its position in the order of all."""

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
            ValueError: if a row has none: the release is of another table.
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
    """Yield the group and the code of entries of the sensitive table, each repeated by its count."""
    (own,) = channel.sensitive
    names = channel.group.name, own.name, channel.count.name
    for batch in written.unordered(ST, *names):
        number, values, count = (batch.column(name) for name in names)
        code = np.maximum(read_codes(own, values), 0)
        times = _integer_array(count)
        yield np.repeat(_integer_array(number), times), np.repeat(code, times)
