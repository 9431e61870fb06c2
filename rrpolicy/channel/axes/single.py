"""What axes of one attribute whose released categories are its own have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from rrpolicy.canonical import Json, Value
from rrpolicy.channel.axes.categories import check_labels
from rrpolicy.channel.base import Axis
from rrpolicy.channel.table import Column


@dataclass(frozen=True, slots=True)
class Single(Axis):
    """An axis of one attribute; the released categories are the original ones.

    Attributes:
        attribute: the original attribute.
        labels: its categories, in domain order.
        released: the released column.
    """

    attribute: str
    labels: tuple[Value, ...]
    released: Column

    def __post_init__(self) -> None:
        check_labels(self.attribute, self.labels)
        if self.released.labels != self.labels:
            raise ValueError(f"the released categories of '{self.attribute}' are not its own")

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

    def to_json(self) -> Json:
        """Return `{kind, version, attribute, column}`; the categories stand in the column."""
        return self.described()

    def to_public_json(self) -> Json:
        """Return the same as `to_json`: nothing in it comes from the table."""
        return self.to_json()

    def described(self) -> dict[str, Json]:
        """Return what all axes of one attribute say of themselves."""
        return {
            "kind": self.kind,
            "version": self.version,
            "attribute": self.attribute,
            "column": self.released.to_json(),
        }
