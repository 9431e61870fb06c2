"""Record weights of generalised values: a record counts in equal shares for every category that its group stands for.

    w(released group g, predicate c) = |g ∩ c| / |g|

Nothing was drawn, so nothing is random: the estimate is biased by whatever is not uniform inside the groups, and has no
standard error. What is known for certain are bounds: the records whose group lies inside the predicate, and those whose
group meets it. Where these agree the count is exact.

References:
    Xiao, Tao 2006, "Anatomy", section 4, for uniform spread inside generalised groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.weights import AxisWeights, Mask, cells_of

if TYPE_CHECKING:
    from typing import Any

    from rrpolicy.channel.table import Decoder
    from rrpolicy.source.counts import Array


@dataclass(frozen=True)
class SpreadWeights(AxisWeights):
    """One generalised column.

    Attributes:
        groups: for each released label the positions of the categories that it stands for.
    """

    groups: tuple[tuple[int, ...], ...]

    @property
    def randomised(self) -> bool:
        """Whether a label stands for anything but itself."""
        return self.released != self.original or any(g != (u,) for u, g in enumerate(self.groups))

    @property
    def unbiased(self) -> bool:
        """Whether every label stands for one category alone."""
        return not self.randomised

    def solve(self, targets: Mask) -> Array:
        """Return the share of each group that lies in each predicate, exactly 1 where all of it does."""
        inside = np.array([targets[list(group)].sum(axis=0) for group in self.groups], dtype=np.float64)
        shares: Array = inside / np.array([[len(group)] for group in self.groups], dtype=np.float64)
        return shares

    def under(self, targets: Mask) -> Mask:
        """Return which groups meet each predicate."""
        return np.array([targets[list(group)].any(axis=0) for group in self.groups], dtype=bool)

    def certainly(self, targets: Mask) -> Mask:
        """Return which groups lie inside each predicate."""
        return np.array([targets[list(group)].all(axis=0) for group in self.groups], dtype=bool)

    def within(self, x: Array, axis: int, targets: Mask | None) -> Array:
        """Sum the released counts that are certain to satisfy each predicate; arguments as for `contract`."""
        w = self.certainly(np.eye(len(self.original), dtype=bool) if targets is None else targets)
        return np.moveaxis(np.tensordot(x, w.astype(float), axes=(axis, 0)), -1, axis)


def spread_weights(decoder: Decoder) -> tuple[SpreadWeights, ...]:
    """Return the weights of a spread decoder, one a column: the weight of a record is their product."""
    p: Any = decoder.parameters
    parts = zip(p["columns"], p["released"], p["original"], p["groups"], strict=True)
    return tuple(
        SpreadWeights((name,), cells_of(released), cells_of(original), tuple(tuple(group) for group in groups))
        for name, released, original, groups in parts
    )


def refuse_biased(axes: Sequence[AxisWeights], what: str) -> None:
    """Refuse what rests on unbiased counts with a covariance.

    Args:
        axes: that it would be computed from.
        what: for the message.

    Raises:
        PolicyError: RR288.
    """
    if not all(axis.unbiased for axis in axes):
        raise biased(axes, what)


def biased(axes: Sequence[AxisWeights], what: str) -> PolicyError:
    """Return the error (RR288) for what rests on unbiased counts; arguments as for `refuse_biased`."""
    columns = [repr(c) for axis in axes if not axis.unbiased for c in axis.columns]
    return PolicyError(
        Problem(
            "RR288",
            f"{what} cannot be estimated from {', '.join(columns) or 'this table'}: counts spread inside groups are "
            "biased and have no covariance",
            hint="ask for a crosstab, which says what is certain; or study the groups as they were released",
        )
    )
