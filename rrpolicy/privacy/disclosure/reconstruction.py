"""The probability that a randomised value leads back: R of Guo, Ying and Wu 2011 (eq. 6-9), for every group at once.

    R_QI(alpha) = pi[alpha] sum_beta P[beta, alpha]^2 / lambda[beta],    lambda = P pi

Two applications of a Kronecker product, O(m D). The full domain exists at once only where the table fills it. Unchanged
attributes part the groups into contexts that do not mix, and of a wide domain one slab at a time, to which the occupied
cells are scattered with the probabilities of the axes that are not in the slab.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

import numpy as np
from msgspec import Struct

from rrpolicy.channels.base import Axis, Transition

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints
    from rrpolicy.privacy.evidence import Evidence

SLAB = 2**23
"""Cells of the largest array in memory, 64 MiB of doubles; more only in proportion to the occupied cells."""
PER_GROUP = 16
BLOCK = 2**16
"""Cells that are carried through all axes at a time: half a MiB, which fits in a cache."""
MOST_AXES = 12
"""Axes beyond which the choice of those outside a slab is not searched exhaustively."""


ArrayOperation: TypeAlias = "Callable[[Transition, Array, int], Array]"


class ReleasedSlab(Struct, frozen=True):
    """A part of the released domain, with the groups that can reach it.

    Attributes:
        groups: slice of the groups.
        position: (groups,) C-order index of each in an array of `shape`, original side.
        shape: contexts, then the original sizes of `inside`.
        inside: axes that the array spans.
        reach: (groups,) product of Pr(this slab | group) over the axes outside; None if no axis is outside.
    """

    groups: slice
    position: Ints
    shape: tuple[int, ...]
    inside: tuple[Transition, ...]
    reach: Array | None

    def scatter(self, weights: Array) -> Array:
        """Return (contexts, …) each group's weight, times its chance of this slab, summed at its cell.

        Weights are (all groups,), or (all groups, width), which adds a last axis.
        """
        cells, own = math.prod(self.shape), weights[self.groups]
        if own.ndim == 1:
            own = own if self.reach is None else own * self.reach
            return _sum_by_cell(self.position, own, cells).reshape(self.shape)
        own = own if self.reach is None else own * self.reach[:, None]
        width = own.shape[1]
        index = (self.position[:, None] * width + np.arange(width)).ravel()
        return _sum_by_cell(index, own.ravel(), cells * width).reshape(*self.shape, width)

    def forward(self, x: Array) -> Array:
        """Return x carried to the released side, axis by axis; x may be overwritten."""
        return self._carried(x, lambda axis, part, along: axis.forward(part, along))

    def back(self, x: Array, power: Literal[1, 2] = 1) -> Array:
        """Return x carried back to the original side; x may be overwritten."""
        return self._carried(x, lambda axis, part, along: axis.back(part, along, power))

    def _carried(self, x: Array, step: ArrayOperation) -> Array:
        """Apply all axes: one part of the array after the other, so that the cached part is used m times."""
        if x.size <= BLOCK or not self.inside:
            for number, axis in enumerate(self.inside):
                x = step(axis, x, number + 1)
            return x
        contexts, first = x.shape[:2]

        def others(part: Array) -> Array:
            for number, axis in enumerate(self.inside[1:]):
                part = step(axis, part, number + 1)
            return part

        rows = _apply_in_chunks(x.reshape(contexts * first, *x.shape[2:]), others)
        return step(self.inside[0], rows.reshape(contexts, first, *rows.shape[1:]), 1)

    def at_groups(self, x: Array, power: int = 1) -> Array:
        """Return (groups,) or (groups, width) entries of an original-side array, times each group's chance^power."""
        cells = math.prod(self.shape)
        if x.ndim == len(self.shape):
            found = x.reshape(cells).take(self.position)
            return found if self.reach is None else found * self.reach**power
        found = x.reshape(cells, -1)[self.position]
        return found if self.reach is None else found * (self.reach**power)[:, None]


