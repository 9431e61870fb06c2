"""Counting in a release of dealt groups: tables joined by group; uniform spread inside groups.

A group has n records, a of which satisfy the condition on the columns of the table of records, and n values, b of
which satisfy the condition on the sensitive column. Of the records that satisfy both it is certain that

    max(0, a + b - n) <= X <= min(a, b)

and any such number is possible; the spread estimate a b / n, the mean over all matchings, lies between. Groups add
up: the sums are the tightest bounds of the count over all assignments that agree with the two tables.

It is biased where, in the original, the sensitive values go with other columns: it is drawn towards independence. No
standard error belongs to it. The spread of the matchings around their mean would be one only if values went with
records by chance, which the release cannot show, and the bias it leaves out is often many times as large. Counts by the
columns of one table alone are exact. Of two sensitive columns each is counted with all others but not with the other:
which values of a group belong to one record is not released.

References:
    Xiao, Tao 2006, "Anatomy", section 5, for the spread; Fréchet 1940 for the bounds (joint counts of given margins).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from rrpolicy.engine.arrays import as_numpy
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.estimate.counts.condition import Condition
from rrpolicy.estimate.counts.grouping import Grouping
from rrpolicy.estimate.counts.scan import DataFile, codes_of, open_query, sql_of
from rrpolicy.estimate.release import Release
from rrpolicy.estimate.results.table import Crosstab
from rrpolicy.estimate.results.target import Target, check_target
from rrpolicy.estimate.weights.anatomy import AnatomyWeights
from rrpolicy.estimate.weights.base import AxisWeights, IdentityWeights, Mask
from rrpolicy.frozen import replace

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints

METHOD = "uniform spread inside groups (biased: drawn towards independence)"


@dataclass(frozen=True)
class AnatomyRelease(Release):
    """A release of dealt groups; `data` is the table of the records.

    Attributes:
        values: name -> the table of each sensitive column.
    """

    values: Mapping[str, DataFile] = field(kw_only=True)

    @property
    def files(self) -> tuple[DataFile, ...]:
        """Return the table of the records, and those of the values."""
        return (self.data, *self.values.values())

    def for_columns(self, names: Iterable[str]) -> Release:
        """Return the table of the values, which counts the sensitive column exactly, if that is all that is named."""
        if self.design is not None:
            return self
        found = [self.columns.axes.get(self.columns.name(name)) for name in names]
        shared = next(iter(found), None)
        if not isinstance(shared, AnatomyWeights) or any(axis is not shared for axis in found):
            return self
        own = IdentityWeights(shared.columns, shared.original, shared.original, more=shared.more)
        axes = {name: own if axis is shared else axis for name, axis in self.columns.axes.items()}
        columns = replace(self.columns, axes=axes)
        values = replace(self.values[shared.held_in], times=shared.count)
        return Release(self.folder, self.manifest, columns, values)

    def tables(
        self,
        by: Sequence[str],
        subsets: Sequence[Sequence[str]],
        where: str | None,
        condition: Condition,
        *,
        target: Target,
        level: float,
    ) -> list[Crosstab]:
        """Estimate tables by subsets of some columns, one after the other; see `Release.tables`."""
        del by
        return [self._crosstab(subset, where, condition, target, level) for subset in subsets]

    def weight_sums(self, axes: Sequence[AxisWeights], condition: Condition) -> tuple[Array, Array, Array]:
        """Return sums of weights and squares as `Release.weight_sums` does.

        Raises:
            PolicyError: RR288 with the sensitive column, whose weights depend on one another.
        """
        for axis in (*axes, *condition.axes):
            if isinstance(axis, AnatomyWeights):
                raise axis.refusal()
        return super().weight_sums(axes, condition)

    def _crosstab(
        self, by: Sequence[str], where: str | None, condition: Condition, target: Target, level: float
    ) -> Crosstab:
        grouping = Grouping.of(self.columns, by, condition)
        axes = grouping.axes
        shared = [a for a in (*axes, *condition.axes) if isinstance(a, AnatomyWeights)]
        if not shared:
            return super()._crosstab(by, where, condition, target, level)
        if self.design is not None:
            raise shared[0].refusal()
        other = next((axis for axis in shared if axis is not shared[0]), None)
        if other is not None:
            raise shared[0].beside(other)
        if all(axis is shared[0] for axis in axes) and set(condition.masks) <= {id(shared[0])} and not condition.filter:
            alone = self.for_columns(shared[0].columns)
            own = alone.columns.axis(shared[0].columns[0])
            masks = {id(own): (own, mask) for _, mask in condition.masks.values()}
            return alone._crosstab(by, where, Condition(masks, "", ()), target, level)  # noqa: SLF001 - one class
        check_target(target, level, self.max_records)
        grouping.check_size()
        by_value = next((mask for axis, mask in grouping.axis_masks if axis is shared[0]), None)
        if shared[0] not in axes:
            by_value = condition.masks[id(shared[0])][1][:, None]
        estimate, least, most = self._spread(shared[0], axes, by_value, condition)
        for place, (axis, kept) in enumerate(grouping.axis_masks):
            if axis is not shared[0]:
                estimate, least, most = (axis.contract(x, place, kept, 1) for x in (estimate, least, most))
        return Crosstab(
            grouping.by, grouping.groups, estimate, estimate, most, METHOD,
            _axes=grouping.axis_masks, lower_bounds=least, where=where, target=target, level=level,
            records=self.records, max_records=self.max_records,
        )  # fmt: skip

    def _spread(
        self, shared: AnatomyWeights, axes: Sequence[AxisWeights], by_value: Mask | None, condition: Condition
    ) -> tuple[Array, Array, Array]:
        """Return the estimates, and the least and the most records that each can be, by cells of the axes.

        `axes`: the grouping columns, with or without the sensitive column. `by_value`: (values, groups) the counted
        values of the sensitive column; None for every value by itself.
        """
        targets = np.eye(len(shared.original), dtype=bool) if by_value is None else by_value
        plain = [axis for axis in axes if axis is not shared]
        table = self._joined(shared, plain, targets, condition)
        codes = dict(zip(map(id, plain), codes_of(plain, table), strict=True))
        codes[id(shared)] = as_numpy(table.column("target")).astype(np.int64)
        shape = [targets.shape[1] if axis is shared else len(axis.released) for axis in axes]
        flat: Ints = np.zeros(table.num_rows, dtype=np.int64)
        for axis, size in zip(axes, shape, strict=True):
            flat = flat * size + codes[id(axis)]
        cells = math.prod(shape)

        def sums(values: Array) -> Array:
            return np.bincount(flat, values, cells).astype(np.float64).reshape(shape)

        pairs, size, least, most = (as_numpy(table.column(name)) for name in ("pairs", "size", "least", "most"))
        return sums(pairs / size), sums(least), sums(most)

    def _joined(self, shared: AnatomyWeights, plain: Sequence[AxisWeights], targets: Mask, condition: Condition) -> Any:
        """Return sums by the columns c0, c1, … of some axes, by `target` and by the size of groups, as an arrow table.

        Whole numbers are added in any order, quotients in one order: the same question always has the same digits.
        """
        wanted = self.data.cells_sql(plain)
        shown = "".join(f", {sql} AS c{i}" for i, sql in enumerate(wanted))
        listed = "".join(f"c{i}, " for i in range(len(wanted)))
        key, count = identifier(shared.key), identifier(shared.count)
        values = self.values[shared.held_in]
        held = next(c for c in values.columns if c.name == shared.columns[0])
        value = sql_of(held, values.form)
        spelled = dict(zip(held.labels, held.spelled, strict=True))
        pairs = ", ".join(
            f"({literal(spelled[cell[0]])}, {place})"
            for cell, row in zip(shared.original, targets, strict=True)
            for place in np.flatnonzero(row)
        )
        where = f" WHERE {condition.filter}" if condition.filter else ""
        if not pairs:
            pairs = "(NULL, NULL)"

        def query(qit: str, st: str) -> str:
            return f"""
WITH asked(v, target) AS (VALUES {pairs}),
a AS (SELECT {key} AS g{shown}, count(*) AS a FROM {qit}{where} GROUP BY ALL),
n AS (SELECT {key} AS g, sum({count})::DOUBLE AS n FROM {st} GROUP BY ALL),
b AS (SELECT {key} AS g, target, sum({count}) AS b FROM {st} JOIN asked ON {value} = v GROUP BY ALL)
SELECT {listed}target, n.n AS size, sum(a * b)::DOUBLE AS pairs, sum(greatest(a + b - n, 0))::DOUBLE AS least,
    sum(least(a, b))::DOUBLE AS most
FROM a JOIN n USING (g) JOIN b USING (g) GROUP BY ALL ORDER BY ALL"""  # noqa: S608 - names quoted, constants are parameters

        with open_query([self.data, values], query, condition.parameters) as rows:
            return rows.to_arrow_table()
