"""Exchanging values inside blocks, applied along an axis of an array without writing the matrix out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rrpolicy.counts import Array


def apply_block_exchange(x: Array, axis: int, parts: Sequence[tuple[Sequence[int], float, float]]) -> Array:
    """Return (p - q) I + q J applied along an axis of an array, block by block; x is not changed.

    No sum of parts of unequal sign if p >= q, so that zeros stay 0; below, the matrix is written out.

    Args:
        x: any array.
        axis: along which the categories lie.
        parts: (positions, p, q) of each block.
    """
    import numpy as np

    if len(parts) == 1 and parts[0][1] >= parts[0][2]:
        ((_, p, q),) = parts
        total: Array = x.sum(axis=axis, keepdims=True)
        total = q * total
        out: Array = (p - q) * x
        out += total
        return out
    moved = np.moveaxis(np.asarray(x, dtype=np.float64), axis, 0)
    released = np.empty_like(moved)
    for members, p, q in parts:
        part = moved[list(members)]
        if p >= q:
            total = q * part.sum(axis=0)
            part *= p - q
            part += total
        else:
            matrix = np.full((len(members), len(members)), q)
            np.fill_diagonal(matrix, p)
            part = np.tensordot(matrix, part, axes=1)
        released[list(members)] = part
    return np.moveaxis(released, 0, axis)
