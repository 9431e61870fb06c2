"""Caps on epsilon as an optimiser sees them: smooth functions of the keep probabilities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rrpolicy.channels.axes.identity import Identity
from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.base import Axis
from rrpolicy.channels.product.channel import Product
from rrpolicy.privacy.model import Smooth

if TYPE_CHECKING:
    from collections.abc import Callable

    from rrpolicy.counts import Array

UNREACHABLE = 1e6
"""Stands for infinity in constraint values: an optimiser must not meet infinities."""

_EDGE = 1e-15


def epsilon_cap(
    channel: Product, fixed: Callable[[Axis], float | None], cap: float, name: str, *, record: bool
) -> Smooth:
    """Return sum_a epsilon_a(p_a) - cap as a constraint <= 0.

    Retention: epsilon_a = |log(p/q)|, q = (1-p)/(d-1), with derivative 1/(p (1-p)) for p > q. The functions take one
    keep probability for each Retention axis of the channel, in its order; the others contribute what they have.

    Args:
        channel: with axes of the kinds that have exact ratios.
        fixed: exponential of what an axis that is not retention contributes; None stands for infinity.
        cap: on the sum.
        name: for messages.
        record: whether unchanged attributes count (record scope).
    """
    import numpy as np

    sought = [axis for axis in channel.axes if isinstance(axis, Retention)]
    size = np.array([axis.original_size for axis in sought], dtype=np.float64)
    alone = size == 1
    constant = sum((UNREACHABLE for axis in sought if len(axis.blocks) > 1), -cap)
    for axis in channel.axes:
        if isinstance(axis, Retention) or (isinstance(axis, Identity) and _is_out_of_scope(axis, record=record)):
            continue
        ratio = fixed(axis)
        constant += UNREACHABLE if ratio is None else math.log(ratio)
    if record and any(column.assume_unlinkable is None for column in channel.carried):
        constant += UNREACHABLE

    def value(keep: Array) -> Array:
        return np.array([constant + float(np.abs(_log_odds(keep)).sum())])

    def jacobian(keep: Array) -> Array:
        p = np.clip(keep, _EDGE, 1 - _EDGE)
        return np.where(alone, 0.0, np.where(_log_odds(keep) < 0, -1.0, 1.0) / (p * (1 - p)))[None, :]

    def _log_odds(keep: Array) -> Array:
        p = np.clip(keep, _EDGE, 1 - _EDGE)
        odds: Array = np.where(alone, 0.0, np.log(p) - np.log1p(-p) + np.log(np.maximum(size - 1, 1)))
        return odds

    return Smooth(value, jacobian, name)


def _is_out_of_scope(axis: Identity, *, record: bool) -> bool:
    return not record or axis.released.assume_unlinkable is not None
