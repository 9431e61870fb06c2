"""A corrected two-way table as rows by columns, with both covariances: what measures and tests are computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from rrpolicy.canonical_json import Value
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.association.products import products
from rrpolicy.estimate.results.table import Crosstab
from rrpolicy.estimate.results.target import Target
from rrpolicy.estimate.weights.base import AxisWeights, Mask
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.source.counts import Array, Ints

PRODUCT_CELLS = 36
"""The largest table for which the error is known at every table that could be the true one."""


@frozen(slots=False)
class TwoWayTable:
    """A two-way table.

    Attributes:
        rows: categories of the first column.
        columns: categories of the second.
        estimate: (rows, columns) counts.
        support: released records that speak for each cell, likewise.
        covariance: target -> (cells, cells), cells in C order.
        exact_zero: cells that are known to be empty, without error.
        axes: each axis with what its groups count; the products of groups are the cells.
    """

    rows: tuple[Value, ...]
    columns: tuple[Value, ...]
    estimate: Array = field(repr=False)
    support: Array = field(repr=False)
    covariance: Mapping[Target, Array] = field(repr=False)
    exact_zero: Mask = field(repr=False)
    axes: tuple[tuple[AxisWeights, Mask], ...] = field(default=(), repr=False)

    def products(self) -> Array | None:
        """Return (cells, cells, cells) what weights do given the original cell; None where that is not known."""
        if not self.axes or self.estimate.size > PRODUCT_CELLS:
            return None
        try:
            return products(self.axes)
        except PolicyError:
            return None

    def occupied(self) -> TwoWayTable:
        """Return the table without categories that nobody has, where that is known without error."""
        rows, columns = np.flatnonzero(~self.exact_zero.all(axis=1)), np.flatnonzero(~self.exact_zero.all(axis=0))
        if len(rows) == len(self.rows) and len(columns) == len(self.columns):
            return self
        both = np.ix_(rows, columns)
        cells = (rows[:, None] * len(self.columns) + columns).reshape(-1)
        return TwoWayTable(
            tuple(self.rows[i] for i in rows),
            tuple(self.columns[j] for j in columns),
            self.estimate[both],
            self.support[both],
            {t: S[np.ix_(cells, cells)] for t, S in self.covariance.items()},
            self.exact_zero[both],
            self._summed(np.eye(len(self.rows))[:, rows], np.eye(len(self.columns))[:, columns]),
        )

    def collapsed(self, rows: Sequence[Value], columns: Sequence[Value]) -> TwoWayTable:
        """Return the 2 x 2 table of "any other" and "any of these" categories; estimates stay unbiased."""
        R, C = (
            np.array([[v not in chosen, v in chosen] for v in labels], dtype=float)
            for labels, chosen in ((self.rows, rows), (self.columns, columns))
        )
        sums = np.kron(R, C).T
        return TwoWayTable(
            (f"not {_join_with_or(rows)}", _join_with_or(rows)),
            (f"not {_join_with_or(columns)}", _join_with_or(columns)),
            R.T @ self.estimate @ C,
            R.T @ self.support @ C,
            {t: sums @ S @ sums.T for t, S in self.covariance.items()},
            R.T @ ~self.exact_zero @ C == 0,
            self._summed(R, C),
        )

    def _summed(self, rows: Array, columns: Array) -> tuple[tuple[AxisWeights, Mask], ...]:
        """Return the axes with groups summed over (rows, k) and (columns, m) 0/1 matrices."""
        if len(self.axes) > 1 and self.axes[0][1].shape[1] == len(self.rows):
            (first, of_rows), (second, of_columns), *others = self.axes
            return (first, of_rows @ rows > 0), (second, of_columns @ columns > 0), *others
        if not self.axes:
            return ()
        (axis, of_cells), *others = self.axes
        return (axis, of_cells @ np.kron(rows, columns) > 0), *others


def two_way_table_without_covariance(table: Crosstab) -> TwoWayTable:
    """Return a table of spread counts by two columns as a grid; nothing is known of its covariance."""
    return _build_two_way_table(table, known=False)


def two_way_table(table: Crosstab) -> TwoWayTable:
    """Return a table by two columns as a grid; pairs that a coupled axis cannot hold are empty."""
    return _build_two_way_table(table, known=True)


def _build_two_way_table(table: Crosstab, *, known: bool) -> TwoWayTable:
    groups = [(g[table.by[0]], g[table.by[1]]) for g in table.group_values()]
    rows, columns = tuple(dict.fromkeys(r for r, _ in groups)), tuple(dict.fromkeys(c for _, c in groups))
    place = {(r, c): i * len(columns) + j for i, r in enumerate(rows) for j, c in enumerate(columns)}
    at = np.array([place[g] for g in groups], dtype=np.int64)
    shape, cells = (len(rows), len(columns)), len(rows) * len(columns)

    def spread(values: Array) -> Array:
        out = np.zeros(cells)
        out[at] = values.reshape(-1)
        return out.reshape(shape)

    independent = replace(table, max_records=1)  # measures weigh by the population's; results refuse to speak of it
    covariance: dict[Target, Array] = {}
    targets: tuple[Target, ...] = ("table", "population")
    for target in targets:
        out = np.zeros((cells, cells))
        out[np.ix_(at, at)] = independent.covariance(target) if known else np.nan
        covariance[target] = out
    estimate, second = spread(table.estimate), spread(table.second_moment)
    empty = (estimate == 0) & (second == 0)
    return TwoWayTable(rows, columns, estimate, spread(table.support), covariance, empty, _axes(table, at, cells))


def _axes(table: Crosstab, at: Ints, cells: int) -> tuple[tuple[AxisWeights, Mask], ...]:
    """Return the axes of a table with all that their groups count; of a coupled axis, by cell of the grid."""
    axes = [
        (axis, np.eye(len(axis.original), dtype=bool) if targets is None else targets) for axis, targets in table.axes
    ]
    if set(table.by) <= set(axes[0][0].columns):
        out = np.zeros((len(axes[0][0].original), cells), dtype=bool)
        out[:, at] = axes[0][1]
        axes[0] = (axes[0][0], out)
    return tuple(axes)


def _join_with_or(values: Sequence[Value]) -> str:
    return " or ".join(map(str, values))
