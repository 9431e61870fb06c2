"""The probability that a randomised value leads back: R of Guo, Ying and Wu 2011 (eq. 6-9), for every group at once.

    R_QI(alpha) = pi[alpha] sum_beta P[beta, alpha]^2 / lambda[beta],    lambda = P pi

Two applications of a Kronecker product, O(m D). The full domain never exists at once: unchanged attributes part the
groups into contexts that do not mix, and of a wide domain one slab at a time, to which the occupied cells are scattered
with the probabilities of the axes that are not in the slab. Memory is a few arrays of one slab.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np

from rrpolicy.channel.base import Axis, Transition

if TYPE_CHECKING:
    from rrpolicy.privacy.evidence import Evidence
    from rrpolicy.source.counts import Array, Ints

SLAB = 2**23
"""Cells of the largest array that is held; 64 MiB of doubles."""


@dataclass(frozen=True)
class Slab:
    """A part of the released domain, with the groups that can reach it.

    Attributes:
        groups: slice of the groups.
        position: (groups,) C-order index of each in an array of `shape`, original side.
        shape: contexts, then the original sizes of `inside`.
        inside: axes that the array spans.
        reach: (groups,) product of Pr(this slab | group) over the axes outside.
    """

    groups: slice
    position: Ints
    shape: tuple[int, ...]
    inside: tuple[Transition, ...]
    reach: Array

    def scatter(self, weights: Array) -> Array:
        """Return (contexts, …) the sum of weights at each cell; weights of more columns add a last axis."""
        cells = math.prod(self.shape)
        if weights.ndim == 1:
            return np.bincount(self.position, weights=weights, minlength=cells).astype(np.float64).reshape(self.shape)
        width = weights.shape[1]
        index = (self.position[:, None] * width + np.arange(width)).ravel()
        summed: Array = np.bincount(index, weights=weights.ravel(), minlength=cells * width).astype(np.float64)
        return summed.reshape(*self.shape, width)

    def forward(self, x: Array) -> Array:
        """Return x carried to the released side, axis by axis."""
        for number, axis in enumerate(self.inside):
            x = axis.forward(x, number + 1)
        return x

    def back(self, x: Array, power: int = 1) -> Array:
        """Return x carried back to the original side."""
        for number, axis in enumerate(self.inside):
            x = axis.back(x, number + 1, 2 if power == 2 else 1)  # noqa: PLR2004
        return x

    def at_groups(self, x: Array) -> Array:
        """Return (groups,) or (groups, width) the entries of an original-side array at the groups."""
        cells = math.prod(self.shape)
        return x.reshape(cells)[self.position] if x.size == cells else x.reshape(cells, -1)[self.position]


def matrix(axis: Axis) -> Array:
    """Return the dense matrix of one axis, (released, original); only of single axes, never of a product."""
    transition = cast("Transition", axis)
    dense = np.zeros((transition.released_size, axis.original_size))
    for code in range(axis.original_size):
        for released, probability in transition.column(code).items():
            dense[released, code] = float(probability)
    return dense


def slabs(evidence: Evidence, width: int = 1, most: int = SLAB) -> Iterator[Slab]:
    """Yield slabs that together make up the released domain of every context.

    Args:
        evidence: the groups.
        width: columns of what will be scattered (sensitive categories).
        most: cells of the largest array.
    """
    inside, outside = _choose(evidence.axes, max(1, most // width))
    dims = tuple(axis.original_size for axis in (evidence.axes[i] for i in inside))
    cells = math.prod(
        max(a.original_size, cast("Transition", a).released_size) for a in (evidence.axes[i] for i in inside)
    )
    flat = np.zeros(len(evidence.n), dtype=np.int64)
    for i, size in zip(inside, dims, strict=True):
        flat = flat * size + evidence.codes[:, i]
    matrices = [matrix(evidence.axes[i]) for i in outside]
    spanned = tuple(cast("Transition", evidence.axes[i]) for i in inside)
    for first, last, contexts in _batches(evidence.context, max(1, most // width // cells)):
        here = slice(first, last)
        local = evidence.context[here] - evidence.context[first]
        position = local * math.prod(dims) + flat[here]
        codes = evidence.codes[here]
        for released in itertools.product(*(range(len(m)) for m in matrices)):
            reach = np.ones(last - first)
            for number, (i, code) in enumerate(zip(outside, released, strict=True)):
                reach = reach * matrices[number][code, codes[:, i]]
            yield Slab(here, position, (contexts, *dims), spanned, reach)


def reconstruction(evidence: Evidence, most: int = SLAB) -> Array:
    """Return R_QI of every group, (groups,): 1 where nothing is randomised.

    Args:
        evidence: the groups.
        most: cells of the largest array.
    """
    pi = evidence.n / evidence.records
    total = np.zeros(len(pi))
    for slab in slabs(evidence, most=most):
        released = slab.forward(slab.scatter(pi[slab.groups] * slab.reach))
        np.divide(1.0, released, out=released, where=released > 0)
        total[slab.groups] += slab.reach**2 * slab.at_groups(slab.back(released, 2))
    return pi * total


def sensitive_reconstruction(histograms: Array, axis: Axis) -> Array:
    """Return R_S(u | alpha), (groups, categories): 1 where the sensitive value is not randomised, 0 where it is absent.

    Args:
        histograms: (groups, categories) shares c of the sensitive values, rows sum to 1.
        axis: of the sensitive attribute.
    """
    transition = cast("Transition", axis)
    released = transition.forward(histograms, 1)
    inverse = np.divide(1.0, released, out=np.zeros_like(released), where=released > 0)
    return histograms * transition.back(inverse, 1, 2)


def _choose(axes: Sequence[Axis], most: int) -> tuple[list[int], list[int]]:
    """Part the axes: inside the slab as many as fit, the longest outside."""
    inside = list(range(len(axes)))
    outside: list[int] = []

    def size(i: int) -> int:
        return max(axes[i].original_size, cast("Transition", axes[i]).released_size)

    while inside and math.prod(size(i) for i in inside) > most:
        longest = max(inside, key=size)
        inside.remove(longest)
        outside.append(longest)
    return inside, outside


def _batches(context: Ints, most: int) -> Iterator[tuple[int, int, int]]:
    """Yield (first group, last group, contexts) of runs of at most `most` contexts."""
    contexts = int(context[-1]) + 1 if len(context) else 0
    for start in range(0, contexts, most):
        end = min(contexts, start + most)
        first, last = np.searchsorted(context, [start, end])
        yield int(first), int(last), end - start
