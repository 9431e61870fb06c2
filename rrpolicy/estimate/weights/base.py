"""Record weights of each decoder form: a count of original records is a sum of weights of released ones.

For a predicate with 0/1 vector c over the original categories of an axis, the weight of a released value is w with
P^T w = c (moment estimator: Kuk 1990; Gouweleeuw et al. 1998; Chaudhuri and Mukerjee 1988). No predicate: w = 1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from rrpolicy.canonical_json import Value
from rrpolicy.channels.decoders import Block, Cell
from rrpolicy.counts import Array
from rrpolicy.errors import PolicyError, Problem

Rows: TypeAlias = Sequence[Sequence[Fraction]]
EXACT_LIMIT = 64
"""Sizes up to this are solved in rationals; larger ones in floating point, refined by exact residuals."""

_SOLVED = 1e-9


def solve(matrix: Rows, right: Rows) -> tuple[list[list[Fraction]], list[bool]]:
    """Solve `matrix @ x = right` exactly by fraction-free elimination (Bareiss 1968).

    `matrix`: (n, m) rationals of any rank. `right`: (n, k) rationals.

    Returns x: (m, k); free unknowns are 0. solved: (k,) whether the column of `right` has a solution at all; x is
    meaningless where it has none.
    """
    unknowns = len(matrix[0])
    work = np.array([_integers([*a, *b]) for a, b in zip(matrix, right, strict=True)], dtype=object)
    pivots, last = _eliminate(work, unknowns)
    columns = work.shape[1] - unknowns
    x = [[Fraction(0)] * columns for _ in range(unknowns)]
    for row, column in enumerate(pivots):
        x[column] = [Fraction(int(v), int(last)) for v in work[row, unknowns:]]
    rest = work[len(pivots) :, unknowns:]
    return x, [not any(rest[:, j]) for j in range(columns)]


def minimum_variance(matrix: Rows, targets: Rows) -> tuple[list[list[Fraction]], list[bool]]:
    """Find the weights of least variance with `matrix^T w = target`, exactly.

    Among all solutions the one that minimises sum_u lambda_u w_u^2, lambda the released proportions under a uniform
    original: w = D^-1 P y with (P^T D^-1 P) y = c, D = diag(lambda) (Gauss-Markov). For a square invertible matrix
    it is P^-T c; splitting a released value in proportion changes nothing.

    `matrix`: (released, original) column-stochastic. `targets`: (original, k).

    Returns w: (released, k), and (k,) whether each target can be estimated at all.
    """
    transposed = [list(column) for column in zip(*matrix, strict=True)]
    if len(transposed) == len(matrix):
        w, solved = solve(transposed, targets)
        if all(solved) and _nonsingular(transposed):
            return w, solved
    mass = [sum(row, Fraction(0)) for row in matrix]
    scaled = [[v / m if m else Fraction(0) for v in row] for row, m in zip(matrix, mass, strict=True)]
    gram = [
        [sum((a * b[j] for a, b in zip(column, scaled, strict=True) if a), Fraction(0)) for j in range(len(transposed))]
        for column in transposed
    ]
    y, solved = solve(gram, targets)
    k = len(targets[0])
    w = [[sum((s * y[v][j] for v, s in enumerate(row) if s), Fraction(0)) for j in range(k)] for row in scaled]
    return w, solved


def minimum_variance_float(matrix: Rows, targets: Array) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return the weights of `minimum_variance` for matrices too large for rationals.

    Returns w: (released, k) and (k,) whether `matrix^T w = target` is true to 1e-9.
    """
    P = np.array([[float(v) for v in row] for row in matrix])
    mass = P.sum(axis=1)
    root = np.sqrt(np.where(mass > 0, mass, 1.0))
    A = (P / root[:, None]).T
    inverse = np.linalg.pinv(A, rcond=1e-12)
    w = inverse @ targets
    for _ in range(2):
        w += inverse @ (targets - A @ w)
    residual = np.abs(targets - A @ w).max(axis=0)
    return w / root[:, None], residual <= _SOLVED * np.maximum(1.0, np.abs(w).max(axis=0))


