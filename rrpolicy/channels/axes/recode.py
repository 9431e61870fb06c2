"""The axis of generalisation: every original value is released as its group, with certainty.

P is a 0/1 matrix, written down sparsely: the categories of each released label, attribute by attribute, and a rule that
maps combinations to labels. Attributes that are recoded together are on one axis: if classes are suppressed, and in
Mondrian's boxes, the label of one attribute depends on the others.

Nothing is drawn, so values are hidden only by the groups themselves: the guarantees are those of the classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from rrpolicy.canonical_json import Value
from rrpolicy.channels.axes.categories import Domain, Several, check_labels
from rrpolicy.channels.axes.partition import Boxes, Levels, Rule
from rrpolicy.channels.decoders import RecodeDecoder
from rrpolicy.channels.table import Column
from rrpolicy.frozen import replace

if TYPE_CHECKING:
    from rrpolicy.channels.sampling.prng import Stream
    from rrpolicy.counts import Array, Codes, Ints

ANYTHING = "*"
"""The label of a suppressed value."""
_WIDEST = 1 << 62


@dataclass(frozen=True, slots=True)
class Recode(Several):
    """One attribute generalised by itself, or several together.

    Attributes:
        original: the attributes.
        released: the released columns, one for each attribute; their labels name groups.
        groups: for each attribute, the categories of each label, followed by those of cut boxes, which have no label.
        rule: maps combinations to labels: `Levels` (attribute by attribute, classes may be suppressed) or `Boxes`.
    """

    kind: ClassVar[str] = "recode"
    version: ClassVar[int] = 1
    one_number: ClassVar[bool] = True

    groups: tuple[tuple[tuple[int, ...], ...], ...]
    rule: Rule

    def __post_init__(self) -> None:
        Several.__post_init__(self)
        if len(self.groups) != len(self.original):
            raise ValueError("a recoding needs groups for each attribute")
        for domain, column, groups in zip(self.original, self.released, self.groups, strict=True):
            check_labels(column.name, column.labels)
            codes = range(len(domain.labels))
            if len(groups) < len(column.labels) or not all(g and set(g) <= set(codes) for g in groups):
                raise ValueError(f"every label of '{column.name}' must represent categories of '{domain.attribute}'")
        if max(self.original_size, self.released_size) >= _WIDEST:
            raise ValueError("too many attributes are recoded together: their combinations cannot be numbered")
        self.rule.check([len(d.labels) for d in self.original], self.groups, [len(c.labels) for c in self.released])

    @property
    def of_labels(self) -> tuple[tuple[tuple[int, ...], ...], ...]:
        """Return, for each attribute, the categories of each label."""
        return tuple(groups[: len(c.labels)] for c, groups in zip(self.released, self.groups, strict=True))

    @classmethod
    def by_levels(
        cls,
        original: Sequence[Domain],
        levels: Sequence[Sequence[Value]],
        columns: Sequence[Column] | None = None,
        suppressed: Sequence[Sequence[int]] | None = None,
    ) -> Self:
        """Build full-domain generalisation.

        Args:
            original: the attributes.
            levels: for each attribute, the label of each of its categories: level j of its hierarchy.
            columns: the released columns, whose labels are filled in here; by default named after the attributes.
            suppressed: classes (one position of a group an attribute, in the order in which groups first occur) that
                are released as `*` in all columns; None without suppression.
        """
        labels, groups = [], []
        for domain, level in zip(original, levels, strict=True):
            members: dict[Value, list[int]] = {}
            for code, label in enumerate(level):
                members.setdefault(label, []).append(code)
            if suppressed is not None and len(members) > 1:
                if ANYTHING in members:
                    raise ValueError(f"'{ANYTHING}' is a group of '{domain.attribute}': it cannot mean suppressed")
                members[ANYTHING] = list(range(len(level)))
            labels.append(tuple(members))
            groups.append(tuple(tuple(codes) for codes in members.values()))
        described = columns or [Column(d.attribute, "category", (), "", d.attribute) for d in original]
        released = tuple(replace(c, labels=names) for c, names in zip(described, labels, strict=True))
        classes = None if suppressed is None else tuple(sorted(tuple(map(int, c)) for c in suppressed))
        return cls(tuple(original), released, tuple(groups), Levels(suppressed is not None, classes))

    @property
    def suppressed_row(self) -> tuple[Value, ...] | None:
        """Return the labels of a suppressed record; None without suppression.

        Such records differ from others by having `*` in all columns.
        """
        if not (isinstance(self.rule, Levels) and self.rule.suppressing):
            return None
        return tuple(column.labels[-1] for column in self.released)

    def decoder(self) -> RecodeDecoder:
        """Return the recode form: a record counts in equal shares for every category of its label."""
        return RecodeDecoder(
            self.attributes,
            tuple(column.name for column in self.released),
            tuple(column.labels for column in self.released),
            tuple(domain.labels for domain in self.original),
            self.of_labels,
            unbiased=False,
        )

    def recode(self, codes: Ints | Codes) -> Codes:
        """Return the labels of combinations.

        Args:
            codes: (k, attributes) original codes.

        Returns:
            (k, attributes) positions among the labels of each column.

        Raises:
            ValueError: if the description lacks them (a public one with suppressed classes).
        """
        return self.rule.recode(codes, self.groups, [len(d.labels) for d in self.original])

    def split(self, codes: Ints, n: Ints, stream: Stream) -> tuple[Ints, Codes, Ints]:
        """Return the occupied cells, recoded; no bit is drawn."""
        import numpy as np

        del stream
        cell = np.flatnonzero(n)
        shape = [len(domain.labels) for domain in self.original]
        return cell, self.recode(np.stack(np.unravel_index(codes[cell], shape), axis=1)), n[cell]

    def max_ratio(self) -> Fraction | None:
        """Return 1 if all values are released as one; else None, for infinity: a group excludes other values."""
        return Fraction(1) if self._constant else None

    def min_cross_ratio(self) -> Fraction:
        """Return 1 if all values become the same, else 0."""
        return Fraction(int(self._constant))

    @property
    def _constant(self) -> bool:
        return self.released_size == 1

    def discloses(self) -> tuple[str, ...]:
        """Return nothing: choices from the data are listed with their origin, and name no record."""
        return ()

    def column(self, code: int) -> Mapping[int, Fraction]:
        """Return the one entry of a column of P."""
        import numpy as np

        shape = [len(domain.labels) for domain in self.original]
        (labels,) = self.recode(np.array([np.unravel_index(code, shape)]))
        return {int(np.ravel_multi_index(tuple(labels), self._released_shape)): Fraction(1)}

    def forward(self, x: Array, axis: int, power: Literal[1, 2] = 1) -> Array:
        """Return P applied to x along an axis; P is its own elementwise square."""
        import numpy as np

        del power
        moved = np.moveaxis(x, axis, 0)
        out = np.zeros((self.released_size, *moved.shape[1:]))
        np.add.at(out, self._image(), moved)
        return np.moveaxis(out, 0, axis)

    def back(self, x: Array, axis: int, power: Literal[1, 2] = 1) -> Array:
        """Return P^T applied to x along an axis."""
        import numpy as np

        del power
        return np.take(x, self._image(), axis=axis)

    @property
    def _released_shape(self) -> tuple[int, ...]:
        return tuple(len(column.labels) for column in self.released)

    def _image(self) -> Ints:
        """Return (original_size,) the C-order index of each combination's label."""
        import numpy as np

        shape = [len(domain.labels) for domain in self.original]
        codes = np.stack(np.unravel_index(np.arange(self.original_size), shape), axis=1)
        image: Ints = np.ravel_multi_index(tuple(self.recode(codes).T), self._released_shape).astype(np.int64)
        return image


__all__ = ["ANYTHING", "Boxes", "Levels", "Recode"]
