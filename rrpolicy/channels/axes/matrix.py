"""The axis of any transition matrix, written down entry by entry: explicit, invariant, rectangular, coupled.

Invariant post-randomisation: a transition matrix that keeps a given marginal, exactly.

References:
    Gouweleeuw, Kooiman, Willenborg, de Wolf 1998, section 4 (two-stage invariant PRAM).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import mul
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal, Self, TypeAlias

from rrpolicy.canonical_json import Json, Value
from rrpolicy.channels.axes.categories import Domain, Several, category_column, cells_of, check_labels
from rrpolicy.channels.decoders import MatrixDecoder
from rrpolicy.channels.probability import largest_ratio, smallest_cross_ratio
from rrpolicy.frozen import replace
from rrpolicy.serialization import record

if TYPE_CHECKING:
    from rrpolicy.channels.sampling.prng import Stream
    from rrpolicy.counts import Array, Codes, Ints


_PRIMES = (2**61 - 1, 2**89 - 1, 2**107 - 1)


def full_column_rank(rows: Sequence[Sequence[Fraction]]) -> bool:
    """Return whether the columns of a matrix are linearly independent.

    The rank modulo a prime never exceeds the rational one, so full rank modulo any prime is proof. It is lower only if
    the prime divides every maximal minor: lower ranks for three primes of 61 bits and more count as a deficiency.
    """
    width = len(rows[0])
    return len(rows) >= width and any(_rank(rows, prime) == width for prime in _PRIMES)


def _rank(rows: Sequence[Sequence[Fraction]], prime: int) -> int:
    if any(entry.denominator % prime == 0 for row in rows for entry in row):
        return 0
    work = [[entry.numerator * pow(entry.denominator, -1, prime) % prime for entry in row] for row in rows]
    rank = 0
    for column in range(len(work[0])):
        found = next((i for i in range(rank, len(work)) if work[i][column]), None)
        if found is None:
            return rank  # the caller needs full column rank only
        work[rank], work[found] = work[found], work[rank]
        pivot = work[rank]
        inverse = pow(pivot[column], -1, prime)
        for row in work[rank + 1 :]:
            if row[column]:
                factor = row[column] * inverse % prime
                row[column:] = [(a - factor * b) % prime for a, b in zip(row[column:], pivot[column:], strict=True)]
        rank += 1
    return rank


def invariant_matrix(
    marginal: Sequence[Fraction], start: Sequence[Sequence[Fraction]], digits: int | None = None
) -> tuple[tuple[Fraction, ...], ...]:
    """Return R = Q P with R pi = pi, Q the Bayes inversion of P: Q[v,u] = P[u,v] pi[v] / (P pi)[u].

    The flows R[v,w] pi[w] are symmetric, so they can be rounded in pairs without losing the marginal: with `digits`,
    off-diagonal flows become multiples of 10^-digits / (the common denominator of pi), at least one where they are not
    0, and the diagonal takes the rest. Unrounded entries have denominators of hundreds of digits.

    An empty category (share 0) is never released: its row is 0. Its own column stays stochastic.

    `marginal` is pi, exact; `start` is P, square and column-stochastic, in rows of exact entries. Raises ValueError if
    `digits` leave no room on the diagonal.
    """
    size = len(marginal)
    if sum(marginal) != 1 or min(marginal) < 0:
        raise ValueError("a marginal must have one proportion per category, none negative, with sum 1")
    if (
        len(start) != size
        or any(len(row) != size for row in start)
        or any(sum(c) != 1 for c in zip(*start, strict=True))
    ):
        raise ValueError("the start must be a square column-stochastic matrix over the categories of the marginal")
    back = _bayes_inversion(marginal, start)
    entries = [
        [sum((b * row[w] for b, row in zip(back[v], start, strict=True) if b), Fraction(0)) for w in range(size)]
        for v in range(size)
    ]
    return tuple(tuple(row) for row in (entries if digits is None else _round_columns(entries, marginal, digits)))


def _bayes_inversion(marginal: Sequence[Fraction], start: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    """Return Q; the column of a category that no record has under P and pi is not changed."""
    size = len(marginal)
    inversion = [[Fraction(0)] * size for _ in range(size)]
    for u, row in enumerate(start):
        total = sum((p * share for p, share in zip(row, marginal, strict=True)), Fraction(0))
        for v in range(size):
            inversion[v][u] = row[v] * marginal[v] / total if total else Fraction(int(u == v))
    return inversion


def _round_columns(entries: list[list[Fraction]], marginal: Sequence[Fraction], digits: int) -> list[list[Fraction]]:
    size, scale = len(marginal), 10**digits
    whole = math.lcm(*(share.denominator for share in marginal))
    mass = [int(share * whole) * scale for share in marginal]
    flows = [[0] * size for _ in range(size)]
    for v in range(size):
        for w in range(v):
            flow = entries[v][w] * mass[w]
            flows[v][w] = flows[w][v] = max(math.floor(flow), 1 if flow else 0)
    rounded = [[Fraction(0)] * size for _ in range(size)]
    for w in range(size):
        if not mass[w]:
            column = _round_empty_column([entries[v][w] for v in range(size)], scale)
        else:
            flows[w][w] = mass[w] - sum(flows[v][w] for v in range(size))
            if flows[w][w] < 0 or (flows[w][w] == 0 and entries[w][w]):
                raise ValueError(f"{digits} digits are too few for this marginal")
            column = [Fraction(flows[v][w], mass[w]) for v in range(size)]
        for v in range(size):
            rounded[v][w] = column[v]
    return rounded


def _round_empty_column(column: Sequence[Fraction], scale: int) -> list[Fraction]:
    """Round the column of an empty category, which no marginal constrains: the largest entry takes the rest."""
    rounded = [Fraction(max(math.floor(p * scale), 1 if p else 0), scale) for p in column]
    largest = max(range(len(column)), key=column.__getitem__)
    rounded[largest] += 1 - sum(rounded)
    return rounded


Invariance: TypeAlias = Literal["observed", "declared"]


class ColumnSumError(ValueError):
    """A column of a transition matrix does not sum to 1.

    Attributes:
        index: the column's position.
        label: its original category; a tuple if attributes are coupled.
        total: its sum.
    """

    def __init__(self, index: int, label: object, total: Fraction) -> None:
        super().__init__(f"the column of {label!r} sums to {total}, not to 1")
        self.index, self.label, self.total = index, label, total


@dataclass(frozen=True, slots=True)
class Matrix(Several):
    """A column-stochastic matrix over one attribute, or over several that are randomised together.

    Of several attributes, originals and released values are numbered in the C-order product of their categories.

    Attributes:
        original: the attributes.
        released: the released columns, one for each attribute; their categories may differ from the original ones.
        entries: (released, original) exact; each column sums to 1.
        invariant: whether P pi = pi for a marginal pi that was observed in the table, or declared; None if neither.
        marginal: the marginal pi of `invariant`; None if it is not described (a public description of an observed
            one).
    """

    kind: ClassVar[str] = "matrix"
    version: ClassVar[int] = 1
    one_number: ClassVar[bool] = True

    renamed: ClassVar[Mapping[str, str]] = MappingProxyType({"entries": "rows"})

    entries: tuple[tuple[Fraction, ...], ...]
    invariant: Invariance | None = None
    marginal: tuple[Fraction, ...] | None = None

    def __post_init__(self) -> None:
        Several.__post_init__(self)
        for column in self.released:
            check_labels(column.name, column.labels)
        if len(self.entries) != self.released_size or any(len(row) != self.original_size for row in self.entries):
            raise ValueError(
                f"the matrix of {', '.join(self.attributes)} must have {self.released_size} rows (released) of "
                f"{self.original_size} entries (original)"
            )
        if any(not 0 <= entry <= 1 for row in self.entries for entry in row):
            raise ValueError(f"the matrix of {', '.join(self.attributes)} has an entry outside [0, 1]")
        for index, column_entries in enumerate(zip(*self.entries, strict=True)):
            if sum(column_entries) != 1:
                raise ColumnSumError(index, self.original_label(index), sum(column_entries, Fraction(0)))
        self._check_invariance()

    def _check_invariance(self) -> None:
        pi = self.marginal
        if (pi is not None and self.invariant is None) or (pi is None and self.invariant == "declared"):
            raise ValueError("an invariant matrix states its marginal, and whether it was observed or declared")
        if self.invariant and tuple(c.labels for c in self.released) != tuple(d.labels for d in self.original):
            raise ValueError("an invariant matrix releases the original categories")
        if pi is not None and (len(pi) != self.original_size or sum(pi) != 1 or min(pi) < 0):
            raise ValueError("a marginal must have one proportion per category, none negative, with sum 1")
        if pi is not None and any(sum(map(mul, row, pi)) != pi[u] for u, row in enumerate(self.entries)):
            raise ValueError("the matrix does not keep its marginal")

    @classmethod
    def explicit(
        cls,
        attribute: str,
        original: Sequence[Value],
        released: Sequence[Value],
        rows: Sequence[Sequence[Fraction]],
        release_as: str | None = None,
    ) -> Self:
        """Build the axis of one attribute from the rows of its matrix.

        Args:
            attribute: the original attribute.
            original: its categories, the columns.
            released: the released categories, the rows.
            rows: `P[released][original]`.
            release_as: the released name; the attribute's by default.

        Raises:
            ColumnSumError: naming the offending column.
            ValueError: if the shape or an entry is wrong.
        """
        column = category_column(attribute, released, release_as)
        return cls((Domain(attribute, tuple(original)),), (column,), tuple(tuple(map(Fraction, row)) for row in rows))

    @classmethod
    def preserving(
        cls,
        attribute: str,
        labels: Sequence[Value],
        marginal: Sequence[Fraction],
        keep: Fraction,
        *,
        of: Invariance,
        release_as: str | None = None,
        digits: int | None = 9,
    ) -> Self:
        """Build an invariant matrix, P pi = pi exactly; see `invariant_matrix`.

        Args:
            attribute: the original attribute.
            labels: its categories.
            marginal: pi, exact; sums to 1.
            keep: keep probability of the retention matrix that it starts from.
            of: whether pi was observed in the table or declared by the policy.
            release_as: the released name; the attribute's by default.
            digits: decimals of the flows; None for unrounded entries.
        """
        size, move = len(labels), (1 - keep) / max(len(labels) - 1, 1)
        start = [[keep if u == v else move for v in range(size)] for u in range(size)]
        entries = invariant_matrix(marginal, start if size > 1 else [[Fraction(1)]], digits)
        column = category_column(attribute, labels, release_as)
        return cls((Domain(attribute, tuple(labels)),), (column,), entries, of, tuple(marginal))

    def original_label(self, code: int) -> Value | tuple[Value, ...]:
        """Return the category of a column of P; a tuple if attributes are coupled."""
        cell = cells_of([domain.labels for domain in self.original])[code]
        return cell[0] if len(cell) == 1 else cell

    def decoder(self) -> MatrixDecoder:
        """Return the matrix form.

        A category that is empty by an invariant matrix is neither released nor estimated: it is left out, or the matrix
        could not be inverted.
        """
        rows, columns = self.support()
        released = cells_of([column.labels for column in self.released])
        original = cells_of([domain.labels for domain in self.original])
        kept = tuple(tuple(self.entries[u][v] for v in columns) for u in rows)
        return MatrixDecoder(
            self.attributes,
            tuple(column.name for column in self.released),
            tuple(released[u] for u in rows),
            tuple(original[v] for v in columns),
            kept,
            unbiased=full_column_rank(kept),
        )

    def support(self) -> tuple[list[int], list[int]]:
        """Return the rows and columns in use: all, except for categories that are empty by an invariant matrix."""
        if self.invariant is None:
            return list(range(self.released_size)), list(range(self.original_size))
        here = [u for u, row in enumerate(self.entries) if any(row)]
        return here, here

    def split(self, codes: Ints, n: Ints, stream: Stream) -> tuple[Ints, Codes, Ints]:
        """Randomise counts exactly; see `Axis.split`."""
        from rrpolicy.channels.sampling.variates import split_by_columns

        cell, flat, count = split_by_columns(codes, n, self.column, stream)
        return cell, self.unravelled(flat), count

    def max_ratio(self) -> Fraction | None:
        """Return e^epsilon exactly; None for infinity."""
        return largest_ratio(self.entries)

    def min_cross_ratio(self) -> Fraction:
        """Return the smallest cross ratio exactly; all-zero rows are dropped."""
        return smallest_cross_ratio(self.entries)

    def discloses(self) -> tuple[str, ...]:
        """Return `marginal:<attribute>` for a matrix that keeps an observed marginal, its eigenvector."""
        return tuple(f"marginal:{a}" for a in self.attributes) if self.invariant == "observed" else ()

    def column(self, code: int) -> Mapping[int, Fraction]:
        """Return the exact non-zero entries of one column of P."""
        return {u: row[code] for u, row in enumerate(self.entries) if row[code]}

    def forward(self, x: Array, axis: int, power: Literal[1, 2] = 1) -> Array:
        """Return P (or its elementwise square) applied to x along an axis."""
        return _apply_matrix(self._dense() ** power, x, axis)

    def back(self, x: Array, axis: int, power: Literal[1, 2] = 1) -> Array:
        """Return P^T (or its elementwise square) applied to x along an axis."""
        return _apply_matrix(self._dense().T ** power, x, axis)

    def to_public_json(self) -> Json:
        """Return the matrix, its marginal only if the policy declared it."""
        return record(self if self.invariant == "declared" else replace(self, marginal=None))

    def _dense(self) -> Array:
        import numpy as np

        return np.array(self.entries, dtype=np.float64)


def _apply_matrix(matrix: Array, x: Array, axis: int) -> Array:
    import numpy as np

    return np.moveaxis(np.tensordot(matrix, x, axes=(1, axis)), 0, axis)
