"""Several small codes in one number, so that sorting and grouping handle one key in place of many.

A number contains consecutive attributes in mixed radix, the first one the most significant, so that numbers sort as
the tuples of codes do. The two codes of surprises (-2, -1) come first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.engine.arrays import as_numpy, number_array, take_values
from rrpolicy.source.duckdb.encoding import NULL_CODE

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.counts import Ints

_MOST = 2**63
_LISTED = 1 << 16  # numbers whose digits are listed once: they stay in the cache


class PackedCodes(Struct, frozen=True):
    """Codes packed into one number.

    Attributes:
        radices: the number of values of each code.
        type: the engine type of the number.
    """

    codes: tuple[str, ...]
    radices: tuple[int, ...]
    type: str

    @property
    def sql(self) -> str:
        """Return SQL of the number."""
        number = "0::BIGINT"
        for code, radix in zip(self.codes, self.radices, strict=True):
            number = f"({number}) * {radix} + ({code}) + {-NULL_CODE}"
        return f"({number})::{self.type}"

    def unpack(self, packed: pa.Array) -> list[pa.Array]:
        """Return the int32 codes of each attribute, in order."""
        return digits(packed, self.radices, NULL_CODE)


def digits(packed: pa.Array, radices: tuple[int, ...], lowest: int = 0) -> list[pa.Array]:
    """Return the digits of mixed-radix numbers.

    `packed`: (k,) integers >= 0 of any width, below the product of the radices, without nulls; `lowest` is the value of
    the digit 0. Returns (k,) int32 for each radix; the most significant is first.
    """
    if math.prod(radices) > _LISTED:
        return _digits_by_division(as_numpy(packed), radices, lowest)
    return [take_values(every, packed) for every in _digit_tables(radices, lowest)]


def _digits_by_division(packed: Ints, radices: Sequence[int], lowest: int) -> list[pa.Array]:
    import numpy as np

    rest, found = packed.astype(np.int64, copy=False), []
    for radix in reversed(radices[1:]):
        rest, digit = np.divmod(rest, radix)
        found.append(digit)
    return [number_array((digit + lowest).astype(np.int32)) for digit in reversed([*found, rest])]


@lru_cache(maxsize=64)
def _digit_tables(radices: tuple[int, ...], lowest: int) -> list[pa.Array]:
    import numpy as np

    return _digits_by_division(np.arange(math.prod(radices)), radices, lowest)


def pack(codes: Sequence[str], sizes: Sequence[int]) -> list[PackedCodes]:
    """Return as few numbers as suffice for all codes."""
    packs: list[PackedCodes] = []
    start, product = 0, 1
    radices = [size - NULL_CODE for size in sizes]
    for end in range(1, len(codes) + 1):
        product *= radices[end - 1]
        if end == len(codes) or product * radices[end] > _MOST:
            kind = "UINTEGER" if product <= 2**32 else "BIGINT"
            packs.append(PackedCodes(tuple(codes[start:end]), tuple(radices[start:end]), kind))
            start, product = end, 1
    return packs
