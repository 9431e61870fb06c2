"""The classes that a release by tuple suppression will have, the one of the suppressed records among them.

The suppressed records are held to every requirement as well: a record in no other class is among them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channels.axes.recode import ANYTHING
from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.counts import number_rows
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.classes.class_population import Population
from rrpolicy.privacy.classes.histograms import Classes, Histograms

if TYPE_CHECKING:
    from rrpolicy.canonical_json import Value
    from rrpolicy.counts import Codes, Ints
    from rrpolicy.privacy.model import Written
    from rrpolicy.source.protocol import Original


def planned_classes(requirement: Requirement, channel: SuppressionChannel, original: Original) -> Classes:
    """Return the classes that will be released."""
    counts = channel.released(original)
    rows, value = counts.codes[:, :-1], counts.codes[:, -1].astype(np.int64)
    group, classes = number_rows(rows.T, len(rows))
    width = len(channel.sensitive.labels)
    histograms = Histograms.of_cells(group, value, counts.n, classes=classes, values=width)
    concerned = np.ones(classes, dtype=bool)
    for place, column in enumerate(channel.known):
        wanted = subgroup_labels(requirement, column.attribute)
        if wanted:
            codes = [column.labels.index(label) for label in wanted]
            concerned[group[~np.isin(rows[:, place], codes)]] = False
    population = None
    if requirement.needs_reference and original.reference is not None:
        population = _people_by_class(channel, original.reference, rows, group, classes)
    return Classes(histograms.sizes, {channel.sensitive.attribute: histograms}, concerned, population=population)


def _people_by_class(
    channel: SuppressionChannel, reference: Original, rows: Codes, group: Ints, classes: int
) -> Population:
    """Return the people of a reference table by class: those of the same values, and all for what is suppressed.

    Args:
        channel: has the codes that stand for anything.
        reference: the population.
        rows: (rows, known attributes) released codes.
        group: (rows,) the class of each.
        classes: how many there are.
    """
    found = reference.counts(*(column.attribute for column in channel.known))
    number, distinct = number_rows(np.concatenate([rows, found.codes]).T, len(rows) + len(found.n))
    image = np.full(distinct, classes, dtype=np.int64)  # the last is of those whose class the table lacks
    image[number[: len(rows)]] = group
    people = np.zeros(classes + 1, dtype=np.int64)
    np.add.at(people, image[number[len(rows) :]], found.n)
    stars = (rows == [len(column.labels) - 1 for column in channel.known]).all(axis=1)
    people[group[stars]] = reference.records
    return Population.counted(people[:-1], 0 if stars.any() else int(people[-1]))


def empirical_classes(requirement: Requirement, channel: SuppressionChannel, written: Written) -> Classes:
    """Return the classes of a written release, from its table and the published channel alone."""
    within = {c.name: labels for c in channel.known if (labels := subgroup_labels(requirement, c.attribute))}
    column = channel.sensitive
    found = written.classes("data", [c.name for c in channel.known], [column.name], within, None)
    return replace(found, histograms={column.attribute: found.histograms[column.name]})


def subgroup_labels(requirement: Requirement, attribute: str) -> tuple[Value, ...]:
    """Return the labels that a record of the subgroup may have in a column; none if it does not limit it."""
    return (requirement.where[attribute], ANYTHING) if attribute in requirement.where else ()
