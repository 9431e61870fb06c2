"""What axes of one attribute whose released categories are its own have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from typing import Self

from rrpolicy.canonical_json import Value
from rrpolicy.channels.axes.categories import check_labels
from rrpolicy.channels.base import Axis
from rrpolicy.channels.table import Column
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.serialization.fields import document_key


@frozen
class Single(Axis):
    """An axis of one attribute; the released categories are the original ones.

    Attributes:
        attribute: the original attribute.
        released: the released column, with its categories in domain order.
    """

    attribute: str
    released: Column = field(metadata=document_key("column"))

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
        """Return the axis with its column described otherwise, such as by an engine type."""
        (released,) = columns
        return replace(self, released=released)

    def discloses(self) -> tuple[str, ...]:
        """Return nothing: domain and probabilities are described, no count."""
        return ()