def _apply_in_chunks(x: Array, carry: Callable[[Array], Array]) -> Array:
    """Return an array carried over some rows at a time, written over it if they keep their shape."""
    size = max(1, BLOCK * len(x) // x.size)
    done = x
    for start in range(0, len(x), size):
        part = x[start : start + size]
        carried = carry(part)
        if start == 0 and carried.shape != part.shape:
            done = np.empty((len(x), *carried.shape[1:]))
        done[start : start + size] = carried
    return done


def positive_inverse(released: Array) -> Array:
    """Return 1/lambda where it is positive, else 0, written over it."""
    if released.size and released.min() > 0:
        return np.reciprocal(released, out=released)
    return np.divide(1.0, released, out=released, where=released > 0)


def _sum_by_cell(position: Ints, weights: Array, cells: int) -> Array:
    return np.asarray(np.bincount(position, weights=weights, minlength=cells), dtype=np.float64)


def dense_matrix(axis: Axis) -> Array:
    """Return the dense matrix of one axis, (released, original); only of single axes, never of a product."""
    transition = cast("Transition", axis)
    dense = np.zeros((transition.released_size, axis.original_size))
    for code in range(axis.original_size):
        for released, probability in transition.column(code).items():
            dense[released, code] = float(probability)
    return dense


def axis_width(axis: Axis) -> int:
    """Return how many cells an axis may take on either side of its matrix."""
    return max(axis.original_size, cast("Transition", axis).released_size)


def released_slabs(evidence: Evidence, width: int = 1, most: int | None = None) -> Iterator[ReleasedSlab]:
    """Yield slabs that together make up the released domain of every context of several groups.

    `width`: columns of the scattered array (sensitive categories). `most`: cells of the largest array; by default
    `SLAB`, or a few for each occupied cell.
    """
    if not evidence.mixed:
        return
    room = max(1, (most or max(SLAB, PER_GROUP * evidence.mixed * width)) // width)
    outside = _sliced_axes([axis_width(axis) for axis in evidence.axes], room)
    inside = [i for i in range(len(evidence.axes)) if i not in outside]
    dims = tuple(evidence.axes[i].original_size for i in inside)
    cells = math.prod(axis_width(evidence.axes[i]) for i in inside)
    flat = np.zeros(evidence.mixed, dtype=np.int64)
    for i, size in zip(inside, dims, strict=True):
        flat *= size
        flat += evidence.codes[: evidence.mixed, i]
    matrices = [dense_matrix(evidence.axes[i]) for i in outside]
    spanned = tuple(cast("Transition", evidence.axes[i]) for i in inside)
    for first, last, contexts in _context_batches(evidence, max(1, room // cells)):
        here = slice(first, last)
        position = flat[here]
        if contexts > 1:
            position = position + (evidence.context[here] - evidence.context[first]) * math.prod(dims)
        codes = [evidence.codes[here, i] for i in outside]
        for released in itertools.product(*(range(len(m)) for m in matrices)):
            reach = [m[to][own] for m, to, own in zip(matrices, released, codes, strict=True)]
            chance = functools.reduce(np.multiply, reach) if reach else None
            yield ReleasedSlab(here, position, (contexts, *dims), spanned, chance)


def quasi_identifier_reconstruction(evidence: Evidence, most: int | None = None) -> Array:
    """Return R_QI of every group, (groups,): 1 where nothing is randomised. `most`: cells of the largest array."""
    pi = evidence.n / evidence.records
    total = np.zeros(len(pi))
    total[evidence.mixed :] = 1 / pi[evidence.mixed :]
    for slab in released_slabs(evidence, most=most):
        inverse = positive_inverse(slab.forward(slab.scatter(pi)))
        total[slab.groups] += slab.at_groups(slab.back(inverse, 2), 2)
    return pi * total


def sensitive_reconstruction(shares: Array, axis: Axis, part: Ints | None = None) -> Array:
    """Return R_S(u | alpha), (groups, values): 1 where the sensitive value is not randomised, 0 where it is absent.

    Of an attribute that is released together with others, whose combinations w have the shares c,

        c_u R_S(u | alpha) = sum_v (sum_{w with u} P[v, w] c_w)^2 / (P c)_v,

    which is eq. 8 where every combination is a value by itself. Rows of the (groups, categories) shares sum to 1;
    `part` is the attribute's value in each category, None if the axis is only of the attribute.
    """
    transition = cast("Transition", axis)
    released = transition.forward(shares, 1)
    inverse = np.divide(1.0, released, out=np.zeros_like(released), where=released > 0)
    if part is None:
        return shares * transition.back(inverse, 1, 2)
    own = np.zeros((len(shares), int(part.max()) + 1))
    for value in range(own.shape[1]):
        mine = np.where(part == value, shares, 0.0)
        share = mine.sum(axis=1)
        read = (transition.forward(mine, 1) ** 2 * inverse).sum(axis=1)
        np.divide(read, share, out=own[:, value], where=share > 0)
    return own


def _sliced_axes(sizes: Sequence[int], room: int) -> tuple[int, ...]:
    """Return the axes that a slab does not span: the fewest slabs such that the others fit."""
    whole = math.prod(sizes)
    if whole <= room:
        return ()
    if len(sizes) > MOST_AXES:
        longest = sorted(range(len(sizes)), key=lambda i: -sizes[i])
        products = itertools.accumulate((sizes[i] for i in longest), lambda a, b: a * b)
        left = next(number for number, product in enumerate(products, 1) if whole <= product * room)
        return tuple(sorted(longest[:left]))
    choices = itertools.chain.from_iterable(
        itertools.combinations(range(len(sizes)), k) for k in range(1, len(sizes) + 1)
    )
    fitting = ((math.prod(sizes[i] for i in c), c) for c in choices)
    return min((slabs, c) for slabs, c in fitting if whole <= slabs * room)[1]


def _context_batches(evidence: Evidence, most: int) -> Iterator[tuple[int, int, int]]:
    """Yield (first group, last group, contexts) of runs of at most `most` contexts of several groups."""
    for start in range(0, evidence.contexts, most):
        end = min(evidence.contexts, start + most)
        first, last = np.searchsorted(evidence.context, [start, end])
        yield int(first), int(last), end - start
