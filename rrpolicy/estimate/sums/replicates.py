"""Replicate weights: the corrected table as data that survey packages compute right errors from.

The table has a row for each combination of original categories v, with the estimated count T(v) as its weight. For
every released cell u, with n_u of the N records, it has replicate weights: the table as a jackknife estimates it
without one of these records. With W_u(v) the weight of such a record in the count of v, so that T = sum_u n_u W_u,
and U cells:

    T_(u)(v) = N/(N-1) (T(v) - W_u(v))                            one record of u left out
    R_u(v)   = T(v) + sqrt(U n_u / N) (T_(u)(v) - T(v))           the replicate weight
    Var f(T) = (N-1)/U sum_u (f(R_u) - f(T))^2

Records of one released cell have one replicate between them, stretched so that all have the same scale, which every
package takes; if no two records have the same released values it is the delete-one jackknife itself. For sums of
weights the variance is N/(N-1) (sum w^2 - (sum w)^2/N) exactly, that of the population in
`rrpolicy.estimate.results.intervals`: of randomisation and sampling together. For smooth functions of the table it is
that of the delta method, up to curvature.

References:
    Wolter 2007, Introduction to Variance Estimation, section 4.2 (jackknife); Chaudhuri and Mukerjee 1988, chapter 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rrpolicy.canonical_json import Value
from rrpolicy.counts import Array
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.condition import Condition, split
from rrpolicy.estimate.counts.grouping import Grouping, ungrouped_condition_axes
from rrpolicy.estimate.counts.scan import count
from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.estimate.results.target import refuse_repeated_units
from rrpolicy.estimate.weights.recode import refuse_biased
from rrpolicy.safe_io.atomic_write import write_new

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.estimate.release import Release

MOST_REPLICATES = 5_000
"""Weights of one row that packages take without effort."""
_ENTRIES = 20_000_000


@dataclass(frozen=True)
class Replicates:
    """A corrected table with its replicate weights.

    Attributes:
        by: names of the columns that rows are of.
        keys: the group of each row.
        weights: (rows,) T: estimated counts of original records, some of them negative perhaps.
        replicates: (rows, U) the replicate weights.
        scale: factor of the sum of squared differences: (N-1)/U.
        records: N.
        where: the condition; None for all records.
    """

    by: tuple[str, ...]
    keys: tuple[Mapping[str, Value], ...] = field(repr=False)
    weights: Array = field(repr=False)
    replicates: Array = field(repr=False)
    scale: float
    records: int
    where: str | None = None

    def variance(self, statistic: Callable[[Array], float]) -> float:
        """Return the variance of a statistic of the table, for the population.

        Args:
            statistic: function of (rows,) weights.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> table = release.replicates(by="sex")
            >>> table.variance(lambda weights: weights[0] / weights.sum()) > 0
            True
        """
        whole = statistic(self.weights)
        return float(self.scale * sum((statistic(column) - whole) ** 2 for column in self.replicates.T))

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns: those of `by`, `weight`, `rep_1`, ….

        A name that a column of `by` has already gets underscores behind it.
        """
        taken = {name.casefold() for name in self.by}
        own = ["weight", *(f"rep_{place}" for place in range(1, self.replicates.shape[1] + 1))]
        while not taken.isdisjoint(own):
            own = [f"{name}_" for name in own]
        return (*self.by, *own)

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table with the columns `names`; its metadata contain the scale and its use.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> release.replicates(by="sex").to_arrow().column_names[:2]
            ['sex', 'weight']
        """
        import pyarrow as pa

        keys = [pa.array([key[name] for key in self.keys]) for name in self.by]
        numbers = [pa.array(column) for column in (self.weights, *self.replicates.T)]
        told = {
            "rrpolicy.replicates": "jackknife: variance = scale * sum over replicates of (estimate - full estimate)^2",
            "rrpolicy.scale": repr(self.scale),
            "rrpolicy.records": str(self.records),
        }
        return pa.table([*keys, *numbers], names=list(self.names)).replace_schema_metadata(told)

    def write(self, path: str | Path) -> None:
        """Write the table as Parquet or, where the name ends in .csv, as CSV.

        Args:
            path: path of a new file.

        Raises:
            PolicyError: RR515 for another ending.
            RefusedError: RR411 if there is a file already; RR407, RR408 if it cannot be written.
        """
        file = Path(path)
        write = _WRITERS.get(file.suffix.lower())
        if write is None:
            raise PolicyError(
                Problem("RR515", f"{file.name!r} is neither Parquet nor CSV", expected=".parquet or .csv")
            )
        table = self.to_arrow()
        write_new(file.parent, {file.name: lambda path: write(table, path)})


def replicates(release: Release, by: Sequence[str], where: str | None = None) -> Replicates:
    """Return replicate weights; see `Release.replicates`.

    Raises:
        PolicyError: as `Release.crosstab`; RR247 if a unit may have several records; RR288 if counts are spread inside
            released groups; RR279 for sets; RR514 for too many cells.
    """
    refuse_repeated_units(release.max_records)
    condition = split(where, release.columns)
    if release.design is not None:
        return _without_clusters(release, by, where, condition)
    grouping = Grouping.of(release.columns, by, condition)
    names, axes = grouping.by, grouping.axes
    others = ungrouped_condition_axes(axes, condition)
    refuse_biased([*axes, *(axis for axis, _ in others)], "replicate weights")
    grouping.check_size()
    tables = [axis.table if mask is None else axis.solve(mask) for axis, mask in grouping.axis_masks]
    codes, n = count(release.data, [*axes, *(a for a, _ in others)], condition.filter, condition.parameters)
    _check_size(len(n), int(np.prod([table.shape[1] for table in tables])))
    N = release.records
    W: Array = np.ones((len(n), 1))
    for (axis, mask), code in zip(others, codes[len(axes) :], strict=True):
        W *= axis.vector(mask)[code][:, None]
    for table, code in zip(tables, codes[: len(axes)], strict=True):
        W = (W[:, :, None] * table[code][:, None, :]).reshape(len(n), -1)
    outside = N - int(n.sum())
    if outside:
        W, n = np.vstack([W, np.zeros((1, W.shape[1]))]), np.append(n, outside)
    order = np.lexsort(W.T) if W.shape[1] else np.arange(len(n))
    W, n = W[order], n[order]
    kept = np.any(W != 0, axis=0)
    keys = [key for key, keep in zip(grouping.keys, kept.tolist(), strict=True) if keep]
    W, U = W[:, kept], len(n)
    T = n @ W
    left_out = N / max(N - 1, 1) * (T - W)
    stretched = T + np.sqrt(U * n / N)[:, None] * (left_out - T)
    return Replicates(names, tuple(keys), T, stretched.T, (N - 1) / U, N, where)


def _without_clusters(release: Release, by: Sequence[str], where: str | None, condition: Condition) -> Replicates:
    """Return a replicate for each cluster of a known design."""
    from rrpolicy.estimate.survey.people import people

    assert release.design is not None
    if not release.design.clusters:
        message = "replicate weights of a design leave out one cluster after the other, and it states none"
        hint = "`release.with_design(clusters=...)`, or --design cluster=COLUMN"
        raise PolicyError(Problem("RR548", message, hint=hint))
    table = people(release, by, where, condition, "population", LEVEL)
    found, scale = table.replicates()
    _check_size(found.shape[1], len(found))
    weights = table.moment_estimate.reshape(-1)
    kept = np.any(found != 0, axis=1) | (weights != 0)
    keys = [key for key, keep in zip(table.group_values(), kept.tolist(), strict=True) if keep]
    return Replicates(table.by, tuple(keys), weights[kept], found[kept], scale, release.records, where)


def _check_size(cells: int, rows: int) -> None:
    if cells > MOST_REPLICATES or cells * rows > _ENTRIES:
        message = f"{cells:,} combinations of released values would each be a replicate of {rows:,} weights"
        expected = f"at most {MOST_REPLICATES:,} replicates, and {_ENTRIES:,} numbers"
        hint = "name fewer columns: only those that one analysis needs"
        raise PolicyError(Problem("RR514", message, expected=expected, hint=hint))


def _parquet(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table, path)


def _csv(table: pa.Table, path: Path) -> None:
    import pyarrow.csv

    pyarrow.csv.write_csv(table, path)


_WRITERS: Mapping[str, Callable[[Any, Path], None]] = {".parquet": _parquet, ".csv": _csv}
