"""The categories of an attribute, the column that releases them, and the base of axes of several attributes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Self

from msgspec import Struct

from rrpolicy.canonical_json import Value
from rrpolicy.channels.base import Axis
from rrpolicy.channels.decoders import Cell
from rrpolicy.channels.table import Column
from rrpolicy.frozen import replace

if TYPE_CHECKING:
    from rrpolicy.counts import Codes, Ints


def check_labels(what: str, labels: Sequence[Value]) -> None:
    """Refuse an empty domain and one that names a category twice.

    Raises ValueError, which names the attribute or column, never the category.
    """
    if not labels:
        raise ValueError(f"'{what}' has no category")
    if len({(type(label), label) for label in labels}) < len(labels):
        raise ValueError(f"'{what}' lists a category twice")


def category_column(
    attribute: str,
    labels: Sequence[Value],
    release_as: str | None = None,
    engine_type: str = "",
    assume_unlinkable: str | None = None,
) -> Column:
    """Return the released column of a categorical attribute.

    `engine_type` is DuckDB's name of the type, "" if still unknown; `assume_unlinkable` is the steward's reason for
    leaving an unchanged column out of record scope.
    """
    return Column(release_as or attribute, "category", tuple(labels), engine_type, attribute, assume_unlinkable)


class Domain(Struct, frozen=True):
    """An original attribute and its categories, in order."""

    attribute: str
    labels: tuple[Value, ...]

    def __post_init__(self) -> None:
        check_labels(self.attribute, self.labels)


def certainty_penalty(width: int, categories: int) -> float:
    """Return the loss of a cell released as a label for several categories: their share, 0 for one alone.

    References:
        Xu et al. 2006, "Utility-Based Anonymization Using Local Recoding", section 3 (normalised certainty penalty).
    """
    return width / categories if width > 1 else 0.0


def cells_of(domains: Iterable[Sequence[Value]]) -> tuple[Cell, ...]:
    """Return the cells of a product of domains in C order."""
    return tuple(product(*domains))


@dataclass(frozen=True, slots=True)
class Several(Axis):
    """An axis of an attribute, or of several that are coupled.

    Attributes:
        original: the attributes.
        released: the released columns, one for each.
    """

    renamed: ClassVar[Mapping[str, str]] = MappingProxyType({"released": "columns"})

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

    @property
    def released_size(self) -> int:
        """Return the number of combinations of released labels, whether they can occur or not."""
        return math.prod(len(column.labels) for column in self.released)

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
