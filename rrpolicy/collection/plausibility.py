"""Plausibility of a collected table as output of randomisers: impossible cells, and implausible shares.

For any original values, each record has a released value u with a probability from min_v P[u,v] to max_v P[u,v].
Records are randomised independently, so the number of those with u lies between two binomial variables: it is at least
c no more often than Binomial(N, max) is, and at most c no more often than Binomial(N, min) is (each record's Bernoulli
variable is coupled to one of the larger, or the smaller, probability).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from rrpolicy.channels.base import Transition
from rrpolicy.channels.product.draw import released_shape, unflatten

if TYPE_CHECKING:
    from rrpolicy.channels.product.channel import Product
    from rrpolicy.counts import Ints

FALSE_ALARM = 1e-9
"""Maximum false-alarm probability of all tests of a table together."""
WIDEST = 1 << 20
"""Maximum number of entries of a matrix that is listed; shares of a larger one are not tested."""


def implausibilities(product: Product, counts: Sequence[Ints], records: int) -> Iterator[str]:
    """Yield reasons why a table was not made by randomising records by a channel; no value is named.

    Args:
        product: the channel.
        counts: for each axis, (cells,) records of each combination of its released labels, in C order.
        records: N.
    """
    import numpy as np

    tested = sum(len(c.labels) for axis in product.axes for c in axis.columns())
    for axis, found in zip(product.axes, counts, strict=True):
        if not isinstance(axis, Transition) or axis.original_size * len(found) > WIDEST:
            continue
        matrix = [axis.column(code) for code in range(axis.original_size)]
        reached = {cell for column in matrix for cell, entry in column.items() if entry}
        strays = int(found.sum()) - int(sum(found[cell] for cell in reached))
        names = ", ".join(f"'{c.name}'" for c in axis.columns())
        if strays:
            yield f"in {names}, {_record_count_text(strays)} a value that no answer becomes"
            continue
        labels = unflatten(np.arange(len(found)), released_shape(axis))
        for column, label in zip(axis.columns(), labels, strict=True):
            ends = _probability_range(matrix, label, len(column.labels))
            observed = np.bincount(label, weights=found, minlength=len(column.labels)).astype(np.int64)
            if _is_out_of_range(observed, ends, records, FALSE_ALARM / (2 * tested)):
                yield f"in '{column.name}', a value is more common, or rarer, than whatever people answered makes it"


def _record_count_text(number: int) -> str:
    return "1 record has" if number == 1 else f"{number:,} records have"


def _probability_range(
    matrix: Sequence[Mapping[int, Fraction]], label: Ints, size: int
) -> Sequence[tuple[Fraction, Fraction]]:
    """Return the smallest and the largest probability of each label of a column, over the possible original values."""
    sums = []
    for column in matrix:
        shares = [Fraction(0)] * size
        for cell, entry in column.items():
            shares[label[cell]] += entry
        sums.append(shares)
    return [(min(each), max(each)) for each in zip(*sums, strict=True)]


def _is_out_of_range(observed: Ints, ends: Sequence[tuple[Fraction, Fraction]], records: int, alpha: float) -> bool:
    from scipy.stats import binom

    return any(
        binom.sf(n - 1, records, float(most)) < alpha or binom.cdf(n, records, float(least)) < alpha
        for n, (least, most) in zip(observed.tolist(), ends, strict=True)
    )
