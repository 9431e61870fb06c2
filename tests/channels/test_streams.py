"""The streams are AES-256-CTR under HKDF-SHA256 keys, one a purpose, and nothing two draws differ in is left out."""

from __future__ import annotations

import hmac
from itertools import pairwise

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

from rrpolicy.channels.sampling.prng import Stream, Streams, encode_strings

KEY = bytes(range(32))


def keystream(key: bytes, blocks: int) -> bytes:
    """Return AES-256 of the counters 0, 1, 2, …, block by block."""
    cipher = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()
    return cipher.update(b"".join(counter.to_bytes(16, "big") for counter in range(blocks)))


def test_words_are_the_little_endian_keystream_of_aes_256_ctr():
    expected = np.frombuffer(keystream(KEY, 10), dtype="<u8")

    assert np.array_equal(expected, Stream(KEY).words(20))


def test_keys_are_derived_by_hkdf_sha256_of_everything_that_a_draw_depends_on():
    info = encode_strings(b"release", b"source", b"plan", b"cells", b"axis", "größe".encode())
    extracted = hmac.digest(b"rrpolicy.streams/1", KEY, "sha256")
    expected = hmac.digest(extracted, info + b"\x01", "sha256")

    words = Streams(KEY, b"source", b"plan", "cells").stream("axis", "größe").words(4)

    assert np.array_equal(np.frombuffer(keystream(expected, 2), dtype="<u8"), words)


@given(st.lists(st.integers(0, 300_000), max_size=4))
def test_reading_in_pieces_is_reading_at_once(pieces):
    at_once = Stream(KEY).words(sum(pieces))
    stream = Stream(KEY)

    assert np.array_equal(at_once, np.concatenate([stream.words(n) for n in pieces] or [stream.words(0)]))


def test_every_part_of_the_context_changes_every_stream():
    other = bytes(31) + b"\x01"
    streams = [
        Streams(KEY, b"s", b"p", "cells").stream("axis", "a"),
        Streams(other, b"s", b"p", "cells").stream("axis", "a"),
        Streams(KEY, b"t", b"p", "cells").stream("axis", "a"),
        Streams(KEY, b"s", b"q", "cells").stream("axis", "a"),
        Streams(KEY, b"s", b"p", "records").stream("axis", "a"),
        Streams(KEY, b"s", b"p", "cells").stream("axis", "b"),
        Streams(KEY, b"s", b"p", "cells").stream("axis", "a", ""),
        Streams(KEY, b"sp", b"", "cells").stream("axis", "a"),
        Streams(KEY, b"s", b"p", "cells").stream("axisa"),
    ]
    first = {stream.words(1)[0] for stream in streams}

    assert len(streams) == len(first)


@given(st.lists(st.binary(max_size=9), max_size=4), st.lists(st.binary(max_size=9), max_size=4))
def test_the_encoding_of_a_purpose_is_unambiguous(one, other):
    assert (one == other) == (encode_strings(*one) == encode_strings(*other))


def test_streams_of_a_seed_are_marked_and_share_nothing_with_a_key():
    tests = Streams.for_tests(1)

    assert tests.test
    assert not Streams(KEY, b"", b"", "cells").test
    assert tests.stream("a").words(1) == Streams.for_tests(1).stream("a").words(1)
    assert tests.stream("a").words(1) != Streams.for_tests(2).stream("a").words(1)
    assert KEY.hex() not in repr(Streams(KEY, b"", b"", "cells"))


def test_a_key_has_256_bits():
    with pytest.raises(ValueError, match="32 bytes"):
        Streams(bytes(16), b"", b"", "cells")


def scripted(*words: int) -> Stream:
    stream = Stream(KEY)
    left = iter(words)
    stream.words = lambda n: np.array([next(left) for _ in range(n)], dtype=np.uint64)  # type: ignore[method-assign]
    return stream


def test_uniform_integers_refuse_the_surplus_of_the_range_of_a_word():
    # 2^64 = 1 mod 3: the word 0 is too many; 2^64 = 6 mod 10: 0 … 5 are too many
    assert scripted(0, 16, 1).below(np.array([3, 10])).tolist() == [1, 6]
    assert scripted(7, 5, 2, 6).below(np.array([3, 10])).tolist() == [1, 6]
    assert scripted(2**64 - 1).below(np.array([2**63 - 1])).tolist() == [1]


def test_uniform_integers_are_uniform():
    drawn = Streams.for_tests(3).stream("below").below(np.full(60_000, 6))
    counts = np.bincount(drawn, minlength=6)

    assert ((counts - 10_000) ** 2 / 10_000).sum() < 45  # chi-square, 5 degrees: false alarm < 1e-6
    with pytest.raises(ValueError, match="positive"):
        Streams.for_tests(3).stream("below").below(np.array([0]))


def test_a_word_has_no_pattern_from_bit_to_bit():
    words = Streams.for_tests(5).stream("bits").words(20_000)
    bits = np.unpackbits(words.view(np.uint8)).reshape(-1, 64)

    assert abs(bits.mean() - 0.5) < 5 * 0.5 / np.sqrt(bits.size)
    for one, other in pairwise(range(64)):
        assert abs((bits[:, one] == bits[:, other]).mean() - 0.5) < 6 * 0.5 / np.sqrt(len(bits))
