"""Numbers of dealt groups: bounds of means and totals over all assignments of a group's values to its records.

Of a group of n records and values, a records satisfy the condition on one table, and b values the condition on the
other: between max(0, a + b - n) and min(a, b) records are in both, and any selection of that many of the a records is
possible. So the largest mean takes the largest numbers of each group: the fewest that are possible, and more of them
as long as they raise it. If the numbers are the dealt values themselves, a of the n values of a group belong to the
selected records.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from rrpolicy.counts import Array, Ints
from rrpolicy.engine.arrays import as_numpy
from rrpolicy.engine.quoting import identifier
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.condition import Condition
from rrpolicy.estimate.counts.numeric_categories import category_numbers, check_numbers
from rrpolicy.estimate.counts.scan import codes_of, manifest_mismatch_error, open_query
from rrpolicy.estimate.weights.anatomy import AnatomyWeights
from rrpolicy.estimate.weights.base import AxisWeights, IdentityWeights, Mask
from rrpolicy.frozen import replace

if TYPE_CHECKING:
    from rrpolicy.canonical_json import Value
    from rrpolicy.estimate.counts.scan import DataFile
    from rrpolicy.estimate.release import Release


class AnatomyRecords(Struct, frozen=True):
    """Records and values by group, numbered from 0.

    Attributes:
        of: (records,) the group.
        codes: for each axis of the records, (records,) the released cell.
        y: (records,) the number; NaN for none.
        group: (entries,) of the table of values: the group.
        value: (entries,) the position of the value.
        times: (entries,) number of times that the value occurs in the group.
        groups: number of groups.
    """

    of: Ints
    codes: list[Ints]
    y: Array
    group: Ints
    value: Ints
    times: Ints
    groups: int


class CandidateNumbers(Struct, frozen=True):
    """Numbers of which a bounded number per group is counted, for one row.

    Attributes:
        group: (numbers,) the group of each.
        y: (numbers,).
        least: (groups,) the fewest of them.
        most: (groups,) the most.
        weight: (numbers,) the chance of each if values go with records by chance.
        everybody: records of the row by that chance, those without a number included.
    """

    group: Ints
    y: Array
    least: Ints
    most: Ints
    weight: Array
    everybody: float

    def extreme(self) -> tuple[Array, Array]:
        """Return the numbers that are certain to be counted, and those that may be, where the largest are taken."""
        order = np.lexsort((-self.y, self.group))
        group = self.group[order]
        first = np.searchsorted(group, group)
        rank = np.arange(len(group)) - first
        y = self.y[order]
        return y[rank < self.least[group]], y[(rank >= self.least[group]) & (rank < self.most[group])]

    def mirrored(self) -> CandidateNumbers:
        """Return the same with the sign of every number turned."""
        return replace(self, y=-self.y)


class AnatomyNumbers(Struct, frozen=True):
    """Numbers by rows, where values of groups may go with any of their records.

    Attributes:
        rows: the numbers that each row can count.
        categories: categories of the column that are not numbers.
        missing: records without a number, if it is released unmodified.
    """

    rows: tuple[CandidateNumbers, ...]
    categories: tuple[Value, ...]
    missing: int


def anatomy_numbers(
    release: Release, name: str, shared: AnatomyWeights, asked: Sequence[tuple[AxisWeights, Mask]], condition: Condition
) -> AnatomyNumbers:
    """Return the numbers that each row can count.

    `asked`: the axes with the categories in each group, (V, groups), with or without the sensitive axis.

    Raises:
        PolicyError: RR274 if the column contains no numbers.
    """
    plain = [(axis, mask) for axis, mask in asked if axis is not shared]
    own = release.columns.axes.get(name)
    numbers, among = np.zeros(0), np.zeros(0, dtype=bool)
    absent: tuple[Value, ...] = ()
    if own is not None:
        sizes = category_numbers(release.columns, name, condition.leaves(own))
        numbers, among, absent = np.where(sizes.known, sizes.y, np.nan), sizes.among, sizes.absent
    else:
        check_numbers(release.columns, name)
    source = own if own is not None and own is not shared else None
    read = [*(axis for axis, _ in plain), *([source] if source else [])]
    found = _read_tables(release, name, shared, read, condition, carried=own is None)
    y = numbers[found.codes[-1]] if source else found.y
    size = np.bincount(found.group, found.times, found.groups).astype(np.int64)
    rows: list[CandidateNumbers] = []
    shape = [mask.shape[1] for _, mask in asked]
    for place in np.ndindex(*shape) if shape else [()]:
        inside: Mask = np.ones(len(found.of), dtype=bool)
        values: Mask = np.ones(len(shared.original), dtype=bool)
        code = iter(found.codes)
        for (axis, mask), k in zip(asked, place, strict=True):
            if axis is shared:
                values = values & mask[:, k]
            else:
                inside &= mask[next(code), k]
        a = np.bincount(found.of[inside], minlength=found.groups)
        if own is shared:
            rows.append(_select_values(found, numbers, among, a, size))
            continue
        held = values[found.value]
        b = np.bincount(found.group[held], found.times[held], found.groups).astype(np.int64)
        has = inside & ~np.isnan(y)
        numbered = np.bincount(found.of[has], minlength=found.groups)
        least = np.maximum(np.maximum(a + b - size, 0) - (a - numbered), 0)
        most = np.minimum(np.minimum(a, b), numbered)
        chance = b / np.maximum(size, 1)
        rows.append(CandidateNumbers(found.of[has], y[has], least, most, chance[found.of[has]], float(a @ chance)))
    return AnatomyNumbers(tuple(rows), absent, int(np.isnan(found.y).sum()) if own is None else 0)


def _select_values(found: AnatomyRecords, numbers: Array, among: Mask, a: Ints, size: Ints) -> CandidateNumbers:
    """Return the dealt values that each group's records may have, among those that the condition selects."""
    known = ~np.isnan(numbers[found.value])
    group = np.repeat(found.group[known], found.times[known])
    y = np.repeat(numbers[found.value[known]], found.times[known])
    numbered = np.bincount(group, minlength=found.groups)
    least, most = np.maximum(a - (size - numbered), 0), np.minimum(a, numbered)
    chance, asked = a / np.maximum(size, 1), among[found.value]
    everybody = float(chance[found.group[asked]] @ found.times[asked])
    return CandidateNumbers(group, y, least, most, chance[group], everybody)


