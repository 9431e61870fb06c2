"""A corrected two-way table as rows by columns, with both covariances: the input of measures and tests.

With w the weights of a record in the cells of a table and S_v = E[w w' | original v], corrected counts have the
covariance sum_v x_v S_v less diag(x) for this table, and less x x' / N for the population, at any true table x: it need
not be estimated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from rrpolicy.canonical_json import Value
from rrpolicy.counts import Array, Ints
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.invert.simplex import transition
from rrpolicy.estimate.results.table import Crosstab
from rrpolicy.estimate.results.target import Target
from rrpolicy.estimate.weights.base import AxisWeights, Mask
from rrpolicy.estimate.weights.sets import SetWeights
from rrpolicy.frozen import replace


def products(axes: Sequence[tuple[AxisWeights, Mask | None]]) -> Array:
    """Return (cells, cells, cells): for each original cell the expected products of a record's weights.

    The axes come with the categories that their groups count, (V, groups); None for every category by itself. A group
    of several categories has the mean; under retention they are all equal. RR278 for a form other than matrices or
    sets, RR267 where weights are not determined.
    """
    found = np.ones((1, 1, 1))
    for axis, targets in axes:  # those that are randomised separately
        own = _of_axis(axis, targets)
        cells = len(found) * len(own)
        found = np.einsum("aij,bkl->abikjl", found, own).reshape(cells, cells, cells)
    return found


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
    """Return (S, S, S): a set contains its own value, and any one or two others with known probabilities."""
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


PRODUCT_CELLS = 36
"""The largest table for which the error is known at every table that could be the true one."""


@dataclass(frozen=True)
class TwoWayTable:
    """A two-way table; the products of the axes' groups are its cells."""

    rows: tuple[Value, ...]
    columns: tuple[Value, ...]
    estimate: Array = field(repr=False)
    support: Array = field(repr=False)  # shape (rows, columns): released records of each cell
    covariance: Mapping[Target, Array] = field(repr=False)  # (cells, cells) in C order
    exact_zero: Mask = field(repr=False)  # cells that are known to be empty, without error
    axes: tuple[tuple[AxisWeights, Mask], ...] = field(default=(), repr=False)  # with the categories of groups

    def products(self) -> Array | None:
        """Return `products` of the axes; None where that is not known, and for tables of more than `PRODUCT_CELLS`."""
        if not self.axes or self.estimate.size > PRODUCT_CELLS:
            return None
        try:
            return products(self.axes)
        except PolicyError:
            return None

    def occupied(self) -> TwoWayTable:
        """Return the table without the categories that are known to be empty, without error."""
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


def two_way_table(table: Crosstab, *, known: bool = True) -> TwoWayTable:
    """Return a table by two columns as a grid; pairs that cannot occur in a coupled axis are empty.

    The covariance of spread counts is not `known`, and NaN.
    """
    groups = [(g[table.by[0]], g[table.by[1]]) for g in table.group_values()]
    rows, columns = (tuple(dict.fromkeys(labels)) for labels in (zip(*groups, strict=True) if groups else ((), ())))
    place = {pair: i for i, pair in enumerate(product(rows, columns))}
    at = np.array([place[g] for g in groups], dtype=np.int64)
    shape, cells = (len(rows), len(columns)), len(rows) * len(columns)

    def spread(values: Array) -> Array:
        out = np.zeros(cells)
        out[at] = values.reshape(-1)
        return out.reshape(shape)

    independent = replace(table, max_records=1)  # measures use the population's errors; results refuse to show them
    covariance: dict[Target, Array] = {"table": np.zeros((cells, cells)), "population": np.zeros((cells, cells))}
    for target, out in covariance.items():
        out[np.ix_(at, at)] = independent.covariance(target) if known else np.nan
    estimate, second = spread(table.estimate), spread(table.second_moment)
    empty = (estimate == 0) & (second == 0)
    return TwoWayTable(rows, columns, estimate, spread(table.support), covariance, empty, _axes(table, at, cells))


def _axes(table: Crosstab, at: Ints, cells: int) -> tuple[tuple[AxisWeights, Mask], ...]:
    """Return the axes of a table with all categories that their groups count, those of a coupled axis by grid cell."""
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
