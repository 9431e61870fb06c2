"""Exact draws of counts: no floating point, no bias of any size, a few random bits a record.

*Binomial(n, a/b)*: n uniform numbers are compared with a/b binary digit by binary digit. Of the numbers that agree
with a/b so far (the undecided), the next digit of each is a fair bit, so that their number with a one is the popcount
of that many random bits. If the digit of a/b is 1, those with a 0 are below it and succeed; if it is 0, those with a 1
are above it and fail; the others stay undecided. Once the remainder of the long division is 0, the undecided are not
below a/b: they fail. All cells and all probabilities go side by side.

*Multinomial*: a binary tree over the categories with exact conditional probabilities, one binomial a node.

*Few records*: a cell of at most `DIRECT` records is drawn record by record. The first 64 digits of a uniform number are
compared with the boundaries of the cumulative law. If it agrees with a boundary in all of them, it gets more digits.

The order in which a stream is read is a function of the arguments alone: first the small cells, one word a record in
the order of the cells (then the extra words of what was left undecided), then the large ones level by level through the
trees, the nodes of a level in the order of the cells they came from, digit by digit, ceil(undecided / 64) words a node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np

from rrpolicy.channels.sampling.distribution import (
    WORD,
    BinaryExpansions,
    DiscreteDistribution,
    SamplingTrees,
    Words,
    quantile_position,
)
from rrpolicy.channels.sampling.prng import Stream
from rrpolicy.counts import Codes, Ints

DIRECT = 16
"""The most records of a cell that is drawn record by record."""
_CHUNK = 1 << 16  # words popcounted at a time: they stay in the cache
_RECORDS = 1 << 20  # records drawn one by one at a time
_STEP = 1 << 14  # of them, looked up at a time: they stay in the cache, too
_ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)

Parts = tuple[Ints, Ints | Codes, Ints]


def _draw_binomials(n: Ints, which: Ints, chances: BinaryExpansions, stream: Stream) -> Ints:
    """Draw Binomial(n[i], probability which[i]) for each i."""
    success = np.zeros(len(n), dtype=np.int64)
    cell = np.flatnonzero(n > 0)
    undecided, which = n[cell], which[cell]
    place = 0
    while True:
        alive = chances.length[which] > place
        alive &= undecided > 0
        if not alive.all():
            cell, undecided, which = cell[alive], undecided[alive], which[alive]
        if not len(cell):
            return success
        digit = (chances.digits(place // WORD)[which] >> np.uint64(WORD - 1 - place % WORD)) & np.uint64(1)
        ones = _draw_fair_binomials(undecided, stream)
        below = digit.astype(bool)
        success[cell[below]] += (undecided - ones)[below]
        undecided = np.where(below, ones, undecided - ones)
        place += 1


def _draw_fair_binomials(n: Ints, stream: Stream) -> Ints:
    """Draw Binomial(n, 1/2): the popcount of n random bits, for each n > 0. Each n starts at a fresh word."""
    ends = np.cumsum((n + (WORD - 1)) // WORD)
    starts = ends - (n + (WORD - 1)) // WORD
    spare = (-n % WORD).astype(np.uint64)  # bits of the last word that are not used
    total = int(ends[-1])
    ones = np.zeros(len(n), dtype=np.int64)
    for low in range(0, total, _CHUNK):
        high = min(low + _CHUNK, total)
        bits: Words = stream.words(high - low)
        first, last = np.searchsorted(ends, low, side="right"), np.searchsorted(starts, high, side="left")
        complete = first + np.searchsorted(ends[first:last], high, side="right")
        bits[ends[first:complete] - 1 - low] &= _ALL >> spare[first:complete]
        # no segment is empty: n > 0, and cells without a word in [low, high) are not among first..last
        segments = np.maximum(starts[first:last] - low, 0)
        ones[first:last] += np.add.reduceat(np.bitwise_count(bits), segments, dtype=np.int64)
    return ones


def draw_multinomials(n: Ints, law: Ints, laws: Sequence[DiscreteDistribution], stream: Stream) -> Parts:
    """Draw Multinomial(n[i], laws[law[i]]) for each cell i, exactly.

    `n`: (cells,) records, >= 0; `law`: (cells,) index of each cell's law. Returns cell, value and count: each (k,);
    only counts > 0; cells in order.
    """
    if bool((n == 1).all()):
        return np.arange(len(n)), _draw_categories(law, laws, stream), n
    small = n <= DIRECT
    if small.all():
        return _sort_parts(_draw_small_cells(np.arange(len(n)), n, law, laws, stream))
    few, many = np.flatnonzero(small), np.flatnonzero(~small)
    here = _draw_small_cells(few, n[few], law[few], laws, stream)
    there = _split_down_tree(many, n[many], law[many], laws, stream)
    return _sort_parts((*(np.concatenate(pair) for pair in zip(here, there, strict=True)),))  # type: ignore[arg-type]


def _sort_parts(parts: Parts) -> Parts:
    """Sort parts by their cells. They are in a few sorted runs: a stable sort merges these."""
    cell, value, count = parts
    order = np.argsort(cell, kind="stable")
    return cell[order], value[order], count[order]


def _split_down_tree(cell: Ints, n: Ints, law: Ints, laws: Sequence[DiscreteDistribution], stream: Stream) -> Parts:
    """Split every cell's records down the tree of its law, all cells level by level."""
    used, law = np.unique(law, return_inverse=True)
    forest = SamplingTrees([laws[i] for i in used])
    node = forest.roots[law]
    done: list[Parts] = []
    while len(node):
        leaf = forest.left[node] < 0
        done.append((cell[leaf], forest.value[node[leaf]], n[leaf]))
        cell, node, n = cell[~leaf], node[~leaf], n[~leaf]
        left = _draw_binomials(n, node, forest.chance, stream)
        cell = np.repeat(cell, 2)
        node = np.column_stack((forest.left[node], forest.right[node])).ravel()
        n = np.column_stack((left, n - left)).ravel()
        some = n > 0
        cell, node, n = cell[some], node[some], n[some]
    return tuple(np.concatenate(column) for column in zip(*done, strict=True))  # type: ignore[return-value]