def _read_tables(
    release: Release,
    name: str,
    shared: AnatomyWeights,
    axes: Sequence[AxisWeights],
    condition: Condition,
    *,
    carried: bool,
) -> AnatomyRecords:
    """Return the records and the values, by group."""
    held = next(file for file in release.files if file.table == shared.held_in)
    shown = "".join(f"{sql} AS c{i}, " for i, sql in enumerate(release.data.cells_sql(axes)))
    y = f"CAST({identifier(name)} AS DOUBLE)" if carried else "NULL::DOUBLE"
    key = identifier(shared.key)
    where = f" WHERE {condition.filter}" if condition.filter else ""
    (value,) = held.cells_sql([shared])

    def table(file: DataFile, select: str, rest: str = "", parameters: Sequence[Any] = ()) -> Any:
        def query(source: str) -> str:
            return f"SELECT {select} FROM {source}{rest} ORDER BY ALL"  # noqa: S608 - names quoted

        with open_query([file], query, parameters) as rows:
            return rows.to_arrow_table()

    qit = table(release.data, f"{shown}{key} AS g, {y} AS y", where, condition.parameters)
    st = table(held, f"{value} AS c0, {key} AS g, {identifier(shared.count)} AS n")
    own = IdentityWeights(shared.columns, shared.original, shared.original)
    ids, group = np.unique(as_numpy(st.column("g")), return_inverse=True)
    of = np.searchsorted(ids, as_numpy(qit.column("g")))
    if len(of) and (of.max() >= len(ids) or not np.array_equal(ids[of], as_numpy(qit.column("g")))):
        raise manifest_mismatch_error("a record is in a group without values")
    numbers = np.array(qit.column("y").to_pylist(), dtype=np.float64)
    if np.isinf(numbers).any():
        hint = "leave them out by a condition"
        raise PolicyError(Problem("RR274", f"{name!r} contains infinite numbers or NaN", hint=hint))
    (values,) = codes_of([own], st)
    times = np.asarray(as_numpy(st.column("n")), dtype=np.int64)
    return AnatomyRecords(of, codes_of(axes, qit), numbers, group.reshape(-1), values, times, len(ids))
