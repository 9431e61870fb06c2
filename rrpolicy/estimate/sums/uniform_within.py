"""Shares and means of generalised records: spread evenly inside their labels, with bounds that are certain.

A record whose label covers several categories may be any of them, independently of the others: the tables that a
release leaves open are all such choices. Of a part inside a whole, each record is in the part, in the rest of the
whole, or outside of it. With X records in the part and Z in the rest, each record chosen by itself,

    low = least X / (least X + most Z)        high = most X / (most X + least Z)

are attained: for the lower end every record that can be in the rest is in it. For a mean, the records that are
certain to be counted have the least (most) number that their label allows, and others are added from the end, as long
as they lower (raise) the mean. Where the whole may be empty, the bounds are those of the tables in which it is not
empty.

For dealt groups the counts of X and of the whole are bounded group by group (`rrpolicy.estimate.anatomy`). Bounds of
Z that follow from these are always valid, and are the tightest where the whole is known exactly.

References:
    Xiao, Tao 2006, "Anatomy", section 4, for the even spread.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from msgspec import Struct

from rrpolicy.counts import Array, Ints
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.results.estimates import Inference
from rrpolicy.estimate.weights.base import AxisWeights, Mask
from rrpolicy.estimate.weights.recode import RecodeWeights
from rrpolicy.frozen import field_names

_BLOCK = 4_000_000
"""Records times groups that are looked at together."""


class OptionalCells(Struct, frozen=True):
    """The possible membership of a released cell of an axis in the part and in the whole: (U, groups) each.

    Attributes:
        part: whether it can be in the part.
        whole: whether it can be in the whole.
        surely_part: whether it is.
        surely_whole: whether it is.
        rest: whether it can be in the whole without being in the part.
        part_share: share of it that lies in the part.
        whole_share: share of it that lies in the whole.
    """

    part: Mask
    whole: Mask
    surely_part: Mask
    surely_whole: Mask
    rest: Mask
    part_share: Array
    whole_share: Array

    @classmethod
    def of(cls, axis: AxisWeights, part: Mask, whole: Mask) -> OptionalCells:
        """Return the choices of an axis.

        `part`: (V, groups) which categories are in the part; all of them are in the whole. `whole`: (V, groups)
        likewise.

        Raises:
            PolicyError: RR288 if its values were exchanged as well: then nothing is certain.
        """
        held = np.eye(len(axis.original), dtype=bool)
        if isinstance(axis, RecodeWeights):
            held = np.zeros((len(axis.released), len(axis.original)), dtype=bool)
            for u, group in enumerate(axis.groups):
                held[u, list(group)] = True
        elif axis.randomised:
            raise exchanged_values_error(axis)
        n = held.astype(float)
        size = n.sum(axis=1, keepdims=True)
        p, w, r = n @ part, n @ whole, n @ (whole & ~part)
        return cls(p > 0, w > 0, p == size, w == size, r > 0, p / size, w / size)

    def at(self, code: Ints) -> OptionalCells:
        """Return the choices of groups of records, by their released cells."""
        return OptionalCells(*(getattr(self, name)[code] for name in field_names(type(self))))

    def beside(self, other: OptionalCells) -> OptionalCells:
        """Return the choices of records by two axes, for every combination of their groups."""

        def every(a: Array | Mask, b: Array | Mask) -> Any:
            return (a[:, :, None] * b[:, None, :]).reshape(len(a), a.shape[1] * b.shape[1])

        def both(a: Mask, b: Mask) -> Mask:
            return cast("Mask", every(a, b))

        rest = both(self.rest, other.whole) | both(self.whole, other.rest)
        return OptionalCells(
            both(self.part, other.part),
            both(self.whole, other.whole),
            both(self.surely_part, other.surely_part),
            both(self.surely_whole, other.surely_whole),
            rest,
            every(self.part_share, other.part_share),
            every(self.whole_share, other.whole_share),
        )


def exchanged_values_error(axis: AxisWeights) -> PolicyError:
    """Return the error (RR288) for a column whose values were exchanged, in a question with a generalised column."""
    column = axis.columns[0]
    message = f"{column!r} was randomised, and the other column was generalised: there are no certain bounds for both"
    return PolicyError(
        Problem("RR288", message, hint=f"leave out {column!r}, or count the groups as they were released")
    )


def blocks(choices: Sequence[OptionalCells], codes: Sequence[Ints], size: int) -> list[tuple[slice, OptionalCells]]:
    """Return the choices of groups of released records by all axes, a block of groups at a time."""
    cells = math.prod(choice.part.shape[1] for choice in choices)
    step = max(1, _BLOCK // max(cells, 1))
    found = []
    for start in range(0, max(size, 1), step):
        piece = slice(start, start + step)
        length = len(range(*piece.indices(size)))
        true, one = np.ones((length, 1), dtype=bool), np.ones((length, 1))
        whole = OptionalCells(true, true, true, true, ~true, one, one)
        for choice, code in zip(choices, codes, strict=True):
            whole = whole.beside(choice.at(code[piece]))
        found.append((piece, whole))
    return found


def ratio(part: Array, whole: Array) -> Array:
    """Return part / whole, NaN where the whole is 0."""
    found: Array = np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)
    return found


def share_bounds(least: Array, most: Array, least_rest: Array, most_rest: Array, estimate: Array) -> Inference:
    """Return estimates and bounds of shares.

    `least`: (rows,) the fewest records that can be in the part. `least_rest`: the fewest that can be in the rest of the
    whole.
    """
    low = np.where(least + most_rest > 0, ratio(least, least + most_rest), np.where(most > 0, 1.0, np.nan))
    high = np.where(most + least_rest > 0, ratio(most, most + least_rest), np.where(most_rest > 0, 0.0, np.nan))
    return between(estimate, low, high, (0.0, 1.0))


def between(estimate: Array, low: Array, high: Array, within: tuple[float, float] = (-np.inf, np.inf)) -> Inference:
    """Return estimates clipped to certain bounds; NaN where there are none."""
    return Inference.of_bounds(np.where(np.isnan(low), np.nan, np.clip(estimate, low, high)), low, high, within)


class LargestSums(Struct, frozen=True):
    """The largest mean and total of numbers, some of which are optional.

    Attributes:
        mean: NaN if no record can be counted.
        total: 0 if no record can be counted.
    """

    mean: float
    total: float


def largest_sums(n: Array, sure: Mask, value: Array) -> LargestSums:
    """Return the largest mean and total of records, some of which may not be counted.

    `n`: (groups,) records. `sure`: (groups,) whether they are certain to be counted. `value`: (groups,) the largest
    number that each can have.
    """
    count, total = float(n[sure].sum()), float((n * value)[sure].sum())
    open_n, open_value = n[~sure], value[~sure]
    order = np.argsort(-open_value, kind="stable")
    counts = count + np.concatenate([[0.0], np.cumsum(open_n[order])])
    totals = total + np.concatenate([[0.0], np.cumsum((open_n * open_value)[order])])
    if count == 0 and len(order):
        return LargestSums(float(open_value[order][0]), float(totals.max()))
    return LargestSums(float(np.max(ratio(totals, counts))) if count else math.nan, float(totals.max()))
