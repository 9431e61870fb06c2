"""What the report says of sets: how values are hidden in them, in plain words, and what that costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rrpolicy.canonical import exact
from rrpolicy.channel.sets import addition_mean_squared_error
from rrpolicy.section import Fact, Section

if TYPE_CHECKING:
    from rrpolicy.channel.sets import Sets


def sets_section(axis: Sets, records: int) -> Section:
    """Return the section of one axis.

    Args:
        axis: the sets.
        records: N.
    """
    size, l = axis.original_size, axis.set_size
    shown = " with ".join(axis.attributes)
    what = "values" if len(axis.attributes) == 1 else "combinations"
    how = (
        f"Every record releases {l} different {what} of {shown}: its own, and {l - 1} drawn at random from the"
        f" {size - 1} others, each as likely as any. They stand in a fixed order, so that their places say nothing."
    )
    warning = (
        f"A set says for certain that its record has none of the {size - l} {what} that it does not hold. Who knows"
        f" which {what} go with a person's other columns can rule out more: the findings say how far that goes."
    )
    table = addition_mean_squared_error(size, l, records, "table")
    population = addition_mean_squared_error(size, l, records, "population")
    facts = (
        Fact(f"Different {what}", f"{size:,}"),
        Fact(f"{what.capitalize()} in each set", f"{l:,}"),
        Fact("Chance that a set holds a given other one", exact(axis.other_included)),
        Fact("Mean squared error of a share of this table", f"{float(table):.4g}"),
        Fact("Mean squared error of a share of a uniform population", f"{float(population):.4g}"),
    )
    return Section(f"Sets of {shown}", (how, warning), facts)
