"""The axis of an attribute that is released unchanged: P = I."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from rrpolicy.canonical_json import Value
from rrpolicy.channels.axes.categories import category_column, check_labels
from rrpolicy.channels.base import Axis
from rrpolicy.channels.decoders import IdentityDecoder
from rrpolicy.channels.table import Column
from rrpolicy.frozen import replace

if TYPE_CHECKING:
    from rrpolicy.channels.sampling.prng import Stream
    from rrpolicy.counts import Array, Codes, Ints


@dataclass(frozen=True, slots=True)
class Single(Axis):
    """An axis of one attribute; the released categories are the original ones.

    Attributes:
        attribute: the original attribute.
        released: the released column, with its categories in domain order.
    """

    renamed: ClassVar[Mapping[str, str]] = MappingProxyType({"released": "column"})

    attribute: str
    released: Column

    def __post_init__(self) -> None:
        check_labels(self.attribute, self.labels)

    @property
    def labels(self) -> tuple[Value, ...]:
        """Return the categories."""
        return self.released.labels

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the attribute."""
        return (self.attribute,)

    @property
    def original_size(self) -> int:
        """Return the number of categories."""
        return len(self.labels)

    @property
    def released_size(self) -> int:
        """Return the number of categories."""
        return len(self.labels)

    def columns(self) -> tuple[Column, ...]:
        """Return the released column."""
        return (self.released,)

    def with_columns(self, columns: Sequence[Column]) -> Self:
        """Return the axis with another description of its column, such as by an engine type."""
        (released,) = columns
        return replace(self, released=released)

    def discloses(self) -> tuple[str, ...]:
        """Return nothing: domain and probabilities are described, no count."""
        return ()


@dataclass(frozen=True, slots=True)
class Identity(Single):
    """An unmodified attribute; evidence like any other released column."""

    kind: ClassVar[str] = "identity"
    version: ClassVar[int] = 1
    one_number: ClassVar[bool] = True

    @classmethod
    def of(
        cls,
        attribute: str,
        labels: Sequence[Value],
        release_as: str | None = None,
        assume_unlinkable: str | None = None,
    ) -> Self:
        """Build the axis with its column.

        Args:
            attribute: the original attribute.
            labels: its categories.
            release_as: the released name; the attribute's by default.
            assume_unlinkable: the steward's reason for leaving the column out of record scope.
        """
        column = category_column(attribute, labels, release_as, assume_unlinkable=assume_unlinkable)
        return cls(attribute, column)

    def decoder(self) -> IdentityDecoder:
        """Return the identity form."""
        return IdentityDecoder(self.attributes, self.released.name, self.labels)

    def split(self, codes: Ints, n: Ints, stream: Stream) -> tuple[Ints, Codes, Ints]:
        """Return the occupied cells unmodified; no bit is drawn."""
        import numpy as np

        del stream
        cell = np.flatnonzero(n)
        return cell, codes[cell, None].astype(np.int32), n[cell]

    def max_ratio(self) -> Fraction | None:
        """Return e^epsilon exactly; None, for infinity, as soon as there are two categories."""
        return Fraction(1) if self.original_size == 1 else None

    def min_cross_ratio(self) -> Fraction:
        """Return 1 for a single category, else 0."""
        return Fraction(int(self.original_size == 1))

    def column(self, code: int) -> Mapping[int, Fraction]:
        """Return the exact non-zero entries of one column of P."""
        return {code: Fraction(1)}

    def forward(self, x: Array, axis: int, power: Literal[1, 2] = 1) -> Array:
        """Return x."""
        del axis, power
        return x

    def back(self, x: Array, axis: int, power: Literal[1, 2] = 1) -> Array:
        """Return x."""
        del axis, power
        return x
