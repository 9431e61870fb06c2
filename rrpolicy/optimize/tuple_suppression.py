"""TP: the records to suppress so that every class, and the suppressed ones together, have no value too common.

A class of n records satisfies l-diversity by frequency if its commonest value has at most n/l of them. Records that
agree in all quasi-identifiers always make a class; some are moved to the rest, R, whose quasi-identifiers are `*`:

    1   from every class the commonest value's records, one by one, until it satisfies the requirement;
    2   while R does not: records that leave their class satisfied and do not raise R's commonest count;
    3   while R still does not: the commonest values of a class together, of the class that helps most; at the latest
        when
        everything is in R it is satisfied, for the whole table is.

References:
    Xiao, Yi, Tao 2010, "The Hardness and Approximation Algorithms for L-Diversity", section 5 (three phases). Their
    bound on the number of suppressed records is not claimed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import exact
from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.errors import Place, Problem, RequirementError

if TYPE_CHECKING:
    from rrpolicy.counts import Ints
    from rrpolicy.mechanism import Task
    from rrpolicy.policy.model import Attribute, Requirement
    from rrpolicy.privacy.model import Assessor
    from rrpolicy.source.protocol import Original

Histogram: TypeAlias = "list[int]"


@dataclass
class TuplePartition:
    """The sensitive values that each class keeps while records are moved to the rest."""

    l: Fraction
    classes: list[Histogram]
    rest: Histogram

    def satisfied(self, counts: Histogram) -> bool:
        """Return whether the commonest value has at most n/l records."""
        return max(counts) * self.l <= sum(counts)

    def run(self) -> bool:
        """Move records until R is satisfied too; False if the whole table is not."""
        whole = [sum(column) for column in zip(*self.classes, strict=True)]
        if not self.satisfied(whole):
            return False
        for counts in self.classes:
            while not self.satisfied(counts):
                self._move(counts, counts.index(max(counts)))
        moving = True
        while moving and not self.satisfied(self.rest):
            moving = self._second()
        while not self.satisfied(self.rest):
            self._third()
        return True

    def _second(self) -> bool:
        """Visit all classes once; return whether anything was moved."""
        moved = False
        for counts in self.classes:
            while sum(counts) and not self.satisfied(self.rest):
                values = self._movable(counts)
                if values is None or any(self.rest[v] >= max(self.rest) for v in values):
                    break
                moved = True
                for value in values:
                    self._move(counts, value)
        return moved

    def _movable(self, counts: Histogram) -> tuple[int, ...] | None:
        """Return the fewest records that can leave a class satisfied, those that are rarest in R first."""
        most = max(counts)
        if most * self.l <= sum(counts) - 1:
            return (min((v for v, n in enumerate(counts) if n), key=lambda v: (self.rest[v], v)),)
        pillars = tuple(v for v, n in enumerate(counts) if n == most)
        return pillars if (most - 1) * self.l <= sum(counts) - len(pillars) else None

    def _third(self) -> None:
        """Move from the class that brings R nearest to the requirement; all of it if no less leaves it satisfied."""
        ways = [
            (self._gap(values), i, values) for i, counts in enumerate(self.classes) for values in self._ways(counts)
        ]
        _, index, values = min(ways)
        for value in values:
            self._move(self.classes[index], value)

    def _ways(self, counts: Histogram) -> Iterator[tuple[int, ...]]:
        if not sum(counts):
            return
        some = self._movable(counts)
        if some is not None:
            yield some
        yield tuple(v for v, n in enumerate(counts) for _ in range(n))

    def _gap(self, values: tuple[int, ...]) -> tuple[Fraction, int]:
        """Return the number of records that R would lack after a move, and the number moved."""
        after = list(self.rest)
        for value in values:
            after[value] += 1
        return max(max(after) * self.l - sum(after), Fraction(0)), len(values)

    def _move(self, counts: Histogram, value: int) -> None:
        counts[value] -= 1
        self.rest[value] += 1


def suppress_counts(histograms: Ints, l: Fraction) -> Ints | None:
    """Return the suppressed records of each class and value, for frequency l; None if the whole table fails."""
    parting = TuplePartition(l, histograms.tolist(), [0] * histograms.shape[1])
    if not parting.run():
        return None
    return histograms - np.array(parting.classes, dtype=np.int64).reshape(histograms.shape)


class Suppression(Struct, frozen=True):
    """The result of TP.

    Attributes:
        channel: the channel that releases the rest.
        l: satisfied by every class, and by the suppressed records as one.
    """

    channel: SuppressionChannel
    l: Fraction


def tuple_suppression(
    task: Task,
    original: Original,
    known: Sequence[Attribute],
    sensitive: Attribute,
    *,
    least: Fraction,
    place: Place | None = None,
) -> Suppression:
    """Return the channel of TP: as few suppressed records as its three phases find.

    If that leaves requirements of disclosure unsatisfied, they run again with an l that implies them; see
    `implied_diversity`.

    Args:
        task: the requirements.
        original: the table.
        known: the class-defining ones.
        sensitive: the attribute whose values are counted in them.
        least: l of l-diversity by frequency, which implies every other requirement.
        place: the place of the policy's entry, for errors.

    Raises:
        RequirementError: RR105 if even the whole table, as one class, fails.
    """
    names = [a.name for a in known]
    counts = original.counts(*names, sensitive.name)
    classes, member = np.unique(counts.codes[:, :-1], axis=0, return_inverse=True)
    histograms = np.zeros((len(classes), counts.shape[-1]), dtype=np.int64)
    histograms[member.ravel(), counts.codes[:, -1]] = counts.n
    l = least
    failing: tuple[tuple[Requirement, Assessor], ...] = ()
    while True:
        gone = suppress_counts(histograms, l)
        if gone is None:
            raise _unreachable_error(sensitive, l, [r for r, _ in failing], place)
        group, value = np.nonzero(gone)
        moved = np.column_stack([classes[group], value, gone[group, value]]).tolist()
        channel = SuppressionChannel.of(known, sensitive, moved)
        failing = tuple((r, a) for r, a in task.requirements if not a.accepts(r, channel, original))
        if not failing:
            return Suppression(channel, l)
        enough = implied_diversity(failing, sensitive)
        if enough <= l:
            raise _unreachable_error(sensitive, None, [r for r, _ in failing], place)
        l = enough


def implied_diversity(requirements: Sequence[tuple[Requirement, Assessor]], sensitive: Attribute) -> Fraction:
    """Return the least l for which TP meets the requirements, as far as assessors have one; else 1."""
    known = [a.frequency(r, sensitive) for r, a in requirements if a.frequency is not None]
    return max(known, default=Fraction(1))


def _unreachable_error(
    sensitive: Attribute, l: Fraction | None, failing: Sequence[Requirement], place: Place | None
) -> RequirementError:
    """Return the error that names the unachievable requirement.

    `l` is one that not even the whole table reaches; None if it does, and requirements fail nevertheless.
    """
    names = ", ".join(dict.fromkeys(r.model for r in failing))
    where = failing[0].place or place if failing else place
    if l is None:
        hint = "set a larger l, or choose full-domain or mondrian"
        return RequirementError(Problem("RR105", f"what tp suppresses does not satisfy {names}", where, hint=hint))
    message = f"no value of '{sensitive.name}' may have more than 1 in {exact(l)} records, and one has"
    if not failing:
        return RequirementError(Problem("RR105", message, place, hint="set a smaller l, or exclude that attribute"))
    message = f"{names} fails with the records suppressed for l-diversity; tp meets it with l = {exact(l)}: "
    message += f"but then no value of '{sensitive.name}' may have more than 1 in {exact(l)} records, and one has"
    hint = "raise the threshold, for common values alone by `thresholds`; coarsen the domains; or choose full-domain"
    return RequirementError(Problem("RR105", message, where, hint=hint))
