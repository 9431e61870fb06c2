"""Several small codes in one number: sorting and grouping then handle one key in place of many.

A number holds consecutive attributes in mixed radix, the first one the most significant, so that numbers sort as the
tuples of codes do; the two codes of surprises (-2, -1) come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rrpolicy.source.encoding import NULL

if TYPE_CHECKING:
    import pyarrow as pa

_MOST = 2**63


@dataclass(frozen=True, slots=True)
class Pack:
    """Codes packed into one number.

    Attributes:
        codes: SQL of each code.
        radices: how many values each code can have.
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
            number = f"({number}) * {radix} + ({code}) + {-NULL}"
        return f"({number})::{self.type}"

    def unpack(self, numbers: pa.Array) -> Iterator[pa.Array]:
        """Yield the int32 codes of each attribute, in order."""
        import numpy as np
        import pyarrow as pa

        rest, codes = numbers.to_numpy().astype(np.int64), []
        for radix in reversed(self.radices[1:]):
            rest, code = np.divmod(rest, radix)
            codes.append(code)
        for code in reversed([*codes, rest]):
            yield pa.array((code + NULL).astype(np.int32))


def pack(codes: Sequence[str], sizes: Sequence[int]) -> list[Pack]:
    """Return as few numbers as hold all codes.

    Args:
        codes: SQL of each attribute's code.
        sizes: the number of categories of each.
    """
    packs: list[Pack] = []
    start, product = 0, 1
    radices = [size - NULL for size in sizes]
    for end in range(1, len(codes) + 1):
        product *= radices[end - 1]
        if end == len(codes) or product * radices[end] > _MOST:
            kind = "UINTEGER" if product <= 2**32 else "BIGINT"
            packs.append(Pack(tuple(codes[start:end]), tuple(radices[start:end]), kind))
            start, product = end, 1
    return packs
