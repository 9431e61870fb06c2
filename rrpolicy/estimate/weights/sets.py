"""Record weights of released sets: each released set adds weight to every value it contains.

Of S values a set of l contains the record's own and any other with probability P_E = (l-1)/(S-1), so that

    w = (1[j in set] - P_E) / (1 - P_E)

sums without bias to the count of value j; for a group of values, to the sum of their counts (Sei, Ohsuga). There are
too many sets to count records by them. Instead all records are counted, and those whose set contains each value:
first moments are linear in these counts, and so is the expectation of a square given them. For single values that is
the sum of squared weights itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.weights.base import AxisWeights, Mask, not_estimable_error

if TYPE_CHECKING:
    from rrpolicy.channels.decoders import AdditionDecoder
    from rrpolicy.counts import Array

FACTOR_ENTRIES = 20_000_000


@dataclass(frozen=True)
class SetWeights(AxisWeights):
    """Sets of l distinct values; `released` lists the values that a set can contain, and equals `original`.

    Records are counted in 1 + S cells: all of them, and those whose set contains each value.

    Attributes:
        set_size: l.
    """

    set_size: int

    @property
    def counted(self) -> int:
        """Return 1 + S."""
        return 1 + len(self.original)

    @property
    def inclusion(self) -> Fraction:
        """Return P_E, the probability that a set contains a value other than the record's own."""
        return Fraction(self.set_size - 1, len(self.original) - 1)

    @property
    def held(self) -> float:
        """Return the weight of a set in the count of a value that it contains: 1."""
        return 1.0

    @property
    def not_held(self) -> float:
        """Return the weight of a set in the count of a value that it does not contain: -P_E/(1 - P_E)."""
        return float(-self.inclusion / (1 - self.inclusion))

    def solve(self, targets: Mask) -> Array:
        """Refuse: sets are not listed, so that no vector of weights by released value exists."""
        del targets
        message = f"{' and '.join(map(repr, self.columns))} is released as sets, which this calculation cannot weigh"
        hint = "request a crosstab, a cube, a mean or an association"
        raise PolicyError(Problem("RR279", message, hint=hint))

    def under(self, targets: Mask) -> Mask:
        """Refuse, as `solve` does."""
        return self.solve(targets).astype(bool)

    def own(self, x: Array, axis: int) -> Array:
        """Return the estimated sums by original value, from sums by counted cell."""
        moved = np.moveaxis(x, axis, 0)
        return np.moveaxis((moved[1:] - float(self.inclusion) * moved[:1]) / float(1 - self.inclusion), 0, axis)

    def contract(self, x: Array, axis: int, targets: Mask | None, power: int) -> Array:
        """Sum weights, or the expectations of their squares, along one axis.

        The set of a record with a value of a group of t contains m values of the group, m - 1 hypergeometric; any
        other has m so.
        """
        moved = np.moveaxis(x, axis, 0).astype(float)
        single = self.own(moved, 0)
        estimate = single if targets is None else np.tensordot(targets.astype(float).T, single, axes=1)
        if power > 1:
            sizes = np.ones(len(estimate)) if targets is None else targets.sum(axis=0)
            inside, outside = (
                np.array([self._spread(int(t) - less) for t in sizes]).reshape(-1, *[1] * (moved.ndim - 1))
                for less in (1, 0)
            )
            estimate = np.where(inside < 0, 0.0, (1 + inside) * estimate) + outside * (moved[:1] - estimate)
        return np.moveaxis(estimate, 0, axis)

    def support(self, x: Array, axis: int, targets: Mask | None) -> Array:
        """Return the number of sets that contain a value; for a group, a lower bound of it."""
        moved = np.moveaxis(x, axis, 0)
        held = moved[1:]
        if targets is not None:
            most = np.clip(targets.sum(axis=0), 1, self.set_size).reshape(-1, *[1] * (moved.ndim - 1))
            held = np.ceil(np.tensordot(targets.astype(float).T, held, axes=1) / most)
        return np.moveaxis(held, 0, axis)

    def adding(self, values: Array) -> Array:
        """Return (1 + S,) the contributions of records to a sum of values: the linear form of `own`, transposed."""
        inclusion = float(self.inclusion)
        return np.append(-inclusion * values.sum(), values) / (1 - inclusion)

    def products(self, first: Array, second: Array) -> Array:
        """Return (1 + S,) the contributions of records to the expectation of such products.

        Raises:
            PolicyError: RR268 as `factors`.
        """
        F = self.factors(None)
        return self.adding(((F @ first) * (F @ second)).reshape(len(self.original), -1).sum(axis=1))

    def lifted(self, x: Array, axis: int) -> Array:
        """Return the estimated sums by original value, once for each row of `factors` that belongs to it."""
        return np.repeat(self.own(x, axis), len(self.original), axis=axis)

    def factors(self, targets: Mask | None) -> Array:
        """Return (S S, k) rows whose squares add up, value by value, to E[w w^T | value].

        For value v: e_v, its mean, and the covariance alpha^2 var (I - J/(S-1)) (S-1)/(S-2) over the other values,
        alpha = 1/(1 - P_E) and var = P_E (1 - P_E).

        Raises:
            PolicyError: RR268 if the rows need too much memory.
        """
        size = len(self.original)
        if size**3 > FACTOR_ENTRIES:
            message = f"the covariance of sets of {size:,} values is too large"
            raise PolicyError(Problem("RR268", message, hint="request a crosstab, whose standard errors need none"))
        others = size - 1
        root = math.sqrt(self.inclusion * (1 - self.inclusion) * others / max(others - 1, 1)) / float(
            1 - self.inclusion
        )
        rows = np.zeros((size, size, size))
        for v in range(size):
            rest = np.flatnonzero(np.arange(size) != v)
            rows[v, v, v] = 1.0
            rows[v][np.ix_(rest, rest)] = root * (np.eye(others) - 1 / others)
        flat = rows.reshape(size * size, size)
        return flat if targets is None else np.asarray(flat @ targets.astype(float))

    def _spread(self, marked: int) -> float:
        """Return the variance of the weight of so many values that are not the record's own; -1 if there are none."""
        others = len(self.original) - 1
        if marked < 0:
            return -1.0
        share = Fraction(marked, others)
        left = Fraction(others - self.set_size + 1, max(others - 1, 1))
        return float((self.set_size - 1) * share * (1 - share) * left / (1 - self.inclusion) ** 2)


