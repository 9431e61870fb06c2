"""A corrected two-way table as rows by columns, with both covariances: what measures and tests are computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rrpolicy.canonical import Value
from rrpolicy.estimate.crosstab import Crosstab
from rrpolicy.estimate.target import Target
from rrpolicy.estimate.weights import Mask
from rrpolicy.source.counts import Array


@dataclass(frozen=True)
class Grid:
    """A two-way table.

    Attributes:
        rows: categories of the first column.
        columns: categories of the second.
        estimate: (rows, columns) counts.
        support: released records that speak for each cell, likewise.
        covariance: target -> (cells, cells), cells in C order.
        exact_zero: cells that are known to be empty, without error.
    """

    rows: tuple[Value, ...]
    columns: tuple[Value, ...]
    estimate: Array = field(repr=False)
    support: Array = field(repr=False)
    covariance: Mapping[Target, Array] = field(repr=False)
    exact_zero: Mask = field(repr=False)

    def occupied(self) -> Grid:
        """Return the table without categories that nobody has, where that is known without error."""
        rows, columns = np.flatnonzero(~self.exact_zero.all(axis=1)), np.flatnonzero(~self.exact_zero.all(axis=0))
        if len(rows) == len(self.rows) and len(columns) == len(self.columns):
            return self
        both = np.ix_(rows, columns)
        cells = (rows[:, None] * len(self.columns) + columns).reshape(-1)
        return Grid(
            tuple(self.rows[i] for i in rows),
            tuple(self.columns[j] for j in columns),
            self.estimate[both],
            self.support[both],
            {t: S[np.ix_(cells, cells)] for t, S in self.covariance.items()},
            self.exact_zero[both],
        )

    def collapsed(self, rows: Sequence[Value], columns: Sequence[Value]) -> Grid:
        """Return the 2 x 2 table of "any other" and "any of these" categories; estimates stay unbiased."""
        R, C = (
            np.array([[v not in chosen, v in chosen] for v in labels], dtype=float)
            for labels, chosen in ((self.rows, rows), (self.columns, columns))
        )
        sums = np.kron(R, C).T
        return Grid(
            (f"not {_any(rows)}", _any(rows)),
            (f"not {_any(columns)}", _any(columns)),
            R.T @ self.estimate @ C,
            R.T @ self.support @ C,
            {t: sums @ S @ sums.T for t, S in self.covariance.items()},
            R.T @ ~self.exact_zero @ C == 0,
        )


def grid(table: Crosstab) -> Grid:
    """Return a table by two columns as a grid; pairs that a coupled axis cannot hold are empty."""
    groups = [(g[table.by[0]], g[table.by[1]]) for g in table.group_values()]
    rows, columns = tuple(dict.fromkeys(r for r, _ in groups)), tuple(dict.fromkeys(c for _, c in groups))
    place = {(r, c): i * len(columns) + j for i, r in enumerate(rows) for j, c in enumerate(columns)}
    at = np.array([place[g] for g in groups], dtype=np.int64)
    shape, cells = (len(rows), len(columns)), len(rows) * len(columns)

    def spread(values: Array) -> Array:
        out = np.zeros(cells)
        out[at] = values.reshape(-1)
        return out.reshape(shape)

    covariance: dict[Target, Array] = {}
    targets: tuple[Target, ...] = ("table", "population")
    for target in targets:
        out = np.zeros((cells, cells))
        out[np.ix_(at, at)] = table.covariance(target)
        covariance[target] = out
    estimate, second = spread(table.estimate), spread(table.second_moment)
    return Grid(rows, columns, estimate, spread(table.support), covariance, (estimate == 0) & (second == 0))


def _any(values: Sequence[Value]) -> str:
    return " or ".join(map(str, values))
