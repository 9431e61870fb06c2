"""A corrected two-way table as rows by columns, with both covariances: what measures and tests are computed from.

What record weights do, given the original: the expected products of a record's weights in the cells of a table.

With w the weights of a record and S_v = E[w w' | original v], corrected counts have the covariance sum_v x_v S_v less
diag(x) for this table, and less x x' / N for the population, at any true table x: it need not be estimated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import reduce

import numpy as np

from rrpolicy.canonical_json import Value
from rrpolicy.counts import Array, Ints
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.invert.simplex import transition
from rrpolicy.estimate.results.table import Crosstab
from rrpolicy.estimate.results.target import Target
from rrpolicy.estimate.weights.base import AxisWeights, Mask
from rrpolicy.estimate.weights.sets import SetWeights
from rrpolicy.frozen_dataclass import frozen


def products(axes: Sequence[tuple[AxisWeights, Mask | None]]) -> Array:
    """Return (cells, cells, cells): for each original cell the expected products of a record's weights.

    Args:
        axes: each axis with what its groups count, (V, groups); None for every category by itself. Of a group of
            several categories it is the mean; under retention they are all alike.

    Raises:
        PolicyError: RR278 for a form that is none of matrices or sets, RR267 where weights are not determined.
    """
    return reduce(_product_over_axes, (_of_axis(axis, targets) for axis, targets in axes), np.ones((1, 1, 1)))


def _of_axis(axis: AxisWeights, targets: Mask | None) -> Array:
    chosen = np.eye(len(axis.original), dtype=bool) if targets is None else targets
    sizes = np.maximum(chosen.sum(axis=0), 1)
    if isinstance(axis, SetWeights):
        given = _of_sets(axis)
        summed = np.einsum("vjk,jg,kh->vgh", given, chosen.astype(float), chosen.astype(float), optimize=True)
    else:
        weights = axis.table if targets is None else axis.solve(targets)
        summed = np.einsum("uv,ug,uh->vgh", transition(axis), weights, weights, optimize=True)
    return np.tensordot(chosen / sizes, summed, axes=(0, 0))


def _of_sets(axis: SetWeights) -> Array:
    """Return (S, S, S): a set holds its own value, and any one or two others with known probabilities."""
    S, chance = len(axis.original), float(axis.inclusion)
    two = chance * (axis.set_size - 2) / (S - 2) if S > 2 else 0.0  # noqa: PLR2004 - two others
    own = np.eye(S)
    alone = own + chance * (1 - own)
    # Pr(j and k in set | v): one other where j or k is v, else two others, or one where j is k
    both = np.broadcast_to(two * (1 - own) + chance * own, (S, S, S)).copy()
    for v in range(S):
        both[v, v], both[v, :, v] = alone[v], alone[v]
    held, not_held = axis.held, axis.not_held
    step = held - not_held
    return np.asarray(
        not_held**2 + not_held * step * (alone[:, :, None] + alone[:, None, :]) + step**2 * both, dtype=np.float64
    )


def _product_over_axes(first: Array, second: Array) -> Array:
    """Return the products over two axes that are randomised apart."""
    cells = first.shape[0] * second.shape[0]
    return np.asarray(np.einsum("aij,bkl->abikjl", first, second).reshape(cells, cells, cells))


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
