"""What is known of an axis that releases a value among others drawn uniformly, though its sets cannot be listed."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rrpolicy.source.counts import Array, Ints


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