def _integers(row: Sequence[Fraction]) -> list[int]:
    scale = math.lcm(*(v.denominator for v in row))
    return [v.numerator * (scale // v.denominator) for v in row]


def _eliminate(work: npt.NDArray[np.object_], unknowns: int) -> tuple[list[int], int]:
    """Bring integers to reduced echelon form without fractions; return the pivot columns and the common pivot."""
    pivots: list[int] = []
    last = 1
    for column in range(unknowns):
        row = len(pivots)
        found = next((i for i in range(row, len(work)) if work[i, column]), None)
        if found is None:
            continue
        work[[row, found]] = work[[found, row]]
        pivot = work[row, column]
        factors = work[:, column].copy()
        top = work[row].copy()
        work[:] = (pivot * work - np.outer(factors, top)) // last
        work[row] = top
        last = pivot
        pivots.append(column)
        if len(pivots) == len(work):
            break
    return pivots, last


def _nonsingular(matrix: Rows) -> bool:
    work = np.array([_integers(row) for row in matrix], dtype=object)
    return len(_eliminate(work, len(matrix))[0]) == len(matrix)


Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class AxisWeights(ABC):
    """How released values of one axis are weighted.

    Attributes:
        columns: released columns; several if the axis couples them.
        released: (U) released cells, one label a column.
        original: (V) original cells, one label a column, under the released names.
        more: other columns that describe an original cell, such as those of a table of the analyst's own: (V) labels.
    """

    columns: tuple[str, ...]
    released: tuple[Cell, ...]
    original: tuple[Cell, ...]
    more: tuple[tuple[str, tuple[Value, ...]], ...] = field(default=(), kw_only=True, repr=False)

    def labels_of(self, name: str) -> tuple[Value, ...]:
        """Return (V) the value of a column in each original cell."""
        told = dict(self.more).get(name)
        return tuple(cell[self.columns.index(name)] for cell in self.original) if told is None else told

    @property
    def randomised(self) -> bool:
        """Whether a released value can differ from the original."""
        return True

    @property
    def unbiased(self) -> bool:
        """Whether sums of weights are unbiased for counts, and squares give their errors."""
        return True

    def within(self, x: Array, axis: int, targets: Mask | None) -> Array:
        """Sum released counts that are certain to satisfy each predicate, where nothing is randomised."""
        return self.contract(x, axis, targets, 1)

    @property
    def counted(self) -> int:
        """Return the number of cells that released records are counted in: U, where each lies in one."""
        return len(self.released)

    @abstractmethod
    def solve(self, targets: Mask) -> Array:
        """Return (U, k) weights with P^T w = c for each column c of `targets` (V, k).

        Raises:
            PolicyError: RR267 where no weights satisfy the equation.
        """

    @abstractmethod
    def under(self, targets: Mask) -> Mask:
        """Return (U, k): which released values support each predicate.

        A released value does if it is likelier, on average, under the predicate than outside it; for retention those
        are the values that satisfy the predicate.
        """

    def vector(self, predicate: Mask) -> Array:
        """Return (U,) the weights of one predicate, (V,) over the original cells."""
        return self.solve(predicate[:, None])[:, 0]

    @cached_property
    def table(self) -> Array:
        """Return (U, V): the weight of released u in the count of original v, that is (P^-1)^T."""
        return self.solve(np.eye(len(self.original), dtype=bool))

    def contract(self, x: Array, axis: int, targets: Mask | None, power: int) -> Array:
        """Sum weights, or their squares, along one axis of an array of released counts.

        `targets`: (V, k) the counted categories; None for every original category by itself.
        """
        w = self.table if targets is None else self.solve(targets)
        return np.moveaxis(np.tensordot(x, w**power, axes=(axis, 0)), -1, axis)

    def support(self, x: Array, axis: int, targets: Mask | None) -> Array:
        """Sum the released counts that support each predicate; arguments as for `contract`."""
        w = self.under(np.eye(len(self.original), dtype=bool) if targets is None else targets)
        return np.moveaxis(np.tensordot(x, w.astype(float), axes=(axis, 0)), -1, axis)

    def adding(self, values: Array) -> Array:
        """Return (counted,) the contribution of released records to the sum of (V,) values over original cells."""
        return np.asarray(self.table @ values)

    def products(self, first: Array, second: Array) -> Array:
        """Return (counted,) each contribution to the sum of the products of the contributions to two such sums."""
        return self.adding(first) * self.adding(second)

    def lifted(self, x: Array, axis: int) -> Array:
        """Return released counts by the rows of `factors`, along one axis."""
        del axis
        return x

    def factors(self, targets: Mask | None) -> Array:
        """Return (rows, k) F such that F^T diag(n) F sums the products of a record's weights, n `lifted` counts."""
        return self.table if targets is None else self.solve(targets)


@dataclass(frozen=True)
class IdentityWeights(AxisWeights):
    """A column released unmodified: w = c."""

    @property
    def randomised(self) -> bool:
        """Return False."""
        return False

    def solve(self, targets: Mask) -> Array:
        """Return the targets themselves."""
        return targets.astype(float)

    def under(self, targets: Mask) -> Mask:
        """Return the targets themselves."""
        return targets

    def contract(self, x: Array, axis: int, targets: Mask | None, power: int) -> Array:
        """Return x, or its sums over the targets."""
        return x if targets is None else super().contract(x, axis, targets, power)

    def support(self, x: Array, axis: int, targets: Mask | None) -> Array:
        """Return x, or its sums over the targets."""
        return x if targets is None else super().support(x, axis, targets)


@dataclass(frozen=True)
class RetentionWeights(AxisWeights):
    """Retention in blocks: closed form, (I - q J)/(p - q) in every block, O(V) for any size.

    Attributes:
        blocks: members with keep probability p and q = (1-p)/(d-1).
    """

    blocks: tuple[Block, ...]

    @property
    def randomised(self) -> bool:
        """Whether any value can be released as another."""
        return any(block.keep != 1 for block in self.blocks)

    def kept_and_moved(self, block: Block) -> tuple[float, float]:
        """Return the weights of a released value in the count of itself and of another value of its block.

        Raises:
            PolicyError: RR267 if p = q: the released values carry no information on the values of the block.
        """
        if block.size == 1:
            return 1.0, 0.0
        first = block.members[0]
        if first not in self._rounded:
            p, q = block.keep, block.move
            if p == q:
                raise not_estimable_error(self.columns)
            self._rounded[first] = float((1 - q) / (p - q)), float(-q / (p - q))
        return self._rounded[first]

    @cached_property
    def _rounded(self) -> dict[int, tuple[float, float]]:
        """Return the weights of the blocks used so far, by a block's first member."""
        return {}

    def solve(self, targets: Mask) -> Array:
        """Return the closed form; constant predicates of a block need no inverse."""
        w = targets.astype(float)
        for block in self.blocks:
            inside = w[list(block.members)]
            varies = inside.min(axis=0) != inside.max(axis=0)
            if block.size > 1 and varies.any():
                kept, moved = self.kept_and_moved(block)
                part = inside[:, varies]
                inside_too = part.sum(axis=0)
                solved = np.where(part > 0, kept + moved * (inside_too - 1), moved * inside_too)
                w[np.ix_(np.array(block.members), np.flatnonzero(varies))] = solved
        return w

    def under(self, targets: Mask) -> Mask:
        """Return the targets, or their complement inside blocks whose keep probability lies below 1/d."""
        speaks = targets.copy()
        for block in self.blocks:
            if block.keep * block.size < 1:
                members = list(block.members)
                speaks[members] = ~targets[members] & targets[members].any(axis=0)
        return speaks

    def contract(self, x: Array, axis: int, targets: Mask | None, power: int) -> Array:
        """Apply the closed form along the axis without building a matrix."""
        if targets is not None:
            return super().contract(x, axis, targets, power)
        moved_axis = np.moveaxis(x, axis, 0)
        out = moved_axis.astype(float)
        for block in self.blocks:
            if block.size > 1:
                kept, moved = self.kept_and_moved(block)
                part = moved_axis[list(block.members)]
                out[list(block.members)] = (kept**power - moved**power) * part + moved**power * part.sum(axis=0)
        return np.moveaxis(out, 0, axis)

    def support(self, x: Array, axis: int, targets: Mask | None) -> Array:
        """Return the counts of each category itself if that is its support."""
        ordinary = all(block.keep * block.size >= 1 for block in self.blocks)
        return x if targets is None and ordinary else super().support(x, axis, targets)


@dataclass(frozen=True)
class MatrixWeights(AxisWeights):
    """Any explicit matrix, rectangular and coupled ones included.

    Attributes:
        rows: (U, V) exact, column-stochastic.
    """

    rows: tuple[tuple[Fraction, ...], ...]

    def solve(self, targets: Mask) -> Array:
        """Return the weights of least variance under a uniform original that are unbiased."""
        if max(len(self.rows), len(self.original)) <= EXACT_LIMIT:
            exact, solved = minimum_variance(self.rows, [[Fraction(int(v)) for v in row] for row in targets])
            w = np.array([[float(v) for v in row] for row in exact]).reshape(len(self.rows), targets.shape[1])
        else:
            w, flags = minimum_variance_float(self.rows, targets.astype(float))
            solved = list(flags)
        constant = np.asarray(targets.all(axis=0) | ~targets.any(axis=0))
        if not all(s or c for s, c in zip(solved, constant.tolist(), strict=True)):
            raise not_estimable_error(self.columns)
        w[:, constant] = targets[:1, constant]
        return w

    def under(self, targets: Mask) -> Mask:
        """Compare mean probabilities under the predicate and outside it."""
        P = np.array([[float(v) for v in row] for row in self.rows])
        inside = targets.sum(axis=0)
        outside = len(self.original) - inside
        mean_inside = P @ targets / np.maximum(inside, 1)
        mean_outside = P @ ~targets / np.maximum(outside, 1)
        return cast("Mask", ((mean_inside > mean_outside) | (outside == 0)) & (inside > 0))


COVARIANCE_GROUPS = 4_000
"""The most groups whose products are summed."""


def cross_products(
    sums: Array,
    axes: Sequence[AxisWeights],
    targets: Sequence[Mask | None],
    others: Sequence[Mask | None] | None = None,
) -> Array:
    """Return (groups, groups) sums over records of the products of their weights in two groups.

    `sums`: by released cell of the axes, sums of the factors of the products. `targets`: for each axis, the
    categories in its groups, (V, k); None for every category by itself. `others`: likewise for the second group of a
    product; None for the same.

    Raises:
        PolicyError: RR268 if there are more than 4,000 groups.
    """
    sides = [targets] if others is None else [targets, others]
    sizes = (len(a.original) if mask is None else mask.shape[1] for a, mask in zip(axes, targets, strict=True))
    groups = math.prod(sizes)
    if groups > COVARIANCE_GROUPS:
        message = f"a covariance of {groups:,} cells would have {groups**2:,} entries"
        hint = f"group by fewer columns: at most {COVARIANCE_GROUPS:,} cells"
        raise PolicyError(Problem("RR268", message, hint=hint))
    factors: list[Array] = [np.ones((1, 1)) for _ in sides]
    for place, axis in enumerate(axes):
        own = [axis.factors(side[place]) for side in sides]
        factors = [np.asarray(np.kron(f, o), dtype=np.float64) for f, o in zip(factors, own, strict=True)]
        sums = axis.lifted(sums, place)
    return np.asarray(factors[0].T @ (sums.reshape(-1)[:, None] * factors[-1]))


def not_estimable_error(columns: Sequence[str]) -> PolicyError:
    """Return the error for a count that the released values do not determine."""
    names = ", ".join(repr(c) for c in columns)
    message = f"this count cannot be estimated: the released values of {names} do not distinguish its categories"
    hint = f"request groups of categories of {names} that the transition matrix distinguishes, or leave it out"
    return PolicyError(Problem("RR267", message, hint=hint))
