"""Exactly uniform orders: many short ones at a time, or one long one in little memory.

Keys are random bits with the position in the lowest ones, so that sorting plain integers orders positions. If two keys
share all their random bits, the order is drawn again: given that no two do, every order is equally likely.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from rrpolicy.counts import Ints

if TYPE_CHECKING:
    from rrpolicy.channels.sampling.prng import Stream

T = TypeVar("T", bound=np.generic)

_PIECE = 1 << 15
"""Values that are sorted at a time."""
_BLOCK = 1 << 22
"""Values that are dealt onto piles at a time."""
_MOST_PILES = 16  # as a power of two
_LATE = np.uint64(1 << 63)


def random_orders(stream: Stream, rows: int, size: int, late: npt.NDArray[np.bool_] | None = None) -> Ints:
    """Return rows of exactly uniform orders of 0 .. size-1, all independent.

    `late`: (rows, size) entries after all others of their row; both parts are in uniform order.
    """
    bits = max(1, (size - 1).bit_length())
    position = np.arange(size, dtype=np.uint64)
    keys = np.empty((rows, size), dtype=np.uint64)
    todo = np.arange(rows)
    while len(todo):
        random = stream.words(len(todo) * size).reshape(-1, size)
        drawn = (random >> np.uint64(bits + 1) << np.uint64(bits)) | position
        if late is not None:
            drawn |= np.where(late[todo], _LATE, np.uint64(0))
        drawn.sort(axis=1)
        keys[todo] = drawn
        prefix = drawn >> np.uint64(bits)
        todo = todo[np.any(prefix[:, 1:] == prefix[:, :-1], axis=1)]
    return (keys & np.uint64((1 << bits) - 1)).astype(np.int64)


def shuffle_values(values: npt.NDArray[T], stream: Stream) -> npt.NDArray[T]:
    """Return values in an exactly uniform order.

    Every value goes onto a uniformly chosen pile, every pile is put in a uniform order, and the piles are laid one upon
    the other: a uniform order of all (Rao 1961; Sandelius 1962). In addition to the values twice it needs two bytes a
    value.

    `values`: (n,).
    """
    bits = min(_MOST_PILES, max(0, (len(values) // _PIECE).bit_length()))
    if bits == 0:
        return values[_random_order(stream, len(values))]
    out, sizes = _distribute_to_piles(values, bits, stream)
    start = 0
    for size in sizes.tolist():
        part = out[start : start + size]
        part[:] = part[_random_order(stream, size)]
        start += size
    return out


def _random_order(stream: Stream, size: int) -> Ints:
    order: Ints = random_orders(stream, 1, size)[0]
    return order


def _distribute_to_piles(values: npt.NDArray[T], bits: int, stream: Stream) -> tuple[npt.NDArray[T], Ints]:
    """Return values pile by pile, and the number of values on each of 2^bits piles."""
    count = len(values)
    pile = stream.words(-(-count // 4)).view(np.uint16)[:count] & np.uint16((1 << bits) - 1)
    sizes = np.bincount(pile, minlength=1 << bits).astype(np.int64)
    room = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    out = np.empty_like(values)
    for low in range(0, count, _BLOCK):
        here = pile[low : low + _BLOCK]
        order = np.argsort(here, kind="stable")
        many = np.bincount(here, minlength=1 << bits)
        first = np.cumsum(many) - many
        out[np.repeat(room - first, many) + np.arange(len(here))] = values[low : low + _BLOCK][order]
        room = room + many
    return out, sizes


__all__ = ["random_orders", "shuffle_values"]
