"""The common base of axes that may take several attributes together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Self

from rrpolicy.channels.axes.categories import Domain
from rrpolicy.channels.base import Axis
from rrpolicy.channels.table import Column
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.serialization.fields import document_key

if TYPE_CHECKING:
    from rrpolicy.counts import Codes, Ints


@frozen
class Several(Axis):
    """An axis of an attribute, or of several that are coupled.

    Attributes:
        original: the attributes.
        released: the released columns, one for each.
    """

    original: tuple[Domain, ...]
    released: tuple[Column, ...] = field(metadata=document_key("columns"))

    def __post_init__(self) -> None:
        if not self.original or len(self.released) != len(self.original):
            raise ValueError("an axis needs an attribute, and one released column for each")

    @property
    def attributes(self) -> tuple[str, ...]:
        """Return the attributes."""
        return tuple(domain.attribute for domain in self.original)

    @property
    def original_size(self) -> int:
        """Return the number of original categories, or of combinations of them."""
        return math.prod(len(domain.labels) for domain in self.original)

    def columns(self) -> tuple[Column, ...]:
        """Return the released columns."""
        return self.released

    def unravelled(self, flat: Ints | Codes) -> Codes:
        """Return (k, columns) the code of each column, of codes in the C-order product of the columns' labels."""
        import numpy as np

        if len(self.released) == 1:
            return flat.astype(np.int32, copy=False).reshape(-1, 1)
        shape = tuple(len(column.labels) for column in self.released)
        return np.stack(np.unravel_index(flat, shape), axis=1).astype(np.int32)

    def with_columns(self, columns: Sequence[Column]) -> Self:
        """Return the axis with other descriptions of its columns, such as by engine types."""
        return replace(self, released=tuple(columns))
