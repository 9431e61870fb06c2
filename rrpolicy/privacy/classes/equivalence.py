"""The equivalence classes of a release: of a planned channel without randomness, and of the written tables.

The knowledge of the attacker about a person makes a class: the quasi-identifiers as released, and each insensitive
attribute that is released with them, unless the policy states why it identifies nobody. The attacker does not know
sensitive attributes.

Of a release by tuple suppression the suppressed records are a class too, and every requirement applies to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import Value
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.recode import ANYTHING, Recode
from rrpolicy.channels.product.channel import Product
from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.counts import number_rows
from rrpolicy.declarations import Role
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.classes.class_population import Population
from rrpolicy.privacy.classes.histograms import Classes, Histograms
from rrpolicy.privacy.evidence import KnownAndSensitive, gather_evidence

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis
    from rrpolicy.channels.table import Column
    from rrpolicy.counts import Codes, Ints
    from rrpolicy.privacy.classes.histograms import Mask
    from rrpolicy.privacy.model import Written
    from rrpolicy.source.protocol import Original


class ClassColumns(Struct, frozen=True):
    """The released columns that make the classes of a product channel, and those that are counted in them.

    Attributes:
        known: axes that make the classes.
        carried: carried columns that do.
        sensitive: the axis of each counted attribute.
    """

    known: tuple[Axis, ...]
    carried: tuple[Column, ...]
    sensitive: tuple[Axis, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the released names of the columns that make the classes."""
        return (*(c.name for axis in self.known for c in axis.columns()), *(c.name for c in self.carried))

    @property
    def suppressed(self) -> tuple[Value, ...] | None:
        """Return the values in `columns` of a suppressed record; None if a suppressed one keeps a known value."""
        if len(self.known) != 1 or self.carried or not isinstance(self.known[0], Recode):
            return None
        return self.known[0].suppressed_row if self.known[0].released_size > 1 else None


def class_columns(channel: Product, policy: Policy, sensitive: Sequence[str]) -> ClassColumns:
    """Separate the columns that make a class from those that are counted in it.

    Raises:
        PolicyError: RR227 if a sensitive attribute is not released by itself.
    """
    own: dict[str, Axis] = {}
    known: list[Axis] = []
    for axis in channel.axes:
        roles = {policy.attributes[name].role for name in axis.attributes}
        if len(axis.attributes) == 1 and roles == {Role.SENSITIVE}:
            own[axis.attributes[0]] = axis
        elif Role.SENSITIVE in roles:
            raise PolicyError(Problem("RR227", f"'{axis.attributes[0]}' is released together with other attributes"))
        elif Role.QUASI_IDENTIFIER in roles or any(c.assume_unlinkable is None for c in axis.columns()):
            known.append(axis)
    missing = [name for name in sensitive if name not in own]
    if missing:
        raise PolicyError(Problem("RR227", f"the sensitive attribute '{missing[0]}' is not released"))
    hidden = {name for name, attribute in policy.attributes.items() if attribute.role is Role.SENSITIVE}
    carried = tuple(c for c in channel.carried if c.attribute not in hidden and c.assume_unlinkable is None)
    return ClassColumns(tuple(known), carried, tuple(own[name] for name in sensitive))


