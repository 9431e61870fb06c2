"""The equivalence classes of a release: of a channel that leaves nothing to chance, and of what was written.

What makes a class is what an attacker is taken to know of a person: the quasi-identifiers as released, and whatever
insensitive attribute is released with them, unless the policy states why it identifies nobody. Sensitive attributes are
what he does not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical_json import Value
from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.recode import Recode
from rrpolicy.channels.product.channel import Product
from rrpolicy.counts import number_rows
from rrpolicy.declarations import Role
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.frozen_dataclass import frozen
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


@frozen
class ClassColumns:
    """Which released columns make the classes of a product channel, and which are counted in them.

    Attributes:
        known: axes that make the classes.
        carried: carried columns that do.
        sensitive: by attribute asked for, the axis of each.
    """

    known: tuple[Axis, ...]
    carried: tuple[Column, ...]
    sensitive: tuple[Axis, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the released names of what makes the classes."""
        return (*(c.name for axis in self.known for c in axis.columns()), *(c.name for c in self.carried))

    @property
    def suppressed(self) -> tuple[Value, ...] | None:
        """Return the values in `columns` of a suppressed record; None if a suppressed one keeps anything known."""
        if len(self.known) != 1 or self.carried or not isinstance(self.known[0], Recode):
            return None
        return self.known[0].suppressed_row if self.known[0].released_size > 1 else None


