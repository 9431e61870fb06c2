"""The random bits of a draw: AES-256-CTR streams, one for each purpose, derived by HKDF-SHA256 from one key.

Two releases must never share noise, so every stream depends on the key *and* on the fingerprint of the source, the
digest of the plan, the sampler's path and the purpose. An attacker who has the key can test any guess about the
original. The one exception is a series (`rrpolicy.channels.sampling.persistent_noise`), whose numbers depend on the
key, the series and the person only.

References:
    RFC 5869 (HKDF); NIST SP 800-38A, section 6.5 (CTR mode). Uniform integers by rejection: the surplus
    2^64 mod bound of the word's range is refused, so that every remainder is hit equally often.
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from rrpolicy.counts import Ints

KEY_BYTES = 32
_SALT = b"rrpolicy.streams/1"
_SERIES = b"rrpolicy.series/1"
_BLOCK = 1 << 17  # words enciphered at a time
_ZEROS = bytes(8 * _BLOCK)


class Stream:
    """One keyed stream of bits. Reading n words and then m words gives the same as reading n + m at once."""

    def __init__(self, key: bytes) -> None:
        """Start the stream of a 256-bit key that no other stream has (the counter starts at zero)."""
        self._keystream = Cipher(algorithms.AES256(key), modes.CTR(bytes(16))).encryptor()

    def words(self, n: int) -> npt.NDArray[np.uint64]:
        """Return the next n little-endian words of the keystream, (n,) uint64 in native byte order, writable."""
        out = np.empty(n, dtype="<u8")
        raw = out.view(np.uint8).data
        for start in range(0, 8 * n, 8 * _BLOCK):
            size = min(8 * _BLOCK, 8 * n - start)
            self._keystream.update_into(memoryview(_ZEROS)[:size], raw[start : start + size])
        return out.astype(np.uint64, copy=False)

    def further(self, record: int, place: int) -> int:
        """Return the next word for a record whose words so far do not determine its value.

        Args:
            record: its position among them.
            place: the number of words that it has had.
        """
        del record, place
        return int(self.words(1)[0])

    def below(self, bounds: Ints) -> Ints:
        """Return exactly uniform integers, one in [0, bound) for each bound.

        Args:
            bounds: (k,) positive int64.

        Raises:
            ValueError: if a bound is not positive.
        """
        if len(bounds) and int(bounds.min()) < 1:
            raise ValueError("bounds must be positive")
        bound = bounds.astype(np.uint64)
        out = self.words(len(bound))
        surplus = (~bound + np.uint64(1)) % bound  # 2^64 mod bound, in wrapping arithmetic
        again = np.flatnonzero(out < surplus)
        while len(again):
            out[again] = self.words(len(again))
            again = again[out[again] < surplus[again]]
        return (out % bound).astype(np.int64)


class Streams:
    """All streams of one draw.

    Attributes:
        test: the key is a test's seed; `release` refuses such streams, and marks a bundle that was drawn with them.
    """

    def __init__(self, key: bytes, source: bytes, plan: bytes, path: str) -> None:
        """Bind a key to its draw.

        Args:
            key: 256 bits from the operating system.
            source: fingerprint of the original's released columns.
            plan: digest of the plan.
            path: the sampler's path, such as `cells`.

        Raises:
            ValueError: if the key is not 32 bytes.
        """
        if len(key) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes")
        self._key = key
        self._context = (source, plan, path.encode())
        self.test = False

    @classmethod
    def for_tests(cls, seed: int, source: bytes = b"", plan: bytes = b"", path: str = "cells") -> Streams:
        """Return streams of a seed, marked as a test's: never for a release."""
        streams = cls(hashlib.sha256(b"rrpolicy.test/%d" % seed).digest(), source, plan, path)
        streams.test = True
        return streams

    def stream(self, *purpose: str) -> Stream:
        """Return the stream of a purpose, from its beginning. Different purposes never share bits.

        Args:
            purpose: the use of the bits, such as ("axis", "education"); the parts are kept separate.
        """
        mark = (b"test" if self.test else b"release",)
        info = encode_strings(*mark, *self._context, *(part.encode() for part in purpose))
        return Stream(HKDF(hashes.SHA256(), KEY_BYTES, _SALT, info).derive(self._key))

    def lasting(self, *purpose: str) -> bytes:
        """Return a key that is the same in all releases of a series: it depends on no table, plan or path.

        Args:
            purpose: the series, and the use of the key; the parts are kept separate.
        """
        mark = b"test" if self.test else b"release"
        info = encode_strings(mark, *(part.encode() for part in purpose))
        return HKDF(hashes.SHA256(), KEY_BYTES, _SERIES, info).derive(self._key)

    def __repr__(self) -> str:
        return f"Streams(test={self.test})"


def encode_strings(*parts: bytes) -> bytes:
    """Return an unambiguous encoding of a sequence of byte strings: their number, then each behind its length."""
    return len(parts).to_bytes(8, "big") + b"".join(len(part).to_bytes(8, "big") + part for part in parts)