def _draw_small_cells(cell: Ints, n: Ints, law: Ints, laws: Sequence[DiscreteDistribution], stream: Stream) -> Parts:
    """Draw the records of small cells one by one, then count equal ones."""
    some = n > 0
    cell, n, law = cell[some], n[some], law[some]
    done: list[Parts] = [(cell[:0], cell[:0], cell[:0])]
    ends = np.cumsum(n)
    low = 0
    while low < len(n):
        before = int(ends[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(ends, before + _RECORDS, side="right")))
        value = _draw_categories(np.repeat(law[low:high], n[low:high]), laws, stream)
        least, width = int(value.min()), int(value.max() - value.min()) + 1
        key = np.sort(np.repeat(np.arange(high - low), n[low:high]) * width + (value - least))
        starts = np.flatnonzero(np.diff(key, prepend=-1))
        owner, value = np.divmod(key[starts], width)
        done.append((cell[low:high][owner], value + least, np.diff(starts, append=len(key))))
        low = high
    return tuple(np.concatenate(column) for column in zip(*done, strict=True))  # type: ignore[return-value]


def _draw_categories(law: Ints, laws: Sequence[DiscreteDistribution], stream: Stream) -> Ints | Codes:
    words = stream.words(len(law))
    out = np.empty(len(law), dtype=np.result_type(np.int32, *(each.codes for each in laws)))
    ties: list[tuple[int, int]] = []
    for index, every in _group_by_distribution(law):
        for low in range(0, len(law) if isinstance(every, slice) else len(every), _STEP):
            here = slice(low, low + _STEP) if isinstance(every, slice) else every[low : low + _STEP]
            found = laws[index].drawn(words[here])
            ties += [(int(np.arange(len(law))[here][e]), index) for e in found.ties]
            out[here] = found.values
    for record, index in sorted(ties):
        out[record] = _refine_position(laws[index], int(words[record]), record, stream)
    return out


