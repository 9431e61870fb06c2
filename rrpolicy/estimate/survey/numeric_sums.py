"""Numbers of people of the population by groups: what a sample's records add to sums and counts, by its design."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical_json import Value
from rrpolicy.engine.quoting import identifier
from rrpolicy.estimate.counts.condition import split
from rrpolicy.estimate.counts.grouping import (
    check_size,
    group_values,
    grouping,
    groups_of,
    ungrouped_condition_axes,
)
from rrpolicy.estimate.counts.numeric_categories import category_numbers, check_numbers
from rrpolicy.estimate.counts.scan import Number
from rrpolicy.estimate.survey.sums import INSIDE, VALUE, Functions, Survey
from rrpolicy.estimate.weights.recode import refuse_biased
from rrpolicy.frozen_dataclass import frozen

if TYPE_CHECKING:
    from rrpolicy.estimate.expression import Expression
    from rrpolicy.estimate.release import Release
    from rrpolicy.source.counts import Array


@frozen(slots=False)
class PeopleNumbers:
    """What is summed of a column of numbers, by group.

    Attributes:
        name: of the column.
        by: names of what is grouped by.
        keys: what each group is of.
        survey: the sample.
        numbers: the functions whose totals are sums of the number.
        counts: those whose totals are how many have it.
        everybody: those that count who has none, too.
        released: (groups,) released records that speak for each group.
        within: what a mean can be.
        categories: those of who has no number.
    """

    name: str
    by: tuple[str, ...]
    keys: tuple[Mapping[str, Value], ...]
    survey: Survey = field(repr=False)
    numbers: Functions = field(repr=False)
    counts: Functions = field(repr=False)
    everybody: Functions = field(repr=False)
    released: Array
    within: tuple[float, float]
    categories: tuple[Value, ...]


def numbers_of(
    release: Release, value: str, by: Sequence[str], conjuncts: Sequence[Expression], what: str
) -> PeopleNumbers:
    """Return what is summed of a column of numbers; arguments as for `rrpolicy.estimate.sums.numeric_sums.sums_of`.

    Raises:
        PolicyError: as that; RR545 and RR546 as `Survey.of`.
    """
    assert release.design is not None
    condition = split(conjuncts, release.columns)
    names, axes = grouping(release.columns, by, condition)
    refuse_biased([*axes, *(axis for axis, _ in condition.masks.values())], what)
    name = release.columns.name(value)
    grouped = [groups_of(axis, names, condition) for axis in axes]
    check_size(axes, [group for group, _ in grouped], names)
    own = release.columns.axes.get(name)
    if own is None:
        check_numbers(release.columns, name)
    column = Number(name, identifier(name)) if own is None else None
    every = axes if own is None else [*axes, *(axis for axis, _ in ungrouped_condition_axes(axes, condition)), own]
    survey = Survey.of(release.design, release.columns, release.data, every, condition, column)
    masks = [(axis, mask) for axis, (_, mask) in zip(axes, grouped, strict=True)]
    inside = survey.indicators(masks, condition)
    counts: Array = inside
    numbers: Array = inside
    within: tuple[float, float] = (-np.inf, np.inf)
    absent: tuple[Value, ...] = ()
    if own is not None:
        of = category_numbers(release.columns, name, condition.leaves(own))
        numbers, counts = inside * survey.along(own, of.y), inside * survey.along(own, of.known)
        within, absent = of.within, of.absent
    return PeopleNumbers(
        name,
        names,
        tuple(group_values(names, [group for group, _ in grouped])),
        survey,
        survey.functions({INSIDE if own is not None else VALUE: numbers}),
        survey.functions({INSIDE: counts}),
        survey.functions({INSIDE: inside}),
        survey.speaking(masks, condition).reshape(-1),
        within,
        absent,
    )
