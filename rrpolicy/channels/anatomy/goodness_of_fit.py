"""Test whether two written tables are a draw of dealt groups, given the original. False alarms: at most 1e-9.

**Exactly**: `qit` without the groups' numbers is the original without the sensitive attribute. The totals of `st` are
the sensitive attribute's counts; groups are numbered from 1 to floor(N/l). Each has as many records in one table as in
the other, l or more, and no value twice.

**In distribution**: given the values of each group,

- a value's records are dealt to the groups that contain it without replacement. The number of records of a category
  in groups that contain another value is then a sum of independent hypergeometric numbers, bounded by Bennett's
  inequality for draws with replacement (Hoeffding 1963, theorem 4).
- the number of pairs of records in one group that share a category: exchanging the groups of two records with one
  value changes it by 2 (n - 1) pairs at most, n the size of the largest group. If the groups are revealed record by
  record, its expectation changes by no more (Maurey 1979). Therefore (Azuma 1967)
  Pr(|T - E T| >= t) <= 2 exp(-2 t^2 / (N (2 (n - 1))^2)).
- the groups' numbers are a uniform permutation: those of the groups that contain a value, or one or two records of a
  category, are drawn without replacement, and their sum is bounded by Bennett's inequality likewise.

Of two sensitive attributes the counts fix the combinations of each group (see
`rrpolicy.channels.anatomy.partition_plan`): the numbers of groups with a value of the one and a value of the other
must be equal, too, and a combination's records are dealt at random among the groups that contain it.

The second test finds records that were dealt in the order of a file, the third groups numbered in the order of their
making. With m statistics, m times the smallest bound is an upper bound of the p-value. In distribution at most 2^22
groups, those with the lowest numbers, are tested: numbers carry no information, so these are as good as any.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.channels.anatomy.partition_plan import group_kinds_of_table, groups_of
from rrpolicy.channels.anatomy.released_tables import AnatomyTables, GroupEntries, read_released_tables
from rrpolicy.channels.product.goodness_of_fit import ConformityStatistics, bennett_surprise, fit_finding

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channels.anatomy.channel import AnatomyChannel
    from rrpolicy.counts import Array, Ints
    from rrpolicy.finding import Finding
    from rrpolicy.source.protocol import Original

REFERENCE = "Bennett 1962, eq. 8b; Hoeffding 1963, theorem 4; Azuma 1967; Maurey 1979"
_ALONE, _PAIR = 1, 2
_LARGEST = 1 << 20  # cells of a table that is tested
_ENTRIES = 1 << 23  # of the matrices that are multiplied at a time


def check_fit(
    groups: AnatomyChannel, original: Original, qit: pa.RecordBatchReader, st: Sequence[pa.RecordBatchReader]
) -> Finding:
    """Test a release; see the module.

    `qit` and each of `st` have distinct rows with a column `MULTIPLICITY`. The achieved number is an upper bound of the
    p-value: 0 if parts that must be equal differ.
    """
    evidence = ConformityStatistics()
    tables = read_released_tables(groups, original, qit, st)
    if isinstance(tables, str):
        return fit_finding(evidence, tables, (), REFERENCE)
    for own, places in zip(groups.sensitive, tables.values, strict=True):
        numbers = _group_number_surprise(places.group, places.code, len(own.labels), tables.groups)
        evidence.add(f"numbers of the groups with a {own.attribute}", numbers)
    law = _assignment_distribution(groups, original, tables)
    if isinstance(law, str):
        return fit_finding(evidence, law, (), REFERENCE)
    names = [own.attribute for own in groups.sensitive]
    if law is None:
        evidence.skipped.append(" x ".join((names * 2)[:2]))
        return fit_finding(evidence, None, (), REFERENCE)
    for column in groups.known:
        if len(column.labels) * math.prod(len(own.labels) for own in groups.sensitive) > _LARGEST:
            evidence.skipped.append(f"{column.attribute} x {' x '.join(names)}")
        elif column.labels:
            counts = original.counts(column.attribute, *names).dense().reshape(len(column.labels), -1)
            _test_assignment(column.attribute, counts[:, law.exchanged], names, tables, law, evidence)
    return fit_finding(evidence, None, (), REFERENCE)


class _AssignmentDistribution(Struct, frozen=True):
    """The records that are dealt at random, and their groups.

    Attributes:
        exchanged: (k,) values whose records are dealt at random among the groups that contain them; for two
            attributes, combinations of values, by their place among all.
        beside: for each sensitive column, (k, values) number of groups that contain both.
        pairs: given (categories, k) shares of each category among the records of each, the expected number of pairs of
            records in one group that share a category.
    """

    exchanged: Ints
    beside: tuple[Array, ...]
    pairs: Callable[[Array], float]


def _assignment_distribution(
    groups: AnatomyChannel, original: Original, tables: AnatomyTables
) -> _AssignmentDistribution | str | None:
    """Return the law, a difference between parts that must be equal, or None if the tables are too large."""
    sizes = [len(own.labels) for own in groups.sensitive]
    if len(sizes) == 1:
        if sizes[0] ** 2 > _LARGEST:
            return None
        (places,) = tables.values
        together = _cooccurrence_counts(places, sizes[0], places, sizes[0], tables.groups)
        above = np.triu(together, 1)
        return _AssignmentDistribution(
            np.arange(sizes[0]), (together,), lambda share: float((above * (share.T @ share)).sum())
        )
    number, _ = groups_of(original.records, groups.size)
    counts = original.counts(*(own.attribute for own in groups.sensitive))
    if number > tables.groups or len(counts.n) * max(sizes) > _LARGEST or math.prod(sizes) > _LARGEST:
        return None
    kinds = group_kinds_of_table(counts, groups.size)
    held = np.concatenate([np.array(kind.held, dtype=np.int64) for kind in kinds])
    many = np.array([kind.groups for kind in kinds], dtype=np.float64)
    starts = np.cumsum([0, *(len(kind.held) for kind in kinds)])[:-1]
    beside = tuple(np.zeros((len(counts.n), size)) for size in sizes)
    met = np.zeros(sizes)
    for kind in kinds:
        here = np.array(kind.held, dtype=np.int64)
        for place, out in enumerate(beside):
            out[np.ix_(here, counts.codes[here, place])] += kind.groups
        met[np.ix_(*counts.codes[here].T)] += kind.groups
    if (met != _cooccurrence_counts(tables.values[0], sizes[0], tables.values[1], sizes[1], tables.groups)).any():
        return "values of the two sensitive columns occur together in other groups than the original counts determine"

    def pairs(share: Array) -> float:
        here = share[:, held]
        sums = np.add.reduceat(here, starts, axis=1) ** 2 - np.add.reduceat(here**2, starts, axis=1)
        return float((sums @ many).sum()) / 2

    return _AssignmentDistribution(np.ravel_multi_index(tuple(counts.codes.T), tuple(sizes)), beside, pairs)


def _test_assignment(  # noqa: PLR0917 one statistic after the other of the same
    attribute: str,
    counts: Ints,
    names: Sequence[str],
    tables: AnatomyTables,
    law: _AssignmentDistribution,
    evidence: ConformityStatistics,
) -> None:
    """Add co-occurrences of categories and values, pairs of one category in a group, and a category's group numbers.

    `counts`: (categories, k) of the original.
    """
    places = tables.known[attribute]
    total = counts.sum(axis=0)
    share = np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)
    categories = len(counts)
    for name, values, beside in zip(names, tables.values, law.beside, strict=True):
        observed = _cooccurrence_counts(places, categories, values, beside.shape[1], tables.groups)
        mean = share @ beside
        # of a value's records not drawn as many are drawn as are left: the smaller number bounds the variance
        drawn = np.minimum(beside, np.maximum(total[:, None] - beside, 0))
        variance = (share * (1 - share)) @ drawn
        of = f" of {name}" if len(names) > 1 else ""
        evidence.add(f"{attribute}: with a value{of}", bennett_surprise(observed - mean, variance, 1.0, mean))
    group, code, met = _joint_counts(places, categories)
    pairs = float((met * (met - 1)).sum()) / 2
    width = 2 * max(tables.largest - 1, 1)
    records = float(tables.values[0].n.sum())
    exponent = 2 * max(abs(pairs - law.pairs(share)) - 1e-9 * records, 0.0) ** 2 / (records * width**2)
    evidence.add(f"{attribute}: pairs of one category in a group", np.array([exponent]))
    for least in (_ALONE, _PAIR):
        held = met >= least
        name = f"numbers of the groups with {least} or more of a {attribute}"
        evidence.add(name, _group_number_surprise(group[held], code[held], categories, tables.groups))


def _joint_counts(places: GroupEntries, size: int) -> tuple[Ints, Ints, Ints]:
    key = places.group * size + places.code
    order = np.argsort(key, kind="stable")
    key, n = key[order], places.n[order]
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1]))) if len(key) else np.zeros(0, np.int64)
    counts: Ints = np.add.reduceat(n, starts) if len(key) else n
    return key[starts] // size, key[starts] % size, counts


def _group_number_surprise(group: Ints, code: Ints, size: int, groups: int) -> Array:
    """Return the surprise in the sum of the numbers of each code's groups, as shares of the largest.

    `group`: (entries,) from 0, each once for a code; `code`: (entries,) category.
    """
    held = np.bincount(code, minlength=size).astype(np.float64)
    numbers = np.bincount(code, weights=(group + 1.0) / groups, minlength=size)
    mean = (groups + 1) / (2 * groups)
    # of many groups, those that are missing were drawn as well, and are fewer
    drawn = np.minimum(held, groups - held)
    variance = drawn * (groups**2 - 1) / (12 * groups**2)
    return bennett_surprise(numbers - held * mean, variance, 1.0, held)


def _cooccurrence_counts(one: GroupEntries, rows: int, other: GroupEntries, columns: int, groups: int) -> Array:
    """Return (rows, columns) the number of groups that contain an entry of each."""
    out = np.zeros((rows, columns))
    step = max(1, _ENTRIES // (rows + columns))
    pairs = zip(_group_blocks(one, rows, groups, step), _group_blocks(other, columns, groups, step), strict=True)
    for left, right in pairs:
        out += left.T @ right
    return out


def _group_blocks(places: GroupEntries, size: int, groups: int, step: int) -> Iterator[Array]:
    """Yield (groups, size) the number of records of each category in each group, some groups at a time."""
    edges = np.searchsorted(places.group, np.arange(0, groups + step, step))
    for index, low in enumerate(range(0, groups, step)):
        part = slice(edges[index], edges[index + 1])
        block = np.zeros((min(step, groups - low), size))
        np.add.at(block, (places.group[part] - low, places.code[part]), places.n[part])
        yield block
