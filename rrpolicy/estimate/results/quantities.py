"""The columns of results: the groups of the rows, and the estimated quantities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from rrpolicy.canonical_json import Value
from rrpolicy.counts import Array
from rrpolicy.estimate.results.flags import Flags
from rrpolicy.estimate.results.intervals import Ends, is_uninformative
from rrpolicy.estimate.results.target import Target
from rrpolicy.frozen import replace

SINGLE_QUANTITY_NAMES = ("estimate", "se", "low", "high", "flags", "released")
"""The columns of a quantity that is the only one in a result."""
Covariance: TypeAlias = Callable[[Target], Array]
"""target -> (rows, rows) the covariance of the estimates."""


@dataclass(frozen=True)
class ResultColumn:
    """A column that is not estimated.

    Attributes:
        name: name of the column.
        cells: (rows,); None where a row sums over the column.
        key: whether the column defines the rows' groups; otherwise it has further information on the row.
        printed: whether it appears in text; it always does in frames and files.
        p_values: whether its numbers are p-values, which have a format of their own.
    """

    name: str
    cells: tuple[Any, ...] = field(repr=False)
    key: bool = True
    printed: bool = True
    p_values: bool = False

    def select(self, rows: Sequence[int]) -> ResultColumn:
        """Return the column over some of the rows, in their order."""
        return replace(self, cells=tuple(self.cells[i] for i in rows))


@dataclass(frozen=True)
class EstimatedQuantity:
    """One quantity, estimated for every row of a result.

    Attributes:
        names: names of its columns: estimate, standard error, low, high, flags, released records.
        estimate: (rows,) NaN where it cannot be estimated.
        errors: target -> (rows,) standard errors; NaN where unknown.
        ends: the intervals, by level and target; for biased counts, certain bounds.
        flags: (rows,) see `rrpolicy.estimate.results.flags.MEANINGS`.
        released: (rows,) number of released records that support each row; None if not counted.
        whole: the number of records that a count is a part of; None for a quantity that is not a count.
        biased: whether counts are spread inside released groups: without errors, with bounds in place of intervals.
        at_level: whether such bounds are valid at the level alone, as values were drawn as well; else they are
            certain.
        covariance: covariance of the rows' estimates; None if unknown.
        within: (rows or 1, 2) the possible range; None if unknown.
    """

    names: tuple[str, ...]
    estimate: Array = field(repr=False)
    errors: Mapping[Target, Array] = field(repr=False)
    ends: Ends = field(repr=False)
    flags: Flags = field(repr=False)
    released: Array | None = field(default=None, repr=False)
    whole: float | None = None
    biased: bool = False
    at_level: bool = False
    covariance: Covariance | None = field(default=None, repr=False)
    within: Array | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Return the name of the estimate's column."""
        return self.names[0]

    @property
    def exact(self) -> bool:
        """Return whether nothing was drawn: no number differs from that of this table."""
        errors, known = self.errors["table"], ~np.isnan(self.estimate)
        return not self.biased and bool((errors[known] == 0).all() and (known.any() or (errors == 0).all()))

    def uninformative(self, level: float, target: Target) -> bool:
        """Return whether an interval contains the whole possible range."""
        return self.within is not None and bool(is_uninformative(self.ends(level, target), self.within).any())

    def columns(self, level: float, target: Target) -> dict[str, list[Any]]:
        """Return estimate, se, low, high, flags, and the released records where they are counted."""
        ends = self.ends(level, target)
        values = [self.estimate, self.errors[target], ends[:, 0], ends[:, 1]]
        found: dict[str, list[Any]] = dict(zip(self.names, (v.tolist() for v in values), strict=False))
        found[self.names[4]] = [list(f) for f in self.flags]
        if self.released is not None:
            found[self.names[5]] = [round(n) for n in self.released]
        return found

    def select(self, rows: Sequence[int], absent: float = np.nan, flags: tuple[str, ...] = ()) -> EstimatedQuantity:
        """Return the quantity over some of the rows, in their order.

        `rows`: their places; -1 for one that the quantity does not have.
        """

        def along(values: Array, absent: float = absent) -> Array:
            return np.concatenate([values, np.full((1, *values.shape[1:]), absent)])[np.array(rows, dtype=np.int64)]

        def between(target: Target) -> Array:
            assert self.covariance is not None
            return np.pad(self.covariance(target), (0, 1), constant_values=absent)[np.ix_(rows, rows)]

        return replace(
            self,
            estimate=along(self.estimate),
            errors={t: along(e) for t, e in self.errors.items()},
            ends=lambda level, target: along(self.ends(level, target)),
            flags=tuple((*self.flags, flags)[i] for i in rows),
            released=None if self.released is None else along(self.released, 0.0),
            covariance=None if self.covariance is None else between,
            within=None if self.within is None else along(np.broadcast_to(self.within, (len(self.flags), 2))),
        )

    def scaled(self, scale: float) -> EstimatedQuantity:
        """Return the quantity in another unit."""
        if scale == 1:
            return self
        covariance = self.covariance
        return replace(
            self,
            estimate=scale * self.estimate,
            errors={t: scale * e for t, e in self.errors.items()},
            ends=lambda level, target: scale * self.ends(level, target),
            whole=None,
            covariance=None if covariance is None else lambda target: scale**2 * covariance(target),
            within=None if self.within is None else scale * self.within,
        )


def quantity_column_names(quantity: str) -> tuple[str, ...]:
    """Return the names of a quantity's columns in a result with several quantities."""
    return (quantity, *(f"{quantity}_{part}" for part in SINGLE_QUANTITY_NAMES[1:]))


def concatenate_quantities(parts: Sequence[EstimatedQuantity]) -> EstimatedQuantity:
    """Return the rows of several results below each other; all are of the same quantity."""
    counted = [part.released for part in parts if part.released is not None]
    within = [np.broadcast_to(part.within, (len(part.flags), 2)) for part in parts if part.within is not None]
    return replace(
        parts[0],
        estimate=np.concatenate([part.estimate for part in parts]),
        errors={t: np.concatenate([part.errors[t] for part in parts]) for t in parts[0].errors},
        ends=lambda level, target: np.concatenate([part.ends(level, target) for part in parts]),
        flags=tuple(f for part in parts for f in part.flags),
        released=np.concatenate(counted) if len(counted) == len(parts) else None,
        biased=any(part.biased for part in parts),
        at_level=any(part.at_level for part in parts),
        covariance=parts[0].covariance if len(parts) == 1 else None,
        within=np.concatenate(within) if len(within) == len(parts) else None,
    )


def key_columns(
    by: Sequence[str], keys: Sequence[Mapping[str, Value]], taken: Sequence[str] = SINGLE_QUANTITY_NAMES
) -> tuple[ResultColumn, ...]:
    """Return the grouping columns, a result column each.

    `keys`: of each row, by name; a column that it sums over is missing. `taken`: names of other columns of the result:
    ` (group)` is written after a name that is one of them.
    """
    found = []
    for name in by:
        shown = name
        while shown in taken or (shown != name and shown in by):
            shown += " (group)"
        found.append(ResultColumn(shown, tuple(key.get(name) for key in keys)))
    return tuple(found)