def set_weights(decoder: AdditionDecoder) -> SetWeights:
    """Return the weights of an addition decoder.

    Raises:
        PolicyError: RR267 if every set contains every value, and so carries no information.
    """
    if decoder.silent:
        names = " and ".join(map(repr, decoder.columns))
        message = f"nothing can be estimated for {names}: every released set contains all its categories"
        raise PolicyError(Problem("RR267", message, hint=f"leave {names} out"))
    if not 1 <= decoder.set_size < len(decoder.labels):
        raise not_estimable_error(decoder.columns)
    return SetWeights(decoder.columns, decoder.labels, decoder.labels, decoder.set_size)


def counted_cells(axis: SetWeights, lists: Sequence[str], domains: Sequence[str]) -> str:
    """Return the SQL list of the cells that a record is counted in: 0, and 1 + code for each value of its set."""
    same, codes = _held_codes(axis, lists, domains)
    return f"CASE WHEN {same} THEN list_prepend(0, list_transform({codes}, lambda code: 1 + code)) END"


def codes_of_sets(axis: SetWeights, lists: Sequence[str], domains: Sequence[str]) -> str:
    """Return the SQL list of the codes of the values in a set; arguments as for `counted_cells`.

    It is null for a set of another size; a code is null for a value outside the domain.
    """
    same, codes = _held_codes(axis, lists, domains)
    return f"CASE WHEN {same} THEN {codes} END"


def _held_codes(axis: SetWeights, lists: Sequence[str], domains: Sequence[str]) -> tuple[str, str]:
    """Return as SQL whether a set has the size that it should have, and the codes of its values."""
    code = ""
    for part, domain in zip(lists, domains, strict=True):
        place = f"(list_position({domain}, {part}[i]) - 1)"
        code = f"({code}) * len({domain}) + {place}" if code else place
    same = " AND ".join(f"len({part}) = {axis.set_size}" for part in lists)
    return same, f"list_transform(range(1, {axis.set_size + 1}), lambda i: {code})"
