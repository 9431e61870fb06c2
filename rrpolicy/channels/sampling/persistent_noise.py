"""Lasting numbers: those of a person with a value on an axis are the same in every release of a series.

They are a keyed function of (person, axis, value), so that an unchanged person is released equally each time, and an
attacker who averages the releases of a series learns no more than from one. Numbers of two persons, of two values of a
person, and of two axes are independent. An axis is identified by its released values and probabilities, so that a
matrix that changed in any entry draws anew.

    mark(person) = BLAKE2b-128 under a key of the series       (a pseudo-random function)
    word k       = the first 64 bits of AES-256(mark XOR value) under a key of (series, axis, k)

Two inputs of the cipher agree with a probability of about (persons x values)^2 / 2^129.

References:
    RFC 7693 (keyed BLAKE2b); Carter, Wegman 1979 for functions of a hashed input; of series: docs/how-to/series.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from rrpolicy.canonical_json import canonical, digest
from rrpolicy.channels.sampling.prng import Stream, encode_strings
from rrpolicy.frozen import replace

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.channels.base import Axis
    from rrpolicy.channels.sampling.prng import Streams
    from rrpolicy.counts import Ints

_BLOCK = 16

PersonMarks = npt.NDArray[np.uint64]


class PersistentStream(Stream):
    """One word a person, in the order of the persons, and further ones for those whose first does not suffice.

    An axis that requires anything else does not draw each record by one number, and cannot be part of a series.
    """

    def __init__(self, key: Callable[[int], bytes], marks: PersonMarks, codes: Ints) -> None:
        """Take persons and their values.

        `key` maps the place of a word to the key of the axis for it. `marks`: (persons, 2); `codes`: (persons,) values
        on the axis.
        """
        self._key, self._blocks = key, marks.astype("<u8").copy()
        self._blocks[:, 0] ^= codes.astype(np.uint64)
        self._asked = False

    def words(self, n: int) -> npt.NDArray[np.uint64]:
        """Return the first word of every person.

        Raises RuntimeError on a second call, or for another number of persons.
        """
        if self._asked or n != len(self._blocks):
            raise RuntimeError("a series draws every record by one number")
        self._asked = True
        return self._words(self._blocks, 0)

    def further(self, record: int, place: int) -> int:
        """Return the word of a person at a place >= 1."""
        return int(self._words(self._blocks[record : record + 1], place)[0])

    def _words(self, blocks: PersonMarks, place: int) -> npt.NDArray[np.uint64]:
        cipher = Cipher(algorithms.AES256(self._key(place)), modes.ECB()).encryptor()  # noqa: S305 one block a word
        out = np.frombuffer(cipher.update(np.ascontiguousarray(blocks).tobytes()), dtype="<u8")
        return out[::2].astype(np.uint64)


class PersistentNoise:
    """The draws of a series: the people of its rows, and their numbers on each axis."""

    def __init__(self, streams: Streams, name: str, population: str | None) -> None:
        """Take a series.

        `population` is that of its people, as the policy declares it.
        """
        self._streams, self._purpose = streams, (name, population or "")
        self._axes: list[tuple[Axis, str]] = []

    def marks(self, persons: pa.Array) -> PersonMarks:
        """Return a mark of each person, which cannot be linked with the person without the key.

        `persons`: (persons,) whole numbers or text, as in the table. The result is (persons, 2).
        """
        import pyarrow as pa

        key = self._streams.lasting(*self._purpose, "persons")
        kind = b"integer" if pa.types.is_integer(persons.type) else b"text"
        told = (encode_strings(kind, str(person).encode()) for person in persons.to_pylist())
        out = b"".join(hashlib.blake2b(each, key=key, digest_size=_BLOCK).digest() for each in told)
        return np.frombuffer(out, dtype="<u8").reshape(-1, 2).astype(np.uint64)

    def numbers(self, axis: Axis, people: PersonMarks, codes: Ints) -> PersistentStream:
        """Return the lasting numbers of some people on an axis.

        The engine's types and the released names of the axis do not matter. `people`: (persons, 2) marks; `codes`:
        (persons,) original codes.
        """
        told = self._digest(axis)

        def key(place: int) -> bytes:
            return self._streams.lasting(*self._purpose, "axis", told, str(place))

        return PersistentStream(key, people, codes)

    def _digest(self, axis: Axis) -> str:
        """Return the digest of an axis, cached: it is needed for each batch of people."""
        if not any(known is axis for known, _ in self._axes):
            self._axes.append((axis, axis_digest(axis)))
        return next(told for known, told in self._axes if known is axis)


def axis_digest(axis: Axis) -> str:
    """Return the digest of an axis' released values and probabilities, without engine types and released names."""
    described = getattr(axis, "with_columns", None)
    if described is None:
        return digest(canonical(axis.to_public_json()))
    bare = [replace(c, name=c.attribute, type="", assume_unlinkable=None) for c in axis.columns()]
    return digest(canonical(described(bare).to_public_json()))
