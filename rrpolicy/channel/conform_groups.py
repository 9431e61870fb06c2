"""Do two written tables look like a draw of dealt groups, given the original? False alarms: at most 1e-9.

**Exactly**: `qit` without the groups' numbers is the original without the sensitive attribute; the totals of `st` are
the sensitive attribute's counts; groups are numbered from 1 to floor(N/l); each has as many records in one table as in
the other, l or more, and no value twice.

**In distribution**: given which values stand in which group,

- a value's records are dealt to the groups that hold it without replacement. How many records of a category stand in
  groups that hold another value is then a sum of independent hypergeometric numbers, bounded by Bennett's inequality
  for draws with replacement (Hoeffding 1963, theorem 4).
- how many pairs of records in one group share a category: exchanging the groups of two records with one value changes
  that by 2 (n - 1) pairs at most, n the size of the largest group, so that (McDiarmid 1989, theorem 7.4, by groups of
  permutations)  Pr(|T - E T| >= t) <= 2 exp(-2 t^2 / (N (2 (n - 1))^2)).
- the groups' numbers are a uniform permutation, so that sums over groups of a number in [0, 1] times the group's share
  of the largest number have (Chatterjee 2007, proposition 1.1)  Pr(|T - E T| >= t) <= 2 exp(-t^2 / (4 E T + 2 t)):
  for the groups that hold a value, and for how many records of a category a group holds.

The second finds records that were dealt in the order of a file, the third groups numbered as they were made. With m
statistics, m times the smallest bound is an upper bound of the p-value. In distribution at most 2^22 groups, those with
the lowest numbers, are looked at: numbers say nothing, so these are as good as any.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channel.conform import Evidence, finding_of, surprise
from rrpolicy.channel.read_groups import Places, Tables, read_tables

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channel.groups import Groups
    from rrpolicy.finding import Finding
    from rrpolicy.source.counts import Array, Ints
    from rrpolicy.source.protocol import Original

REFERENCE = "Hoeffding 1963, theorem 4; McDiarmid 1989, theorem 7.4; Chatterjee 2007, proposition 1.1"
_LARGEST = 1 << 20  # cells of a table that is tested
_ENTRIES = 1 << 23  # of the matrices that are multiplied at a time


def conforms(groups: Groups, original: Original, qit: pa.RecordBatchReader, st: pa.RecordBatchReader) -> Finding:
    """Test a release; see the module.

    Args:
        groups: what it was promised to come from.
        original: the table it was drawn from.
        qit: distinct rows of the quasi-identifiers' table, with a column `n`.
        st: distinct rows of the sensitive table, likewise.

    Returns:
        `reached` is an upper bound of the p-value: 0 where something that must be equal is not.
    """
    evidence = Evidence()
    tables = read_tables(groups, original, qit, st)
    if isinstance(tables, str):
        return finding_of(evidence, tables, (), REFERENCE)
    name, values = groups.sensitive.attribute, len(groups.sensitive.labels)
    if values * values > _LARGEST:
        evidence.skipped.append(f"{name} x {name}")
        return finding_of(evidence, None, (), REFERENCE)
    together = _together(tables.values, values, tables.values, values, tables.groups)
    _test_numbers(f"numbers of the groups that hold a {name}", tables, tables.values, values, 1, evidence)
    for column in groups.known:
        if len(column.labels) * values > _LARGEST:
            evidence.skipped.append(f"{column.attribute} x {name}")
        elif column.labels:
            counts = original.counts(column.attribute, name).dense()
            _test_dealing(column.attribute, counts, tables, together, evidence)
    return finding_of(evidence, None, (), REFERENCE)


def _test_dealing(attribute: str, counts: Ints, tables: Tables, together: Array, evidence: Evidence) -> None:
    """Add who stands with which values, pairs of one category in a group, and the numbers of a category's groups.

    Args:
        attribute: one of those that are known.
        counts: (categories, values) of the original.
        tables: as released.
        together: (values, values) groups that hold both.
        evidence: takes the statistics.
    """
    places = tables.known[attribute]
    total = counts.sum(axis=0)
    share = np.divide(counts, total, out=np.zeros(counts.shape), where=total > 0)
    categories, values = counts.shape
    observed = _together(places, categories, tables.values, values, tables.groups)
    mean = share @ together
    # of a value's records not drawn as many are drawn as are left: the smaller number bounds the variance
    drawn = np.minimum(together, np.maximum(total[:, None] - together, 0))
    variance = (share * (1 - share)) @ drawn
    evidence.add(f"{attribute}: beside a value", surprise(observed - mean, variance, 1.0, mean))
    met = _met(places, categories)
    pairs = float((met * (met - 1)).sum()) / 2
    expected = float((np.triu(together, 1) * (share.T @ share)).sum())
    width = 2 * max(tables.largest - 1, 1)
    records = float(tables.values.n.sum())
    exponent = 2 * max(abs(pairs - expected) - 1e-9 * records, 0.0) ** 2 / (records * width**2)
    evidence.add(f"{attribute}: pairs of one category in a group", np.array([exponent]))
    _test_numbers(f"numbers of the groups of a {attribute}", tables, places, categories, tables.largest, evidence)


def _met(places: Places, categories: int) -> Ints:
    """Return how many records of one category stand in one group, of every group and category that meet."""
    key = places.group * categories + places.code
    order = np.argsort(key, kind="stable")
    key, n = key[order], places.n[order]
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1]))) if len(key) else np.zeros(0, np.int64)
    counts: Ints = np.add.reduceat(n, starts) if len(key) else n
    return counts


def _test_numbers(  # noqa: PLR0917 what a sum is of
    name: str, tables: Tables, places: Places, size: int, most: int, evidence: Evidence
) -> None:
    """Add sums of groups' numbers, as shares of the largest, over the records of each category.

    Args:
        name: of the statistics.
        tables: as released.
        places: of a column's categories.
        size: how many categories there are.
        most: records of one category that a group can have.
        evidence: takes the statistics.
    """
    held = np.bincount(places.code, weights=places.n, minlength=size) / most
    numbers = np.bincount(places.code, weights=places.n * (places.group + 1.0), minlength=size) / most / tables.groups
    middle = (tables.groups + 1) / (2 * tables.groups)
    # what is missing to `most` in every group is as good a statistic, and smaller where most groups are full
    mean = np.minimum(held, tables.groups - held) * middle
    away = np.maximum(np.abs(numbers - held * middle) - 1e-9 * tables.groups, 0.0)
    exponent = np.divide(away**2, 4 * mean + 2 * away, out=np.zeros(size), where=away > 0)
    evidence.add(name, exponent)


def _together(one: Places, rows: int, other: Places, columns: int, groups: int) -> Array:
    """Return (rows, columns) how often an entry of the one stands in a group with an entry of the other."""
    out = np.zeros((rows, columns))
    step = max(1, _ENTRIES // (rows + columns))
    pairs = zip(_blocks(one, rows, groups, step), _blocks(other, columns, groups, step), strict=True)
    for left, right in pairs:
        out += left.T @ right
    return out


def _blocks(places: Places, size: int, groups: int, step: int) -> Iterator[Array]:
    """Yield (groups, size) how many of each category stand in each group, some groups at a time."""
    edges = np.searchsorted(places.group, np.arange(0, groups + step, step))
    for index, low in enumerate(range(0, groups, step)):
        part = slice(edges[index], edges[index + 1])
        block = np.zeros((min(step, groups - low), size))
        np.add.at(block, (places.group[part] - low, places.code[part]), places.n[part])
        yield block
