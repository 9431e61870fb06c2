"""Missing values in the README: which category they are, and a column whose average must not count it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rrpolicy.canonical_json import Value, category_text, same_category
from rrpolicy.estimate.counts.columns import kind_of
from rrpolicy.exports.weights import WeightFile
from rrpolicy.frozen_dataclass import frozen


@frozen
class AverageExample:
    """A column of numbers with a category of missing values.

    Attributes:
        column: its name.
        view: its weights in estimate.sql.
        absent: the category of missing values, as the weight table spells it.
    """

    column: str
    view: str
    absent: Value


def average_example(weights: Sequence[WeightFile], absent: Mapping[str, Value]) -> AverageExample | None:
    """Return the first column of numbers that has weights and missing values; None if there is none."""
    for file in weights:
        (column, *more), values = file.axis.columns, [cell[0] for cell in file.axis.original]
        if more or column not in absent or file.sets or not file.axis.unbiased:
            continue
        if all(kind_of(value) == "number" or same_category(value, absent[column]) for value in values):
            spelled = any(isinstance(value, str) for value in values)
            return AverageExample(column, file.view, category_text(absent[column]) if spelled else absent[column])
    return None
