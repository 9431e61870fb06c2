"""The variance of each estimated share over the draws of a product channel, in closed form.

A share is the mean of record weights w, independent given the table, with E w = 1 for the records of its cell and 0 for
the others. For this table its variance is therefore (E mean w^2 - p)/N, with E mean w^2 = sum_u lambda[u] W[u]^2 and
lambda = P p (Chaudhuri, Mukerjee 1988, chapter 3), applied axis by axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.channels.base import Channel, Transition
from rrpolicy.channels.product.channel import Product
from rrpolicy.estimate.weights.decoder_weights import axis_weights
from rrpolicy.utility.metric import MOST_CELLS
from rrpolicy.utility.simulation import original_shares

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.source.protocol import Original


def share_variances(channel: Channel, original: Original, attributes: Sequence[str]) -> Array | None:
    """Return the variance of each cell's estimated share of this table, one dimension an attribute.

    Args:
        channel: as planned.
        original: the table.
        attributes: released with categories, each once.

    Returns:
        None if it has no closed form here: counts that are spread inside groups, sets, axes that list no values,
        and coupled attributes.

    Raises:
        PolicyError: RR267 if the released values do not determine a cell.
    """
    wanted = set(attributes)
    if not isinstance(channel, Product):
        return None
    axes = [axis for axis in channel.axes if wanted & set(axis.attributes)]
    if not all(isinstance(axis, Transition) and len(axis.attributes) == 1 for axis in axes):
        return None
    decoders = [axis.decoder() for axis in axes]
    if not all(decoder.unbiased and decoder.independent for decoder in decoders):
        return None
    shares = original_shares(original, attributes)
    if shares.size > MOST_CELLS:
        return None
    order = [name for axis in axes for name in axis.attributes]
    p = np.transpose(shares, [list(attributes).index(name) for name in order])
    squared = p
    for place, (axis, decoder) in enumerate(zip(axes, decoders, strict=True)):
        assert isinstance(axis, Transition)
        (weights,) = axis_weights(decoder)
        squared = weights.contract(axis.forward(squared, place), place, None, 2)
    found = np.maximum(squared - p, 0.0) / original.records
    return np.transpose(found, [order.index(name) for name in attributes])