def expected_classes(
    requirement: Requirement, channel: Product, original: Original, sensitive: Sequence[str]
) -> Classes:
    """Return the classes that a product with deterministic axes will release.

    Args:
        requirement: its `where` limits the classes concerned; the population is counted if it needs it.
        channel: the product.
        original: the table.
        sensitive: the attributes to count.
    """
    seen = class_columns(channel, original.policy, sensitive)
    parts = [
        gather_evidence(original, KnownAndSensitive(seen.known, seen.carried, target))
        for target in seen.sensitive or (None,)
    ]
    people, released = parts[0].n, released_codes(seen, parts[0].values)
    concerned = np.ones(len(people), dtype=bool)
    place = 0
    for axis in seen.known:
        for column, images in subgroup_codes(axis, requirement, original.policy).items():
            concerned &= np.isin(released[place + column], images)
        place += len(axis.attributes)
    kept = _is_in_class(seen, released)
    gone = int(people[~kept].sum())
    released = [codes[kept] for codes in released]
    group, classes = number_rows(released, int(kept.sum()))
    sizes = np.zeros(classes, dtype=np.int64)
    np.add.at(sizes, group, people[kept])
    held = np.zeros(classes, dtype=bool)
    held[group] = concerned[kept]
    histograms = {}
    for name, axis, part in zip(sensitive, seen.sensitive, parts, strict=False):
        counts = part.histograms[kept]
        cell, code = np.nonzero(counts)
        value = recoded_columns(axis, code[:, None])[:, 0].astype(np.int64)
        width = len(axis.columns()[0].labels)
        found = Histograms.of_cells(group[cell], value, counts[cell, code], classes=classes, values=width)
        histograms[name] = replace(found, beyond=_released_totals(axis, part.histograms, width)) if gone else found
    population = None
    if requirement.needs_reference and original.reference is not None:
        evidence = gather_evidence(original.reference, KnownAndSensitive(seen.known, (), None))
        theirs = released_codes(seen, evidence.values)
        inside = _is_in_class(seen, theirs)
        by_class = _people_by_class(released, group, classes, [t[inside] for t in theirs], evidence.n[inside])
        population = Population.counted(by_class[:-1], int(by_class[-1]), int(evidence.n[~inside].sum()))
    return Classes(sizes, histograms, held, gone, population)


def _released_totals(axis: Axis, histograms: Ints, width: int) -> Ints:
    """Return (released values,) the records with each, suppressed ones included."""
    whole = np.zeros(width, dtype=np.int64)
    np.add.at(whole, recoded_columns(axis, np.arange(histograms.shape[1])[:, None])[:, 0], histograms.sum(axis=0))
    return whole


def released_codes(seen: ClassColumns, values: Codes) -> list[Codes]:
    """Return the released codes of (groups, attributes) original codes, by column that makes the classes."""
    released: list[Codes] = []
    for axis in seen.known:
        released += list(recoded_columns(axis, values[:, len(released) : len(released) + len(axis.attributes)]).T)
    return [*released, *values[:, len(released) :].T]


def _is_in_class(seen: ClassColumns, released: Sequence[Codes]) -> Mask:
    """Return (groups,) which are not suppressed."""
    if seen.suppressed is None:
        return np.ones(len(released[0]) if released else 1, dtype=bool)
    labels = [len(column.labels) - 1 for column in seen.known[0].columns()]
    kept: Mask = np.any([codes != last for codes, last in zip(released, labels, strict=True)], axis=0)
    return kept


def _people_by_class(released: Sequence[Codes], group: Ints, classes: int, theirs: Sequence[Codes], n: Ints) -> Ints:
    """Return (classes + 1,) people of a population by class; the last are those whose class the table lacks.

    Args:
        released: for each column, (groups,) released codes of the table.
        group: (groups,) the class of each.
        classes: their number.
        theirs: for each column, (people,) released codes of the population.
        n: (people,) people with these codes.
    """
    both = [np.concatenate(pair) for pair in zip(released, theirs, strict=True)]
    number, distinct = number_rows(both, len(group) + len(n))
    image = np.full(distinct, classes, dtype=np.int64)
    image[number[: len(group)]] = group
    people = np.zeros(classes + 1, dtype=np.int64)
    np.add.at(people, image[number[len(group) :]], n)
    return people


