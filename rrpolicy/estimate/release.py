"""A release in an analyst's hands: names, axes, and the queries that can be asked of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from rrpolicy.canonical import Value
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.columns import Columns
from rrpolicy.estimate.condition import Condition, split
from rrpolicy.estimate.contingency import DataFile, count, unlike_description
from rrpolicy.estimate.crosstab import Crosstab, GroupAxis, Target
from rrpolicy.estimate.weights import AxisWeights, Mask
from rrpolicy.source.counts import Array, Ints

CELLS = 10_000_000
"""The largest marginal that is reconstructed densely."""


@dataclass(frozen=True)
class Release:
    """An opened release. Nothing is read before a query.

    Attributes:
        folder: the public/ folder.
        document: its release.json.
        records: N.
        columns: the released columns and how they are undone.
        data: the data file.
    """

    folder: Path
    document: Mapping[str, Any] = field(repr=False)
    records: int
    columns: Columns = field(repr=False)
    data: DataFile

    def domain(self, column: str) -> tuple[Value, ...]:
        """Return the original categories of a released column, in domain order.

        Raises:
            PolicyError: RR262 if there is no such column, RR263 if it has no categories.
        """
        return self.columns.domain(column)

    def crosstab(
        self,
        by: Sequence[str] | str = (),
        where: str | None = None,
        target: Target = "table",
        level: float = 0.95,
    ) -> Crosstab:
        """Estimate how many original records each combination of categories has; unbiased.

        One pass over the data; only the marginal that is asked for is reconstructed, axis by axis.

        Args:
            by: released names of category columns; none for a single count.
            where: a conjunction over released names, such as `age_group = '65+' AND sex IN ('F')`.
            target: "table": this table's counts, of which the release is a randomised image. "population": N times
                the shares in the population that the table is a random sample of.
            level: of the confidence intervals.

        Raises:
            PolicyError: RR262-RR271 if a name, a value, the condition or the size is wrong, or the released values
                do not determine the count.
        """
        return self._crosstab([by] if isinstance(by, str) else by, where, split(where, self.columns), target, level)

    def query(self, sql: str, target: Target = "table", level: float = 0.95) -> Crosstab:
        """Answer `SELECT columns, count(*) FROM release WHERE … GROUP BY columns` with corrected counts.

        Args:
            sql: read by DuckDB's parser and never executed.
            target: as for `crosstab`.
            level: as for `crosstab`.

        Raises:
            PolicyError: RR272 for what cannot be corrected or is not supported, with the reason; else as `crosstab`.
        """
        from rrpolicy.estimate.query import parse_query

        asked = parse_query(sql)
        return self._crosstab(asked.by, asked.where, split(asked.conjuncts, self.columns), target, level)

    def _crosstab(
        self, by: Sequence[str], where: str | None, condition: Condition, target: Target, level: float
    ) -> Crosstab:
        names = tuple(map(self.columns.name, by))
        check_target(target, level)
        if len(set(names)) < len(names):
            raise PolicyError(Problem("RR263", "a column is grouped by twice", hint="name each column once"))
        axes = list({id(a): a for a in map(self.columns.axis, names)}.values())
        grouped = [_grouped(axis, names, condition) for axis in axes]
        _check_size(axes, [g for g, _ in grouped], names)
        first, second, support = self._moments(axes, condition)
        table = Crosstab(
            names, where, target, level, self.records, tuple(g for g, _ in grouped), first, second, support
        )
        return _contracted(table, axes, [targets for _, targets in grouped])

    def _moments(self, axes: Sequence[AxisWeights], condition: Condition) -> tuple[Array, Array, Array]:
        """Return, by released cells of the axes, sums of w, w^2 and of records, w the weight of the condition."""
        others = [(axis, mask) for axis, mask in condition.masks.values() if all(axis is not a for a in axes)]
        codes, n = count(self.data, [*axes, *(axis for axis, _ in others)], condition.filter, condition.parameters)
        if not condition.filter and int(n.sum()) != self.records:
            raise unlike_description(f"it has {int(n.sum())} records, not {self.records}")
        weight, speaks = np.ones(len(n)), np.ones(len(n))
        for (axis, mask), code in zip(others, codes[len(axes) :], strict=True):
            weight *= axis.vector(mask)[code]
            speaks *= axis.under(mask[:, None])[code, 0]
        shape = tuple(len(a.released) for a in axes)
        flat: Ints = np.zeros(len(n), dtype=np.int64)
        for size, code in zip(shape, codes, strict=False):
            flat = flat * size + code
        cells = math.prod(shape)
        return (
            _sums(flat, n * weight, cells).reshape(shape),
            _sums(flat, n * weight**2, cells).reshape(shape),
            _sums(flat, n * speaks, cells).reshape(shape),
        )


def check_target(target: str, level: float) -> None:
    """Refuse what is no target or no level.

    Raises:
        PolicyError: RR271.
    """
    if target not in {"table", "population"}:
        raise PolicyError(Problem("RR271", f"no such target: {target!r}", expected='"table" or "population"'))
    if not 0 < level < 1:
        raise PolicyError(Problem("RR271", f"the level {level} is no probability", expected="such as 0.95"))


def _sums(flat: Ints, values: Array, cells: int) -> Array:
    return np.asarray(np.bincount(flat, weights=values, minlength=cells), dtype=np.float64)


def _grouped(axis: AxisWeights, names: Sequence[str], condition: Condition) -> tuple[GroupAxis, Mask | None]:
    """Return the groups of an axis, and what each counts: (V, groups), or None for every category by itself."""
    shown = tuple(c for c in axis.columns if c in names)
    mask = condition.masks[id(axis)][1] if id(axis) in condition.masks else np.ones(len(axis.original), dtype=bool)
    positions = [axis.columns.index(c) for c in shown]
    labels = [tuple(cell[j] for j in positions) for cell in axis.original]
    groups = tuple(dict.fromkeys(v for v, keep in zip(labels, mask, strict=True) if keep))
    if len(groups) == len(axis.original):
        return GroupAxis(shown, groups), None
    number = {g: i for i, g in enumerate(groups)}
    targets = np.zeros((len(axis.original), len(groups)), dtype=bool)
    for v in np.flatnonzero(mask):
        targets[v, number[labels[v]]] = True
    return GroupAxis(shown, groups), targets


def _check_size(axes: Sequence[AxisWeights], groups: Sequence[GroupAxis], names: Sequence[str]) -> None:
    cells = max(math.prod(len(a.released) for a in axes), math.prod(len(g.labels) for g in groups))
    if cells > CELLS:
        raise PolicyError(
            Problem(
                "RR268",
                f"a table by {', '.join(map(repr, names))} has {cells:,} cells, more than {CELLS:,}",
                hint="group by fewer columns, and name the categories you need in the condition",
            )
        )


def _contracted(table: Crosstab, axes: Sequence[AxisWeights], targets: Sequence[Mask | None]) -> Crosstab:
    """Apply the weights of the grouping axes, one axis after the other."""
    estimate: Array = table.estimate
    second, support = table.second_moment, table.support
    for i, (axis, target) in enumerate(zip(axes, targets, strict=True)):
        estimate = axis.contract(estimate, i, target, 1)
        second = axis.contract(second, i, target, 2)
        support = axis.support(support, i, target)
    return table.with_moments(estimate, second, support, tuple(zip(axes, targets, strict=True)))
