"""The report's section on sets: how they hide values, in plain words, and the loss of accuracy."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

from rrpolicy.canonical_json import exact
from rrpolicy.channels.axes.set_error import addition_mean_squared_error
from rrpolicy.numbers import figure
from rrpolicy.report import Fact, Section

if TYPE_CHECKING:
    from rrpolicy.channels.axes.sets import Sets


def sets_section(axis: Sets, records: int) -> Section:
    """Return the section of one axis.

    Args:
        axis: the sets.
        records: N.
    """
    size, l = axis.original_size, axis.set_size
    shown = " with ".join(axis.attributes)
    what = "values" if len(axis.attributes) == 1 else "combinations"
    if axis.silent:
        said = (
            f"Every record releases all {size} {what} of {shown}: the set says nothing of the record, and no count of "
            f"{shown} can be estimated. Who knows how common the {what} are guesses as well as without the release."
        )
        return Section(f"Sets of {shown}", (said,), (Fact(f"Different {what}", figure(size)),))
    how = (
        f"Every record releases {l} different {what} of {shown}: its own, and {l - 1} drawn at random from the"
        f" {size - 1} others, each as likely as any: P_E = (l-1)/(|S|-1) is the chance of each. They stand in a fixed"
        " order, so that their places say nothing."
    )
    warning = (
        f"A set says for certain that its record has none of the {size - l} {what} that it does not hold. Who knows"
        f" which {what} go with a person's other columns can rule out more: the findings say how far that goes."
    )
    errors = (
        "The mean squared error is the expected square of how far an estimated share lies off, on average over the"
        f" {what}; of the population it also counts the chance by which the table was sampled. Of a part of the records"
        " it is larger, as many times as the part is smaller than the whole."
    )
    table = addition_mean_squared_error(size, l, records, "table")
    population = addition_mean_squared_error(size, l, records, "population")
    facts = (
        Fact(f"Different {what}", figure(size)),
        Fact(f"{what.capitalize()} in each set", figure(l)),
        Fact("Chance that a set holds a given other one", exact(axis.other_included)),
        Fact("Mean squared error of a share of this table", _error_text(table)),
        Fact("Mean squared error of a share of a uniform population", _error_text(population)),
    )
    return Section(f"Sets of {shown}", (how, warning, errors), facts)


def _error_text(squared: Fraction | float) -> str:
    """Return a mean squared error with its root, which has the unit of a share."""
    return f"{figure(float(squared), 4)}; its root is {figure(100 * math.sqrt(squared), 2)} percentage points"
