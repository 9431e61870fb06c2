"""Risks in exact integers, for numbers so near their limit that doubles cannot decide.

lambda is computed in integers over one denominator. The sum over released combinations is exact where it has few
terms, else enclosed within 2^-256 of each: a comparison that the enclosure cannot decide does not pass.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from rrpolicy.channels.base import Readable, Transition
from rrpolicy.privacy.disclosure.reconstruction import axis_width

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rrpolicy.channels.base import Axis
    from rrpolicy.counts import Ints
    from rrpolicy.privacy.evidence import Evidence

Integers: TypeAlias = npt.NDArray[Any]
"""An array of Python integers, of any size each."""

NEAR_LIMIT = 1e-9
"""A double is accepted if it is this far, relatively, under its limit."""
MOST_PRODUCTS = 20_000_000
"""Integer products beyond which nothing is decided exactly."""
MOST_SUMS = 20_000_000
"""Sums over sets beyond which nothing is decided exactly."""
FEW_TERMS = 256
BITS = 256


def snap_to_limit(value: float, limit: Fraction, exactly: Callable[[], Fraction | None]) -> float:
    """Return a number, or the double of its limit if it equals that exactly, so that no rounding looks like a margin.

    `exactly` returns the number in fractions; called only near the limit.
    """
    near = abs(value - float(limit)) <= NEAR_LIMIT * float(limit)
    return float(limit) if near and exactly() == limit else value


class RationalInterval(Struct, frozen=True):
    """A number between two rationals."""

    low: Fraction
    high: Fraction


class ExactReconstruction:
    """R_QI of single groups in integers. Computations for a context are stored for the next groups of the same."""

    def __init__(self, evidence: Evidence, most: int = MOST_PRODUCTS) -> None:
        """Prepare to decide single groups, until `most` integer products are spent."""
        self.evidence = evidence
        self.shape = tuple(axis.original_size for axis in evidence.axes)
        self._left = most
        self._context = -1
        self._released: Integers = np.zeros(0, dtype=object)

    def of(self, group: int) -> RationalInterval | None:
        """Return n[alpha] sum_beta P[beta, alpha]^2 / sum_gamma n[gamma] P[beta, gamma]; None if too expensive."""
        if group >= self.evidence.mixed:
            return RationalInterval(Fraction(1), Fraction(1))
        cells = math.prod(axis_width(axis) for axis in self.evidence.axes)
        context = int(self.evidence.context[group])
        cost = cells * (1 if context == self._context else 1 + sum(self.shape))
        if cost > self._left:
            return None
        self._left -= cost
        if context != self._context:
            first, last = np.searchsorted(self.evidence.context, [context, context + 1])
            people = [int(n) for n in self.evidence.n[first:last]]  # N lambda times the denominator follows
            self._context, self._released = context, self._carried(context, people)
        codes = self.evidence.codes[group]
        columns = [m[:, code] for (m, _), code in zip(self._matrices, codes, strict=True)]
        chance = reduce(np.multiply.outer, columns, np.array(1, dtype=object))
        scale = Fraction(int(self.evidence.n[group]), math.prod(denominator for _, denominator in self._matrices))
        return _sum_of_quotients(
            [(int(c) ** 2, int(mass)) for c, mass in zip(np.ravel(chance), np.ravel(self._released), strict=True) if c],
            scale,
        )

    def drawn(self, group: int, weight: Sequence[int]) -> RationalInterval | None:
        """Return sum_gamma M[gamma, group] sum_u c_u(gamma) weight_u; None if too expensive.

        It is an expectation over the record drawn; M is the round trip of
        `rrpolicy.privacy.disclosure.inference_accuracy`. The weights are (original size,).
        """
        people = self.evidence.joint
        if group >= self.evidence.mixed:
            exactly = Fraction(_weighted_people(people[group], weight), int(self.evidence.n[group]))
            return RationalInterval(exactly, exactly)
        cells = math.prod(axis_width(axis) for axis in self.evidence.axes)
        cost = 2 * cells * (1 + sum(self.shape))
        if cost > self._left:
            return None
        self._left -= cost
        context = int(self.evidence.context[group])
        first, last = np.searchsorted(self.evidence.context, [context, context + 1])
        own = self._carried(context, [_weighted_people(row, weight) for row in people[first:last]])
        mass = self._carried(context, [int(n) for n in self.evidence.n[first:last]])
        columns = [m[:, code] for (m, _), code in zip(self._matrices, self.evidence.codes[group], strict=True)]
        chance = reduce(np.multiply.outer, columns, np.array(1, dtype=object))
        scale = Fraction(1, math.prod(denominator for _, denominator in self._matrices))
        parts = zip(np.ravel(chance), np.ravel(own), np.ravel(mass), strict=True)
        return _sum_of_quotients([(int(c) * int(x), int(m)) for c, x, m in parts if c], scale)

    @cached_property
    def _matrices(self) -> list[tuple[Integers, int]]:
        return [integer_matrix(axis) for axis in self.evidence.axes]

    def _carried(self, context: int, weight: Sequence[int]) -> Integers:
        """Return weights of the groups of one context, carried to the released side, times the denominator."""
        first, last = np.searchsorted(self.evidence.context, [context, context + 1])
        array: Integers = np.zeros(self.shape, dtype=object)
        for code, n in zip(self.evidence.codes[first:last], weight, strict=True):
            array[tuple(code)] += n
        for axis, (m, _) in enumerate(self._matrices):
            array = np.moveaxis(np.tensordot(m, array, axes=(1, axis)), 0, axis)
        return array


def _weighted_people(people: Ints, weight: Sequence[int]) -> int:
    return sum(int(n) * w for n, w in zip(people, weight, strict=True))


def _sum_of_quotients(terms: list[tuple[int, int]], scale: Fraction) -> RationalInterval:
    """Return scale times the sum of the quotients: exact if they are few, else enclosed."""
    if len(terms) <= FEW_TERMS:
        exactly = scale * sum((Fraction(c, mass) for c, mass in terms), Fraction(0))
        return RationalInterval(exactly, exactly)
    shift = BITS + max(mass.bit_length() for _, mass in terms)
    low = sum((c << shift) // mass for c, mass in terms)
    unit = scale / (1 << shift)
    return RationalInterval(low * unit, (low + len(terms)) * unit)


class ExactSensitive:
    """c_u R_S(u | alpha) of single groups and values exactly; cached, as many groups are equal."""

    def __init__(self, evidence: Evidence, most: int = MOST_SUMS) -> None:
        """Prepare to decide single values, until `most` sums are spent on axes without listed released values."""
        self.evidence = evidence
        self._left = most
        self._known: dict[tuple[bytes, int], Fraction | None] = {}

    def of(self, group: int, value: int) -> Fraction | None:
        """Return c_u R_S(u | alpha) of one group and value; None if too expensive, or undetermined by the axis."""
        key = self.evidence.joint[group].tobytes(), value
        if key not in self._known:
            self._known[key] = self._computed(group, value)
        return self._known[key]

    def _computed(self, group: int, value: int) -> Fraction | None:
        axis = self.evidence.sensitive
        if isinstance(axis, Transition):
            return exact_sensitive(self.evidence, group, value)
        if not isinstance(axis, Readable):
            return None
        n = [int(x) for x in self.evidence.joint[group]]
        part = range(len(n)) if self.evidence.part is None else self.evidence.part.tolist()
        own = [count if of == value else 0 for count, of in zip(n, part, strict=True)]
        total = Fraction(0)
        for cell in (cell for cell, count in enumerate(own) if count):
            read = axis.exact_ratio(own, n, cell, self._left) if self._left > 0 else None
            self._left -= len(n) * min(sum(n), 1 << min(len(n), 60))
            if read is None:
                return None
            total += own[cell] * read
        return total / sum(n)


def exact_sensitive(evidence: Evidence, group: int, value: int) -> Fraction:
    """Return c_u R_S(u | alpha) of one group and value exactly."""
    axis = cast("Transition", evidence.sensitive)
    n = [int(x) for x in evidence.joint[group]]
    part = range(len(n)) if evidence.part is None else evidence.part.tolist()
    mass: dict[int, Fraction] = {}
    own: dict[int, Fraction] = {}
    for code, count in enumerate(n):
        for released, chance in axis.column(code).items() if count else ():
            mass[released] = mass.get(released, Fraction(0)) + count * chance
            if part[code] == value:
                own[released] = own.get(released, Fraction(0)) + count * chance
    return sum((read**2 / mass[released] for released, read in own.items()), Fraction(0)) / sum(n)


def exact_inference_accuracy(known: ExactReconstruction, group: int, value: int) -> Fraction | None:
    """Return success(alpha, u) of one group and value exactly, or an upper bound; None if either is too costly.

    c_u sum_v P_S[v, u] m(v)/(P_S c)(v) is the expectation for the record drawn, with the weights c_u sum_v P_S[v, u]
    P_S[v, w]/(P_S c)(v) of the values w that it may have.
    """
    evidence = known.evidence
    if group >= evidence.mixed:  # only its own records are drawn, and posteriors are right on average
        return Fraction(int(evidence.histograms[group, value]), int(evidence.n[group]))
    axis = evidence.sensitive
    if not isinstance(axis, Transition):
        return None
    n = [int(x) for x in evidence.histograms[group]]
    columns = [axis.column(code) for code in range(len(n))]
    weight = [Fraction(0)] * len(n)
    for released, chance in columns[value].items():
        mass = sum((n[code] * column.get(released, Fraction(0)) for code, column in enumerate(columns)), Fraction(0))
        for code, column in enumerate(columns):
            weight[code] += n[value] * chance * column.get(released, Fraction(0)) / mass
    denominator = math.lcm(*(w.denominator for w in weight))
    drawn = known.drawn(group, [int(w * denominator) for w in weight])
    return None if drawn is None else drawn.high / denominator


def integer_matrix(axis: Axis) -> tuple[Integers, int]:
    """Return (A, denominator) with P = A / denominator."""
    transition = cast("Transition", axis)
    columns = [transition.column(code) for code in range(axis.original_size)]
    denominator = math.lcm(*(p.denominator for column in columns for p in column.values()))
    dense = np.zeros((transition.released_size, axis.original_size), dtype=object)
    for code, column in enumerate(columns):
        for released, probability in column.items():
            dense[released, code] = int(probability * denominator)
    return dense, denominator
