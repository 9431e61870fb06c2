"""What axes that may take several attributes together have in common."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from rrpolicy.canonical import Json
from rrpolicy.channel.axes.categories import Domain
from rrpolicy.channel.base import Axis
from rrpolicy.channel.document import read_column, read_labels, read_list, read_object, read_text
from rrpolicy.channel.table import Column


@dataclass(frozen=True, slots=True)
class Several(Axis):
    """An axis of an attribute, or of several that are coupled.

    Attributes:
        original: the attributes.
        released: the released columns, one for each.
    """

    original: tuple[Domain, ...]
    released: tuple[Column, ...]

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

    def with_columns(self, columns: Sequence[Column]) -> Self:
        """Return the axis with its columns described otherwise, such as by engine types."""
        return replace(self, released=tuple(columns))

    def described(self) -> dict[str, Json]:
        """Return what all such axes say of themselves: kind, version, the attributes and the columns."""
        return {
            "kind": self.kind,
            "version": self.version,
            "original": [{"attribute": d.attribute, "labels": list(d.labels)} for d in self.original],
            "columns": [column.to_json() for column in self.released],
        }


def read_domains(document: Mapping[str, Json]) -> tuple[Domain, ...]:
    """Return the attributes that `described` wrote.

    Raises:
        ValueError: if they are not there.
    """
    domains = (read_object(d, "an attribute") for d in read_list(document, "original"))
    return tuple(Domain(read_text(d, "attribute"), read_labels(d, "labels")) for d in domains)


def read_columns(document: Mapping[str, Json]) -> tuple[Column, ...]:
    """Return the released columns that `described` wrote.

    Raises:
        ValueError: if they are not there.
    """
    return tuple(read_column(c) for c in read_list(document, "columns"))
