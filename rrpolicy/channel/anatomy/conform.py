"""Do two written tables look like a draw of dealt groups, given the original? False alarms: at most 1e-9.

**Exactly**: `qit` without the groups' numbers is the original without the sensitive attribute; the totals of `st` are
the sensitive attribute's counts; groups are numbered from 1 to floor(N/l); each has as many records in one table as in
the other, l or more, and no value twice.

**In distribution**: given which values stand in which group,

- a value's records are dealt to the groups that hold it without replacement. How many records of a category stand in
  groups that hold another value is then a sum of independent hypergeometric numbers, bounded by Bennett's inequality
  for draws with replacement (Hoeffding 1963, theorem 4).
- how many pairs of records in one group share a category: exchanging the groups of two records with one value changes
  that by 2 (n - 1) pairs at most, n the size of the largest group. Told record by record, its expectation moves by no
  more (Maurey 1979), so that (Azuma 1967)  Pr(|T - E T| >= t) <= 2 exp(-2 t^2 / (N (2 (n - 1))^2)).
- the groups' numbers are a uniform permutation: those of the groups that hold a value, or one or two records of a
  category, are drawn without replacement, and their sum is bounded by Bennett's inequality likewise.

The second finds records that were dealt in the order of a file, the third groups numbered as they were made. With m
statistics, m times the smallest bound is an upper bound of the p-value. In distribution at most 2^22 groups, those with
the lowest numbers, are looked at: numbers say nothing, so these are as good as any.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channel.anatomy.read import Places, Tables, read_tables
from rrpolicy.channel.product.conform import Evidence, finding_of, surprise

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channel.anatomy.channel import AnatomyChannel
    from rrpolicy.finding import Finding
    from rrpolicy.source.counts import Array, Ints
    from rrpolicy.source.protocol import Original

REFERENCE = "Bennett 1962, eq. 8b; Hoeffding 1963, theorem 4; Azuma 1967; Maurey 1979"
_ALONE, _PAIR = 1, 2
_LARGEST = 1 << 20  # cells of a table that is tested
_ENTRIES = 1 << 23  # of the matrices that are multiplied at a time


def conforms(
    groups: AnatomyChannel, original: Original, qit: pa.RecordBatchReader, st: pa.RecordBatchReader
) -> Finding:
    """Test a release; see the module.

    Args:
        groups: what it was promised to come from.
        original: the table it was drawn from.
        qit: distinct rows of the quasi-identifiers' table, with a column `MULTIPLICITY`.
        st: distinct rows of the sensitive table, likewise.

    Returns:
        `achieved` is an upper bound of the p-value: 0 where something that must be equal is not.
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
    numbers = _numbers(tables.values.group, tables.values.code, values, tables.groups)
    evidence.add(f"numbers of the groups with a {name}", numbers)
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
    group, code, met = _met(places, categories)
    pairs = float((met * (met - 1)).sum()) / 2
    expected = float((np.triu(together, 1) * (share.T @ share)).sum())
    width = 2 * max(tables.largest - 1, 1)
    records = float(tables.values.n.sum())
    exponent = 2 * max(abs(pairs - expected) - 1e-9 * records, 0.0) ** 2 / (records * width**2)
    evidence.add(f"{attribute}: pairs of one category in a group", np.array([exponent]))
    for least in (_ALONE, _PAIR):
        held = met >= least
        name = f"numbers of the groups with {least} or more of a {attribute}"
        evidence.add(name, _numbers(group[held], code[held], categories, tables.groups))


def _met(places: Places, size: int) -> tuple[Ints, Ints, Ints]:
    """Return group, code and records of every group and category that meet."""
    key = places.group * size + places.code
    order = np.argsort(key, kind="stable")
    key, n = key[order], places.n[order]
    starts = np.flatnonzero(np.concatenate(([True], key[1:] != key[:-1]))) if len(key) else np.zeros(0, np.int64)
    counts: Ints = np.add.reduceat(n, starts) if len(key) else n
    return key[starts] // size, key[starts] % size, counts


def _numbers(group: Ints, code: Ints, size: int, groups: int) -> Array:
    """Return the surprise in the sum of the numbers of each code's groups, as shares of the largest.

    Args:
        group: (entries,) from 0, each once for a code.
        code: (entries,) category.
        size: how many categories there are.
        groups: how many groups there are.
    """
    held = np.bincount(code, minlength=size).astype(np.float64)
    numbers = np.bincount(code, weights=(group + 1.0) / groups, minlength=size)
    mean = (groups + 1) / (2 * groups)
    # of many groups, those that are missing were drawn as well, and are fewer
    drawn = np.minimum(held, groups - held)
    variance = drawn * (groups**2 - 1) / (12 * groups**2)
    return surprise(numbers - held * mean, variance, 1.0, held)


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
