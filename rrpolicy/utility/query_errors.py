"""Relative errors of counts by group and by query, and the random queries themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, count
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from rrpolicy.channels.sampling.prng import Stream
    from rrpolicy.counts import Array, Ints
    from rrpolicy.estimate.weights.base import Mask
    from rrpolicy.utility.query_metrics import QueryOptions

    Asked: TypeAlias = tuple[tuple[int, ...], list[Mask]]
    """The dimensions of some queries, and for each dimension the categories that they select, (queries, categories)."""


def relative_error(true: Array, estimated: Array) -> float:
    """Return the mean of |true - estimated|/true over true > 0; 0 if there is none."""
    held = true > 0
    return float((np.abs(true[held] - estimated[held]) / true[held]).mean()) if held.any() else 0.0


def cube_sums(x: Array) -> Array:
    """Return a table with the sums over each subset of its dimensions: every dimension has one more place, its sum."""
    for axis in range(x.ndim):
        x = np.concatenate((x, x.sum(axis=axis, keepdims=True)), axis=axis)
    return x


def values_per_dimension(size: int, attributes: int, selectivity: Fraction) -> int:
    """Return b, the smallest integer with b^n >= |A|^n s.

    Args:
        size: |A|.
        attributes: n, of a query.
        selectivity: s.
    """
    return next(b for b in count(1) if b**attributes >= size**attributes * selectivity)


def random_queries(
    options: QueryOptions, sensitive: Sequence[int], shape: Sequence[int], stream: Stream
) -> Iterator[Asked]:
    """Yield random queries, those of the same dimensions together.

    Args:
        options: the number and kind of queries.
        sensitive: the dimensions of which each query has one.
        shape: the number of categories of each dimension.
        stream: of bits.
    """
    others = [*combinations([i for i in range(len(shape)) if i not in sensitive], options.dimensions)]
    parts = [(*chosen, own) for chosen in others for own in sensitive]
    which = stream.below(np.full(options.queries, len(parts), dtype=np.int64))
    for number in np.unique(which).tolist():
        many = int((which == number).sum())
        masks = []
        for place in parts[number]:
            asked = values_per_dimension(shape[place], options.dimensions + 1, options.selectivity)
            order: Ints = np.argsort(stream.words(many * shape[place]).reshape(many, -1), axis=1)
            masks.append(order < asked)  # the places of a uniformly random order: which values come first
        yield tuple(parts[number]), masks


def query_shares(asked: Sequence[Asked], x: Array) -> Array:
    """Return the share of each query, all together."""
    found = []
    for places, masks in asked:
        part = np.transpose(x.sum(axis=tuple(set(range(x.ndim)) - set(places))), np.argsort(np.argsort(places)))
        first, *rest = masks
        sums = np.tensordot(first.astype(float), part, axes=1)
        for mask in rest:
            sums = np.einsum("kv,kv...->k...", mask.astype(float), sums)
        found.append(sums)
    return np.concatenate(found)