def class_columns(channel: Product, policy: Policy, sensitive: Sequence[str]) -> ClassColumns:
    """Tell what makes a class from what is counted in it.

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
    carried = tuple(c for c in channel.carried if _can_link(c, policy))
    return ClassColumns(tuple(known), carried, tuple(own[name] for name in sensitive))


def _can_link(column: Column, policy: Policy) -> bool:
    attribute = policy.attributes.get(column.attribute)
    insensitive = attribute is None or attribute.role is not Role.SENSITIVE
    return insensitive and column.assume_unlinkable is None


def expected_classes(
    requirement: Requirement, channel: Product, original: Original, sensitive: Sequence[str]
) -> Classes:
    """Return the classes that a channel without chance will release.

    Args:
        requirement: its `where` limits the classes concerned; people are counted in them if it needs to know of these.
        channel: every axis deterministic.
        original: the table.
        sensitive: the attributes to count.
    """
    seen = class_columns(channel, original.policy, sensitive)
    parts = [
        gather_evidence(original, KnownAndSensitive(seen.known, seen.carried, target))
        for target in seen.sensitive or (None,)
    ]
    people, released = parts[0].n, _released_codes(seen, parts[0].values)
    concerned = np.ones(len(people), dtype=bool)
    place = 0
    for axis in seen.known:
        for column, images in _subgroup_codes(axis, requirement, original.policy).items():
            concerned &= np.isin(released[place + column], images)
        place += len(axis.attributes)
    kept = _is_in_class(seen, released)
    gone = int(people[~kept].sum())
    group, classes = number_rows([r[kept] for r in released], int(kept.sum()))
    sizes = np.zeros(classes, dtype=np.int64)
    np.add.at(sizes, group, people[kept])
    held = np.zeros(classes, dtype=bool)
    held[group] = concerned[kept]
    histograms = {}
    for name, axis, part in zip(sensitive, seen.sensitive, parts, strict=False):
        counts = part.histograms[kept]
        cell, code = np.nonzero(counts)
        value = _recoded_columns(axis, code[:, None])[:, 0].astype(np.int64)
        width = len(axis.columns()[0].labels)
        found = Histograms.of_cells(group[cell], value, counts[cell, code], classes=classes, values=width)
        histograms[name] = replace(found, beyond=_released_totals(axis, part.histograms, width)) if gone else found
    population = None
    if requirement.needs_reference and original.reference is not None:
        population = _people_by_class(seen, original.reference, [r[kept] for r in released], group, classes)
    return Classes(sizes, histograms, held, gone, population)


def _released_totals(axis: Axis, histograms: Ints, width: int) -> Ints:
    """Return (released values,) the records with each, suppressed ones included."""
    whole = np.zeros(width, dtype=np.int64)
    np.add.at(whole, _recoded_columns(axis, np.arange(histograms.shape[1])[:, None])[:, 0], histograms.sum(axis=0))
    return whole


def _released_codes(seen: ClassColumns, values: Codes) -> list[Codes]:
    """Return what groups are released as, by column of what makes the classes.

    Args:
        seen: what makes them.
        values: (groups, attributes) their original codes.
    """
    released: list[Codes] = []
    for axis in seen.known:
        released += list(_recoded_columns(axis, values[:, len(released) : len(released) + len(axis.attributes)]).T)
    return [*released, *values[:, len(released) :].T]


def _is_in_class(seen: ClassColumns, released: Sequence[Codes]) -> Mask:
    """Return (groups,) which are in a class, and not suppressed."""
    if seen.suppressed is None:
        return np.ones(len(released[0]) if released else 1, dtype=bool)
    labels = [len(column.labels) - 1 for column in seen.known[0].columns()]
    kept: Mask = np.any([codes != last for codes, last in zip(released, labels, strict=True)], axis=0)
    return kept


def _people_by_class(
    seen: ClassColumns, reference: Original, released: Sequence[Codes], group: Ints, classes: int
) -> Population:
    """Return the people of a reference table by class: everybody's values become what those of a record would.

    Args:
        seen: what makes the classes.
        reference: the population.
        released: by column, (groups,) what the groups of the table are released as.
        group: (groups,) the class of each.
        classes: how many there are.
    """
    found = gather_evidence(reference, KnownAndSensitive(seen.known, (), None))
    theirs = _released_codes(seen, found.values)
    kept = _is_in_class(seen, theirs)
    both = [np.concatenate([r, t[kept]]) for r, t in zip(released, theirs, strict=True)]
    number, distinct = number_rows(both, len(group) + int(kept.sum()))
    image = np.full(distinct, classes, dtype=np.int64)  # the last is of those whose class the table lacks
    image[number[: len(group)]] = group
    people = np.zeros(classes + 1, dtype=np.int64)
    np.add.at(people, image[number[len(group) :]], found.n[kept])
    return Population.counted(people[:-1], int(people[-1]), int(found.n[~kept].sum()))


def empirical_classes(
    requirement: Requirement, policy: Policy, channel: Product, written: Written, sensitive: Sequence[str]
) -> Classes:
    """Return the classes of a written release, from its table and the published channel alone.

    Args:
        requirement: its `where` limits the classes concerned.
        policy: as much of it as is published: domains and roles.
        channel: as published; tells the columns, and what the categories named in `where` are released as.
        written: the tables.
        sensitive: the attributes to count.
    """
    seen = class_columns(channel, policy, sensitive)
    within: dict[str, Sequence[Value]] = {}
    for axis in seen.known:
        for place, images in _subgroup_codes(axis, requirement, policy).items():
            column = axis.columns()[place]
            within[column.name] = [column.labels[code] for code in images]
    columns = [axis.columns()[0].name for axis in seen.sensitive]
    found = written.classes("data", seen.columns, columns, within, seen.suppressed)
    histograms = {name: found.histograms[c] for name, c in zip(sensitive, columns, strict=True)}
    return Classes(found.sizes, histograms, found.concerned, found.suppressed)


def _recoded_columns(axis: Axis, codes: Codes | Ints) -> Codes:
    """Return what rows of an axis' original codes are released as, by column."""
    if isinstance(axis, Recode):
        return axis.recode(codes)
    if not isinstance(axis, Identity):
        raise TypeError(f"axes of kind {axis.kind} leave something to chance")
    return codes.astype(np.int32)


def _subgroup_codes(axis: Axis, requirement: Requirement, policy: Policy) -> dict[int, list[int]]:
    """Return, by column, the released codes that a record of the subgroup may have; only of columns that it limits.

    A label stands for the category or not, whatever the other columns say: who might be in a class counts as in it.
    """
    found: dict[int, list[int]] = {}
    for place, name in enumerate(axis.attributes):
        if name not in requirement.where:
            continue
        category = (policy.attributes[name].domain or ()).index(requirement.where[name])
        groups = axis.groups[place] if isinstance(axis, Recode) else [(i,) for i in range(axis.original_size)]
        found[place] = [label for label, codes in enumerate(groups) if category in codes]
    return found
