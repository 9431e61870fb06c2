"""Counting in a release of dealt groups: two tables, joined by group; uniform spread inside groups.

A group has n records, a of which satisfy what is asked of the columns that stand beside its number, and n values, b of
which satisfy what is asked of the sensitive one. If values go with records by chance, the number X of records that
satisfy both is hypergeometric:

    E X = a b / n        var X = a (n - a) b (n - b) / (n^2 (n - 1))

Groups are independent of one another given what is released, so that both add up: this is the variance V for *this
table*. The estimate X is the expectation of the table's own count given the release, so that it varies less around a
population's than that does: N/(N-1) (X - X^2/N) - V, by the law of total variance. Weights of records in one group
depend on one another; a plain standard error of their sum would be wrong.

The estimate is unbiased only where the premise holds. Where, in the original, the sensitive values go with other
columns it is drawn towards independence, and the interval does not cover what is lost. Counts by the columns of one
table alone are exact.

References:
    Xiao, Tao 2006, "Anatomy", section 5, for the spread; Johnson, Kemp, Kotz 2005, section 6.2, for the moments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rrpolicy.estimate.condition import Condition
from rrpolicy.estimate.contingency import DataFile, codes_of, scan, sql_of, unlike_description
from rrpolicy.estimate.crosstab import SHARED, Crosstab, Row
from rrpolicy.estimate.grouping import check_size, grouping, groups_of
from rrpolicy.estimate.release import Release
from rrpolicy.estimate.sharing import ShareWeights
from rrpolicy.estimate.target import Target, check_target
from rrpolicy.estimate.weights import AxisWeights, Mask
from rrpolicy.source.quoting import identifier, literal

if TYPE_CHECKING:
    from rrpolicy.source.counts import Array, Ints

METHOD = "uniform spread inside groups (drawn towards independence; intervals hold if values go by chance inside them)"


@dataclass(frozen=True)
class DealtCrosstab(Crosstab):
    """Counts by uniform spread inside groups.

    Attributes:
        left_open: array of V, the variance of each count given the release.
    """

    left_open: Array = field(kw_only=True, repr=False)

    @property
    def rows(self) -> tuple[Row, ...]:
        """Return the cells; those that rest on chance inside groups are marked."""
        return tuple(replace(row, flags=(*row.flags, SHARED)) if row.se > 0 else row for row in super().rows)

    def variance(self, target: Target | None = None) -> tuple[Array, Mask]:
        """Return the variance of each estimate; see the module."""
        nothing = np.zeros(self.estimate.shape, dtype=bool)
        if (target or self.target) == "table":
            return self.left_open, nothing
        N = self.records
        sample = N / max(N - 1, 1) * (self.estimate - self.estimate**2 / N)
        return np.maximum(sample - self.left_open, 0.0), nothing


@dataclass(frozen=True)
class DealtRelease(Release):
    """A release of dealt groups; `data` is the table of the records.

    Attributes:
        values: the table of the sensitive values.
    """

    values: DataFile = field(kw_only=True)

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

    def moments(self, axes: Sequence[AxisWeights], condition: Condition) -> tuple[Array, Array, Array]:
        """Return sums of weights and squares as `Release.moments` does.

        Raises:
            PolicyError: RR288 with the sensitive column, whose weights depend on one another.
        """
        for axis in (*axes, *(axis for axis, _ in condition.masks.values())):
            if isinstance(axis, ShareWeights):
                raise axis.refusal()
        return super().moments(axes, condition)

    def _crosstab(
        self, by: Sequence[str], where: str | None, condition: Condition, target: Target, level: float
    ) -> Crosstab:
        names, axes = grouping(self.columns, by, condition)
        shared = [a for a in (*axes, *(a for a, _ in condition.masks.values())) if isinstance(a, ShareWeights)]
        if not shared:
            return super()._crosstab(by, where, condition, target, level)
        check_target(target, level)
        grouped = [groups_of(axis, names, condition) for axis in axes]
        check_size(axes, [g for g, _ in grouped], names)
        by_value = next((t for axis, (_, t) in zip(axes, grouped, strict=True) if axis is shared[0]), None)
        if shared[0] not in axes:
            by_value = condition.masks[id(shared[0])][1][:, None]
        estimate, variance, support = self._spread(shared[0], axes, by_value, condition)
        return DealtCrosstab(
            names,
            where,
            target,
            level,
            self.records,
            tuple(g for g, _ in grouped),
            estimate,
            estimate + variance,
            support,
            METHOD,
            _axes=tuple((axis, t) for axis, (_, t) in zip(axes, grouped, strict=True)),
            left_open=variance,
        )

    def _spread(
        self, shared: ShareWeights, axes: Sequence[AxisWeights], by_value: Mask | None, condition: Condition
    ) -> tuple[Array, Array, Array]:
        """Return the estimates, variances and records that may be meant, by cells of the axes.

        Args:
            shared: the sensitive column.
            axes: what is grouped by, the sensitive column among it or not.
            by_value: (values, groups) what is counted of the sensitive column; None for every value by itself.
            condition: on columns that are released as they are.
        """
        targets = np.eye(len(shared.original), dtype=bool) if by_value is None else by_value
        plain = [axis for axis in axes if axis is not shared]
        table = self._joined(shared, plain, targets, condition)
        codes = dict(zip(map(id, plain), codes_of(plain, table), strict=True))
        codes[id(shared)] = table.column("target").to_numpy().astype(np.int64)
        shape = [targets.shape[1] if axis is shared else len(axis.released) for axis in axes]
        flat: Ints = np.zeros(table.num_rows, dtype=np.int64)
        for axis, size in zip(axes, shape, strict=True):
            flat = flat * size + codes[id(axis)]
        cells = math.prod(shape)

        def sums(name: str) -> Array:
            return np.bincount(flat, table.column(name).to_numpy(), cells).astype(np.float64).reshape(shape)

        return sums("estimate"), sums("variance"), sums("support")

    def _joined(self, shared: ShareWeights, plain: Sequence[AxisWeights], targets: Mask, condition: Condition) -> Any:
        """Return sums by the columns c0, c1, … of some axes and by the column `target`, as an arrow table."""
        import duckdb

        kinds = {c.name: c for c in self.data.columns}
        wanted = [sql_of(kinds[name], self.data.format) for axis in plain for name in axis.columns]
        shown = "".join(f", {sql} AS c{i}" for i, sql in enumerate(wanted))
        listed = "".join(f"c{i}, " for i in range(len(wanted)))
        key, count = identifier(shared.key), identifier(shared.count)
        value = sql_of(next(c for c in self.values.columns if c.name == shared.columns[0]), self.values.format)
        pairs = ", ".join(
            f"({literal(cell[0])}, {place})"
            for cell, row in zip(shared.original, targets, strict=True)
            for place in np.flatnonzero(row)
        )
        where = f" WHERE {condition.filter}" if condition.filter else ""
        if not pairs:
            pairs = "(NULL, NULL)"
        with duckdb.connect() as connection:
            qit, st = (_relation(connection, file) for file in (self.data, self.values))
            query = f"""
