"""Risks in exact integers, for what lies so near its limit that doubles cannot tell.

lambda is computed in integers over one denominator. The sum over released combinations is exact where it has few terms,
else enclosed within 2^-256 of each: what the enclosure cannot decide does not pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from rrpolicy.channel.base import Axis, Transition
    from rrpolicy.privacy.evidence import Evidence

Integers: TypeAlias = npt.NDArray[Any]
"""An array of Python integers, of any size each."""

NEAR = 1e-9
"""A double is accepted if it is this far, relatively, under its limit."""
MOST_PRODUCTS = 20_000_000
"""Integer products beyond which nothing is decided exactly."""
FEW_TERMS = 256
BITS = 256


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A number between two rationals."""

    low: Fraction
    high: Fraction


class ExactReconstruction:
    """R_QI of single groups in integers; what is computed for a context is kept for its other groups."""

    def __init__(self, evidence: Evidence) -> None:
        """Prepare the integer matrices: P_a = A_a / denominator_a."""
        self.evidence = evidence
        self.shape = tuple(axis.original_size for axis in evidence.axes)
        matrices = [_integers(axis) for axis in evidence.axes]
        self.matrices = [m for m, _ in matrices]
        self.denominator = math.prod(d for _, d in matrices)
        self._released: dict[int, Integers] = {}

    def of(self, group: int) -> Enclosed | None:
        """Return n[alpha] sum_beta P[beta, alpha]^2 / sum_gamma n[gamma] P[beta, gamma] of one group.

        Returns:
            None if that takes more than `MOST_PRODUCTS` products.
        """
        cells = math.prod(max(m.shape) for m in self.matrices) if self.matrices else 1
        if cells * sum(m.shape[1] for m in self.matrices) > MOST_PRODUCTS:
            return None
        released = self._lambda(int(self.evidence.context[group]))
        columns = [m[:, code] for m, code in zip(self.matrices, self.evidence.codes[group], strict=True)]
        chance = reduce(np.multiply.outer, columns, np.array(1, dtype=object))
        terms = [(int(c) ** 2, int(mass)) for c, mass in zip(np.ravel(chance), np.ravel(released), strict=True) if c]
        scale = Fraction(int(self.evidence.n[group]), self.denominator)
        if len(terms) <= FEW_TERMS:
            exactly = scale * sum((Fraction(c, mass) for c, mass in terms), Fraction(0))
            return Enclosed(exactly, exactly)
        shift = BITS + max(mass.bit_length() for _, mass in terms)
        low = sum((c << shift) // mass for c, mass in terms)
        unit = scale / (1 << shift)
        return Enclosed(low * unit, (low + len(terms)) * unit)

    def _lambda(self, context: int) -> Integers:
        """Return N lambda times the denominator, in integers, over the released combinations of one context."""
        if context not in self._released:
            first, last = np.searchsorted(self.evidence.context, [context, context + 1])
            array: Integers = np.zeros(self.shape, dtype=object)
            for code, n in zip(self.evidence.codes[first:last], self.evidence.n[first:last], strict=True):
                array[tuple(code)] = int(n)
            for axis, m in enumerate(self.matrices):
                array = np.moveaxis(np.tensordot(m, array, axes=(1, axis)), 0, axis)
            self._released[context] = array
        return self._released[context]


def exact_sensitive(evidence: Evidence, group: int, value: int) -> Fraction:
    """Return c_u R_S(u | alpha) of one group and value exactly."""
    axis = cast("Transition", evidence.sensitive)
    n = [int(x) for x in evidence.histograms[group]]
    columns = [axis.column(code) for code in range(len(n))]
    total = Fraction(0)
    for released, chance in columns[value].items():
        mass = sum((n[code] * column.get(released, Fraction(0)) for code, column in enumerate(columns)), Fraction(0))
        total += chance**2 / mass
    return Fraction(n[value], sum(n)) * n[value] * total


def _integers(axis: Axis) -> tuple[Integers, int]:
    """Return (A, denominator) with P = A / denominator."""
    transition = cast("Transition", axis)
    columns = [transition.column(code) for code in range(axis.original_size)]
    denominator = math.lcm(*(p.denominator for column in columns for p in column.values()))
    dense = np.zeros((transition.released_size, axis.original_size), dtype=object)
    for code, column in enumerate(columns):
        for released, probability in column.items():
            dense[released, code] = int(probability * denominator)
    return dense, denominator
