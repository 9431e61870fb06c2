"""Columns whose categories are numbers: the size of each, and the categories without a number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical_json import Value, same_category
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.columns import Columns, kind_of, kind_of_type, parse_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rrpolicy.counts import Array
    from rrpolicy.estimate.weights.base import AxisWeights, Mask

STATE = (
    "count them by crosstab, or state a number for each: mean(..., values={category: number}), or a table of numbers "
    "that a query joins"
)


@dataclass(frozen=True)
class CategoryNumbers:
    """The numbers of an axis' original cells.

    Attributes:
        y: (V,) the number; 0 for a cell without one.
        known: (V,) whether the condition selects a cell that has a number.
        among: (V,) whether the condition selects a cell.
        absent: selected categories without a number.
    """

    y: Array = field(repr=False)
    known: Mask = field(repr=False)
    among: Mask = field(repr=False)
    absent: tuple[Value, ...]

    @property
    def within(self) -> tuple[float, float]:
        """Return the possible range of a mean."""
        held = self.y[self.known]
        return (float(held.min()), float(held.max())) if held.size else (-np.inf, np.inf)


def category_numbers(columns: Columns, name: str, among: Mask) -> CategoryNumbers:
    """Return the numbers of a column with categories.

    `among`: (V,) the original cells of its axis that a condition on it leaves.

    Raises:
        PolicyError: RR274 if a category is not a number, and does not stand for records without one.
    """
    labels, absent = columns.axes[name].labels_of(name), columns.numberless(name)
    if name in columns.labels:
        told = [parse_number(cell) for cell in labels]
    else:
        held = [v for v in labels if not any(same_category(v, a) for a in absent)]
        if any(kind_of(v) != "number" for v in held) and not columns.labelled_by_numbers(name):
            raise _no_numbers_error(name, STATE)
        told = [float(v) if v in held else None for v in labels]
    known = np.array([v is not None for v in told])
    if not known.any():
        raise _no_numbers_error(name, STATE)
    left = [
        v for v, asked in zip(columns.axes[name].labels_of(columns.labelled_column(name)), among, strict=True) if asked
    ]
    return CategoryNumbers(
        np.array([v or 0.0 for v in told]),
        known & among,
        among,
        tuple(a for a in absent if any(same_category(v, a) for v in left)),
    )


def check_numbers(columns: Columns, name: str) -> None:
    """Refuse a column that is released unmodified and contains no numbers.

    Raises:
        PolicyError: RR274.
    """
    if kind_of_type(columns.columns[name].type) != "number":
        hint = "it may be used in a condition; average a column of numbers, or one with categories"
        raise PolicyError(Problem("RR274", f"{name!r} contains no numbers", hint=hint))


def check_not_grouped_by(name: str, own: AxisWeights, axes: Sequence[AxisWeights]) -> None:
    """Refuse a column of numbers whose own axis is grouped by, sets of a condition included.

    Raises:
        PolicyError: RR274.
    """
    if any(own is axis for axis in axes):
        message = f"{name!r} is averaged, and {' and '.join(map(repr, own.columns))} is a group column as well"
        raise PolicyError(Problem("RR274", message, hint="average it from the crosstab of its categories"))


def _no_numbers_error(name: str, hint: str) -> PolicyError:
    return PolicyError(Problem("RR274", f"the categories of {name!r} are not numbers", hint=hint))