WITH asked(v, target) AS (VALUES {pairs}),
a AS (SELECT {key} AS g{shown}, count(*) AS a FROM {qit}{where} GROUP BY ALL),
n AS (SELECT {key} AS g, sum({count})::DOUBLE AS n FROM {st} GROUP BY ALL),
b AS (SELECT {key} AS g, target, sum({count}) AS b FROM {st} JOIN asked ON {value} = v GROUP BY ALL)
SELECT {listed}target, sum(a * b / n) AS estimate, sum(a) AS support,
    sum(a * (n - a) * b * (n - b) / (n * n * greatest(n - 1, 1))) AS variance
FROM a JOIN n USING (g) JOIN b USING (g) GROUP BY ALL"""  # noqa: S608 - names quoted, constants are parameters
            if not wanted and not where:  # of the sensitive column alone: as it stands
                query = f"""
SELECT target, sum({count})::DOUBLE AS estimate, sum({count}) AS support, 0::DOUBLE AS variance
FROM {st} JOIN (VALUES {pairs}) AS asked(v, target) ON {value} = v GROUP BY ALL"""  # noqa: S608 - likewise
            try:
                found = connection.sql(query, params=list(condition.parameters)).to_arrow_table()
            except duckdb.Error as error:
                raise unlike_description(str(error).splitlines()[0]) from error
        return found.set_column(
            found.schema.get_field_index("support"), "support", found.column("support").cast("double")
        )


def _relation(connection: Any, file: DataFile) -> str:
    """Return what to select a table from; a DuckDB file is attached read-only under the table's own name."""
    if file.format == "duckdb":
        name = identifier(f"released_{file.table}")
        connection.execute(f"ATTACH {literal(str(file.path))} AS {name} (READ_ONLY)")
        return f"{name}.{identifier(file.table)}"
    path = "".join(f"[{c}]" if c in "*?[" else c for c in str(file.path))
    return scan(path, file.format, file.columns)
