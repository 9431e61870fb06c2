"""The categories of an attribute and the column that releases them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from rrpolicy.canonical_json import Value
from rrpolicy.channels.decoders import Cell
from rrpolicy.channels.table import Column
from rrpolicy.frozen_dataclass import frozen


def check_labels(what: str, labels: Sequence[Value]) -> None:
    """Refuse an empty domain and one that names a category twice.

    Raises ValueError, which names the attribute or column, never the category.
    """
    if not labels:
        raise ValueError(f"'{what}' has no category")
    if len({(type(label), label) for label in labels}) < len(labels):
        raise ValueError(f"'{what}' names a category twice")


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


@frozen
class Domain:
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