def empirical_classes(
    requirement: Requirement, policy: Policy, channel: Product, written: Written, sensitive: Sequence[str]
) -> Classes:
    """Return the classes of a written release, from its table and the published channel alone.

    Args:
        requirement: its `where` limits the classes concerned.
        policy: its published part: domains and roles.
        channel: the channel as published; it determines the columns, and the released labels of the categories in
            `where`.
        written: the tables.
        sensitive: the attributes to count.
    """
    seen = class_columns(channel, policy, sensitive)
    within: dict[str, Sequence[Value]] = {}
    for axis in seen.known:
        for place, images in subgroup_codes(axis, requirement, policy).items():
            column = axis.columns()[place]
            within[column.name] = [column.labels[code] for code in images]
    columns = [axis.columns()[0].name for axis in seen.sensitive]
    found = written.classes("data", seen.columns, columns, within, seen.suppressed)
    histograms = {name: found.histograms[c] for name, c in zip(sensitive, columns, strict=True)}
    return Classes(found.sizes, histograms, found.concerned, found.suppressed)


def recoded_columns(axis: Axis, codes: Codes | Ints) -> Codes:
    """Return the released codes of rows of an axis' original codes, by column."""
    if isinstance(axis, Recode):
        return axis.recode(codes)
    assert isinstance(axis, Identity)
    return codes.astype(np.int32)


def subgroup_codes(axis: Axis, requirement: Requirement, policy: Policy) -> dict[int, list[int]]:
    """Return column -> the released codes that a record of the subgroup may have, for the columns that it limits.

    A label includes the category or not, whatever the other columns contain: a possible member of a class counts as
    one.
    """
    found: dict[int, list[int]] = {}
    for place, name in enumerate(axis.attributes):
        if name not in requirement.where:
            continue
        category = (policy.attributes[name].domain or ()).index(requirement.where[name])
        groups = axis.groups[place] if isinstance(axis, Recode) else [(i,) for i in range(axis.original_size)]
        found[place] = [label for label, codes in enumerate(groups) if category in codes]
    return found


def expected_tuple_classes(requirement: Requirement, channel: SuppressionChannel, original: Original) -> Classes:
    """Return the classes that a release by tuple suppression will have."""
    counts = channel.released(original)
    rows, value = counts.codes[:, :-1], counts.codes[:, -1].astype(np.int64)
    group, classes = number_rows(rows.T, len(rows))
    width = len(channel.sensitive.labels)
    histograms = Histograms.of_cells(group, value, counts.n, classes=classes, values=width)
    concerned = np.ones(classes, dtype=bool)
    for place, column in enumerate(channel.known):
        wanted = _subgroup_labels(requirement, column.attribute)
        if wanted:
            codes = [column.labels.index(label) for label in wanted]
            concerned[group[~np.isin(rows[:, place], codes)]] = False
    population = None
    if requirement.needs_reference and original.reference is not None:
        found = original.reference.counts(*(column.attribute for column in channel.known))
        people = _people_by_class(list(rows.T), group, classes, list(found.codes.T), found.n)
        stars = (rows == [len(column.labels) - 1 for column in channel.known]).all(axis=1)
        people[group[stars]] = original.reference.records  # everybody agrees with a suppressed record
        population = Population.counted(people[:-1], 0 if stars.any() else int(people[-1]))
    return Classes(histograms.sizes, {channel.sensitive.attribute: histograms}, concerned, population=population)


def empirical_tuple_classes(requirement: Requirement, channel: SuppressionChannel, written: Written) -> Classes:
    """Return the classes of a written release by tuple suppression, from its table and the published channel alone."""
    within = {c.name: labels for c in channel.known if (labels := _subgroup_labels(requirement, c.attribute))}
    column = channel.sensitive
    found = written.classes("data", [c.name for c in channel.known], [column.name], within, None)
    return replace(found, histograms={column.attribute: found.histograms[column.name]})


def _subgroup_labels(requirement: Requirement, attribute: str) -> tuple[Value, ...]:
    """Return the labels that a record of the subgroup may have in a column; empty if it is not limited."""
    return (requirement.where[attribute], ANYTHING) if attribute in requirement.where else ()