def _group_by_distribution(law: Ints) -> list[tuple[int, Ints | slice]]:
    if not len(law):
        return []
    low, high = int(law.min()), int(law.max())
    if low == high:
        return [(low, slice(None))]
    narrow = law.astype(np.uint16) if high < 1 << 16 else law  # 16 bits are sorted by counting
    order = np.argsort(narrow, kind="stable")
    starts = np.flatnonzero(np.diff(law[order], prepend=-1))
    return [(int(law[part[0]]), part) for part in np.split(order, starts[1:])]


def _refine_position(law: DiscreteDistribution, prefix: int, record: int, stream: Stream) -> int:
    """Read digits until they determine the side of every boundary on which the number lies."""
    bits = WORD
    while (place := quantile_position(law, prefix, bits)) is None:
        prefix, bits = (prefix << WORD) | stream.further(record, bits // WORD), bits + WORD
    return law.values[place]


def split_by_columns(
    codes: Ints, n: Ints, column: Callable[[int], Mapping[int, Fraction]], stream: Stream
) -> tuple[Ints, Ints, Ints]:
    """Randomise counts by the columns of any matrix: the implementation of `Axis.split` of a matrix axis.

    Args:
        codes: (cells,) original code of each cell.
        n: (cells,) records in each.
        column: original code -> released code -> exact probability; must sum to exactly 1.
        stream: random bits of this axis only.

    Returns:
        cell: (k,) index into `codes`, non-decreasing.
        released: (k,) released code.
        count: (k,) records, > 0.
    """
    distinct, law = np.unique(codes, return_inverse=True)
    cell, released, count = draw_multinomials(
        n, law, [DiscreteDistribution.of(column(int(code))) for code in distinct], stream
    )
    return cell, released.astype(np.int64, copy=False), count


def split_by_blocks(codes: Ints, n: Ints, blocks: Sequence[tuple[Sequence[int], Fraction]], stream: Stream) -> Parts:
    """Randomise counts by retention inside blocks: kept, else uniform over the rest of the block.

    Never lists the matrix: a law a block, of size O(members).

    `codes`: (cells,) original codes, each in a block; `n`: (cells,) records; `blocks`: (members, keep probability).
    Returns (k,) index into `codes`, non-decreasing; (k,) released code; (k,) records, > 0.
    """
    laws = [_retention_distribution(len(members), keep) for members, keep in blocks]
    if len(blocks) == 1 and list(blocks[0][0]) == list(range(len(blocks[0][0]))):  # nothing is to be looked up
        cell, rank, count = draw_multinomials(n, np.zeros(len(n), dtype=np.int64), laws, stream)
        own = (codes if bool((n == 1).all()) else codes[cell]).astype(np.int32)  # as ranks are, which a law lists
        rank += rank >= own
        rank += (rank < 0) * (own + 1)  # arithmetic costs a fraction of what choosing by a random mask does
        return cell, rank, count
    size = 1 + max(max(members) for members, _ in blocks)
    block = np.zeros(size, dtype=np.int64)
    place = np.zeros(size, dtype=np.int64)
    for index, (members, _) in enumerate(blocks):
        block[list(members)] = index
        place[list(members)] = np.arange(len(members))
    starts = np.cumsum([0] + [len(members) for members, _ in blocks])
    flat = np.array([code for members, _ in blocks for code in members], dtype=np.int64)
    cell, rank, count = draw_multinomials(n, block[codes], laws, stream)
    released = codes[cell].astype(np.int64)
    moved = np.flatnonzero(rank >= 0)
    old, to = released[moved], rank[moved]
    released[moved] = flat[starts[block[old]] + to + (to >= place[old])]
    return cell, released, count


@lru_cache(maxsize=256)
def _retention_distribution(members: int, keep: Fraction) -> DiscreteDistribution:
    """Return the law of -1 (kept) and the rank 0 … members-2 among the other members."""
    if members == 1:
        return DiscreteDistribution((-1,), (1,))
    kept, other = keep.numerator * (members - 1), keep.denominator - keep.numerator
    entries = [(-1, kept), *((rank, other) for rank in range(members - 1))]
    return DiscreteDistribution(tuple(v for v, w in entries if w), tuple(w for _, w in entries if w))
