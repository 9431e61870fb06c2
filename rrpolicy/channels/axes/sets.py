"""The axis of randomised addition: a record releases its own value hidden among others, as a set of distinct values.

Of S values a record with value v releases a set of l: v, and l-1 of the others drawn uniformly without replacement
(Sei, Ohsuga). There are C(S, l) sets, too many to list; the necessary functions of P have closed forms. Each other
value is in the set with probability P_E = (l-1)/(S-1).

Several attributes together are one with the product of their domains. The set then contains combinations, released as
one list column per attribute, in which the i-th entries of all lists belong to one combination.

A set is written in the order of the domain (of combinations: in C order of the domains), a function of the set alone.
The position of the record's own entry reveals nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from rrpolicy.canonical_json import Value, exact
from rrpolicy.channels.axes.categories import Domain, Several, cells_of
from rrpolicy.channels.decoders import AdditionDecoder
from rrpolicy.channels.table import Column
from rrpolicy.engine.arrays import as_numpy, number_array
from rrpolicy.frozen import replace
from rrpolicy.numbers import figure, percentage_points
from rrpolicy.report import Fact, Section

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channels.sampling.prng import Stream
    from rrpolicy.counts import Array, Codes, Ints


class MixedIn:
    """The posteriors of a set's values, by its size alone; see `rrpolicy.channels.axes.set_posterior` for the formulas.

    Attributes:
        set_size: l, the values in a set, the record's own among them.
    """

    __slots__ = ()

    set_size: int

    def expected_posterior(self, prior: Array) -> tuple[Array, Array]:
        """Bound E c_u/(sum of c over the set) for a record with value u."""
        from rrpolicy.channels.axes.set_posterior import expected_posterior

        return expected_posterior(prior, self.set_size)

    def worst_posterior(self, prior: Array | Ints) -> Array:
        """Return the largest c_u/(sum of c over the set)."""
        from rrpolicy.channels.axes.set_posterior import worst_posterior

        return worst_posterior(prior, self.set_size)

    def expected_ratio(self, weight: Array, prior: Array) -> tuple[Array, Array]:
        """Bound E (sum of w over the set)/(sum of c over the set) for a record with value u."""
        from rrpolicy.channels.axes.set_posterior import expected_ratio

        return expected_ratio(weight, prior, self.set_size)

    def exact_ratio(self, weight: Sequence[int], prior: Sequence[int], own: int, most: int) -> Fraction | None:
        """Return one such expectation exactly, from counts."""
        from rrpolicy.channels.axes.set_posterior import exact_ratio

        return exact_ratio(weight, prior, own, self.set_size, most)

    def best_guess(self, prior: Array) -> Array:
        """Return E max c_u/(sum of c over the set)."""
        from rrpolicy.channels.axes.set_posterior import best_guess_accuracy

        return best_guess_accuracy(prior, self.set_size)

    def exact_best_guess(self, counts: Sequence[int]) -> Fraction:
        """Return the same times the sum of the counts, exactly."""
        from rrpolicy.channels.axes.set_posterior import leading_value_probability

        pairs = zip(leading_value_probability(len(counts), self.set_size), sorted(counts, reverse=True), strict=True)
        return sum((chance * n for chance, n in pairs), Fraction(0))


_MASK = 1 << 24  # entries of the working mask of a draw
_LIST = "[]"


@dataclass(frozen=True, slots=True)
class Sets(MixedIn, Several):
    """An attribute, or several together, released as sets of l distinct values.

    Attributes:
        original: the attributes.
        released: the list columns, one for each attribute, with its categories as labels.
        set_size: l, from 2 to S: with l = 1 nothing would be hidden; with l = S all sets are the same, and carry no
            information.
    """

    kind: ClassVar[str] = "sets"
    version: ClassVar[int] = 1

    set_size: int

    def __post_init__(self) -> None:
        Several.__post_init__(self)
        for domain, column in zip(self.original, self.released, strict=True):
            if column.kind != "set" or column.labels != domain.labels:
                raise ValueError(f"'{column.name}' must contain sets of the categories of '{domain.attribute}'")
        if not 2 <= self.set_size <= self.original_size:  # noqa: PLR2004 - the smallest set that hides anything
            raise ValueError(
                f"sets of {', '.join(self.attributes)} must have from 2 to {self.original_size} of its "
                f"{self.original_size} values, not {self.set_size}"
            )

    @classmethod
    def of(cls, attribute: str, labels: Sequence[Value], set_size: int, release_as: str | None = None) -> Self:
        """Build the axis of one attribute with its column.

        Args:
            attribute: the original attribute.
            labels: its categories.
            set_size: l.
            release_as: the released name; the attribute's by default.
        """
        domain = Domain(attribute, tuple(labels))
        return cls((domain,), (Column(release_as or attribute, "set", domain.labels, "", attribute),), set_size)

    @property
    def silent(self) -> bool:
        """Return whether every set contains every value, so that sets have no information."""
        return self.set_size == self.original_size

    @property
    def other_included(self) -> Fraction:
        """Return P_E, the probability that a set contains a given value other than the record's own."""
        return Fraction(self.set_size - 1, self.original_size - 1)

    def with_columns(self, columns: Sequence[Column]) -> Self:
        """Return the axis with other descriptions of its columns; a type without brackets is that of the entries."""
        return replace(
            self, released=tuple(replace(c, type=c.type.removesuffix(_LIST) + _LIST if c.type else "") for c in columns)
        )

    def decoder(self) -> AdditionDecoder:
        """Return the addition form."""
        cells = cells_of([domain.labels for domain in self.original])
        return AdditionDecoder(self.attributes, tuple(c.name for c in self.released), cells, self.set_size)

    def split(self, codes: Ints, n: Ints, stream: Stream) -> tuple[Ints, Codes, Ints]:
        """Draw a set for every record, exactly uniform.

        The l-1 others are drawn by Floyd's algorithm (Bentley, Floyd 1987): for j from S-l to S-2 draw t uniformly from
        0 to j and take t, or j if t is taken. Chunk by chunk of records, one word a draw.

        Returns:
            cell: (records,) index into `codes`.
            released: (records, l) codes of the values in each set, ascending.
            count: (records,) ones.
        """
        import numpy as np

        cell = np.repeat(np.arange(len(n), dtype=np.int64), n)
        own = codes[cell]
        released = np.empty((len(cell), self.set_size), dtype=np.int32)
        step = max(1, _MASK // self.original_size)
        for low in range(0, len(cell), step):
            released[low : low + step] = self._sets(own[low : low + step], stream)
        return cell, released, np.ones(len(cell), dtype=np.int64)

    def _sets(self, own: Ints, stream: Stream) -> Codes:
        import numpy as np

        size, row = self.original_size, np.arange(len(own))
        held = np.zeros((len(own), size), dtype=bool)
        others = size - 1  # numbered without the record's own value, which is at the end while drawing
        for last in range(others - (self.set_size - 1), others):
            drawn = stream.below(np.full(len(own), last + 1, dtype=np.int64))
            held[row, np.where(held[row, drawn], last, drawn)] = True
        taken = np.nonzero(held)[1].reshape(len(own), self.set_size - 1)
        taken += taken >= own[:, None]
        return np.sort(np.column_stack((taken, own)), axis=1).astype(np.int32)

    def values(self, released: Codes) -> tuple[pa.Array, ...]:
        """Return (records, l) codes as one array of lists a column."""
        import numpy as np
        import pyarrow as pa

        from rrpolicy.channels.values import labels

        starts = number_array(np.arange(len(released) + 1, dtype=np.int32) * np.int32(self.set_size))
        shape = [len(domain.labels) for domain in self.original]
        parts = np.unravel_index(released.ravel(), shape)
        return tuple(
            pa.ListArray.from_arrays(starts, labels(list_entry_column(column)).take(number_array(part)))
            for column, part in zip(self.released, parts, strict=True)
        )

    def members(self, columns: Sequence[pa.Array]) -> Ints | None:
        """Return (records, l) the codes in released sets; None if no draw can release them.

        Args:
            columns: released lists, one array a column.
        """
        import numpy as np

        from rrpolicy.channels.values import read_codes

        flat: Ints | None = None
        for column, lists in zip(self.released, columns, strict=True):
            lengths = as_numpy(lists.value_lengths(), absent=-1)
            if (lengths != self.set_size).any():
                return None
            codes = read_codes(list_entry_column(column), lists.flatten())
            if (codes < 0).any():
                return None
            flat = codes if flat is None else flat * len(column.labels) + codes
        assert flat is not None
        found = flat.reshape(-1, self.set_size)
        return found if bool((np.diff(found, axis=1) > 0).all()) else None

    def max_ratio(self) -> Fraction | None:
        """Return None, for infinity: a set excludes the values outside it. 1 if all sets contain all values."""
        return Fraction(1) if self.silent else None

    def min_cross_ratio(self) -> Fraction:
        """Return 0: a set excludes values. 1 if every set contains them all."""
        return Fraction(int(self.silent))

    def discloses(self) -> tuple[str, ...]:
        """Return nothing: only the domain and l are described."""
        return ()

    def mean_norm(self, attributes: Iterable[str]) -> float:
        """Return the expected sum of squared weights of one record over the cells of a marginal.

        The weight of a cell that covers t values, of which the set contains m, is w = (m - t P_E)/(1 - P_E). A record
        with a value of the cell has m - 1 hypergeometric of t-1 among S-1 in l-1 draws, any other m of t among S-1.

        Args:
            attributes: attributes of the marginal; at least one belongs to this axis.
        """
        wanted = set(attributes)
        cells = math.prod(len(d.labels) for d in self.original if d.attribute in wanted)
        gathered = self.original_size // cells
        spread = self._spread(gathered - 1) + (cells - 1) * self._spread(gathered)
        return float(1 + spread / (1 - self.other_included) ** 2)

    def _spread(self, marked: int) -> Fraction:
        others = self.original_size - 1  # 2 or more, as not every set contains all values
        share = Fraction(marked, others)
        return (self.set_size - 1) * share * (1 - share) * Fraction(others - self.set_size + 1, others - 1)

    def sections(self, records: int) -> tuple[Section, ...]:
        """Return the way in which sets hide values, in plain words, and the loss of accuracy."""
        return (sets_section(self, records),)


def list_entry_column(column: Column) -> Column:
    """Return the column of a list column's entries."""
    return replace(column, kind="category", type=column.type.removesuffix(_LIST))


def addition_mean_squared_error(
    values: int, set_size: int, records: int, target: Literal["table", "population"]
) -> Fraction | float:
    """Return the mean over the values of the expected squared error of an estimated share (Sei, Ohsuga, eq. 19).

    Infinite if every set contains every value.

    Args:
        values: S.
        set_size: l.
        records: n.
        target: this table, or a uniform population.
    """
    if set_size == values:
        return math.inf
    if target == "table":
        return Fraction((values - 1) * (set_size - 1), records * values * (values - set_size))
    return Fraction(set_size * (values - 1) ** 2, records * (values - set_size) * values**2)


def sets_section(axis: Sets, records: int) -> Section:
    """Return the section of one axis."""
    size, l = axis.original_size, axis.set_size
    shown = " with ".join(axis.attributes)
    what = "values" if len(axis.attributes) == 1 else "combinations"
    if axis.silent:
        said = (
            f"Every record releases all {size} {what} of {shown}: the set reveals nothing about the record, and "
            f"no count of "
            f"{shown} can be estimated. An attacker who knows how common the {what} are guesses as well without "
            f"the release."
        )
        return Section(f"Sets of {shown}", (said,), (Fact(f"Different {what}", figure(size)),))
    how = (
        f"Every record releases {l} different {what} of {shown}: its own, and {l - 1} drawn at random from the"
        f" {size - 1} others, each as likely as any: P_E = (l-1)/(|S|-1) is the chance of each. They are listed "
        f"in a fixed order, so their positions reveal nothing."
    )
    warning = (
        f"A set excludes with certainty the {size - l} {what} that it does not contain. An attacker who knows which"
        f" {what} occur with a person's other columns can exclude more; the findings quantify this."
    )
    errors = (
        "The mean squared error is the expected square of how far an estimated share lies off, on average over the"
        f" {what}; of the population it also counts the chance by which the table was sampled. Of a part of the records"
        " it is larger, as many times as the part is smaller than the whole."
    )
    table = addition_mean_squared_error(size, l, records, "table")
    population = addition_mean_squared_error(size, l, records, "population")
    facts = (
        Fact(f"Different {what}", figure(size)),
        Fact(f"{what.capitalize()} in each set", figure(l)),
        Fact("Probability that a set contains a given other value", exact(axis.other_included)),
        Fact("Mean squared error of a share of this table", _error_text(table)),
        Fact("Mean squared error of a share of a uniform population", _error_text(population)),
    )
    return Section(f"Sets of {shown}", (how, warning, errors), facts)


def _error_text(squared: Fraction | float) -> str:
    root = percentage_points(math.sqrt(squared), "percentage points")
    return f"{figure(float(squared), 4)}; its root is {root}"
