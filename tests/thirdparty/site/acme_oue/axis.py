"""Unary encoding: a category becomes a bit string with one 1, whose bits are flipped independently.

Wang, Blocki, Li, Jha 2017, "Locally differentially private protocols for frequency estimation", section 4.3: the 1 is
kept with probability 1/2, a 0 becomes 1 with probability q.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar, Literal

from rrpolicy.plugin import Axis, Column, MatrixDecoder, Value, split_by_columns

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Unary(Axis):
    """The axis of one attribute; the released categories are all bit strings.

    Attributes:
        attribute: the original attribute.
        labels: its categories.
        flip: q, the probability that a 0 becomes 1; in (0, 1/2).
        name: of the released column.
    """

    kind: ClassVar[str] = "acme.unary"
    version: ClassVar[int] = 1

    attribute: str
    labels: tuple[Value, ...]
    flip: Fraction
    name: str

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the attribute."""
        return (self.attribute,)

    @property
    def original_size(self) -> int:
        """Return d."""
        return len(self.labels)

    @property
    def released_size(self) -> int:
        """Return 2^d."""
        return 2**self.original_size

    @property
    def strings(self) -> tuple[str, ...]:
        """Return all bit strings in order."""
        return tuple("".join(bits) for bits in product("01", repeat=self.original_size))

    @property
    def amplification(self) -> Fraction:
        """Return the largest ratio of two entries of a row: (1 - q)/q."""
        return (1 - self.flip) / self.flip if self.original_size > 1 else Fraction(1)

    def columns(self) -> tuple[Column, ...]:
        """Return the column of bit strings."""
        return (Column(self.name, "category", self.strings, "VARCHAR", self.attribute),)

    def column(self, code: int) -> Mapping[int, Fraction]:
        """Return one column of the matrix."""
        return {
            index: math.prod(
                (HALF if place == code else self.flip if bit == "1" else 1 - self.flip)
                for place, bit in enumerate(string)
            )
            for index, string in enumerate(self.strings)
        }

    def decoder(self) -> MatrixDecoder:
        """Return the matrix form."""
        columns = [self.column(code) for code in range(self.original_size)]
        return MatrixDecoder(
            self.attributes,
            (self.name,),
            tuple((string,) for string in self.strings),
            tuple((label,) for label in self.labels),
            tuple(tuple(column[u] for column in columns) for u in range(self.released_size)),
        )

    def split(self, codes: Any, n: Any, stream: Any) -> tuple[Any, Any, Any]:
        """Randomise counts exactly."""
        import numpy as np

        cell, released, count = split_by_columns(codes, n, self.column, stream)
        return cell, released[:, None].astype(np.int32), count

    def max_ratio(self) -> Fraction | None:
        """Return e^epsilon: two originals differ in two bits, one of each kind."""
        return self.amplification

    def min_cross_ratio(self) -> Fraction:
        """Return the smallest cross ratio, from the two bits in which two originals differ."""
        return 1 / self.amplification**2

    def discloses(self) -> tuple[str, ...]:
        """Return nothing."""
        return ()

    def forward(self, x: Any, axis: int, power: Literal[1, 2] = 1) -> Any:
        """Return P x along an axis."""
        import numpy as np

        return np.moveaxis(np.tensordot(self._dense() ** power, x, axes=(1, axis)), 0, axis)

    def back(self, x: Any, axis: int, power: Literal[1, 2] = 1) -> Any:
        """Return P^T x along an axis."""
        import numpy as np

        return np.moveaxis(np.tensordot(self._dense().T ** power, x, axes=(1, axis)), 0, axis)

    def _dense(self) -> Any:
        import numpy as np

        columns = [self.column(code) for code in range(self.original_size)]
        return np.array([[float(column[u]) for column in columns] for u in range(self.released_size)])
