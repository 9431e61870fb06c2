"""The digest of rows: a function of the values alone, and of every one of them."""

import itertools
import re
from datetime import time

import pyarrow as pa
import pytest

from rrpolicy.source.row_digest import BLOCK, CODED, row_digest


def digest(*columns, cut=10**9):
    rows = pa.record_batch([*columns, pa.array([1] * len(columns[0]), pa.int64())], [*"abcdef"[: len(columns)], "n"])
    return row_digest(rows.slice(low, cut) for low in range(0, len(rows), cut))


def coded(places, labels):
    return pa.DictionaryArray.from_arrays(pa.array(places, pa.int32()), pa.array(labels))


@pytest.mark.parametrize("labels", [3, CODED, CODED + 1])
def test_text_has_one_digest_however_it_is_held(labels):
    """Few texts of a block are written once, many as they are; dictionaries in any order, with unused labels, are text."""
    texts = [f"é{i * 7919 % labels:x}" for i in range(BLOCK + 1000)]
    known = sorted(set(texts))
    plain = pa.array(texts)
    there = {text: place for place, text in enumerate(reversed([*known, "unused"]))}
    backwards = coded([there[text] for text in texts], list(there))

    found = {
        digest(column, cut=cut) for column in (plain, plain.dictionary_encode(), backwards) for cut in (10**9, 999)
    }
    assert len(found) == 1
    assert digest(pa.array([*texts[:-1], "other"])) not in found


def test_dictionaries_may_differ_from_batch_to_batch():
    batches = [
        pa.record_batch([coded([0, 1], ["x", "y"]), pa.array([1, 1])], ["a", "n"]),
        pa.record_batch([coded([0, 1], ["y", "z"]), pa.array([1, 1])], ["a", "n"]),
    ]
    assert row_digest(batches) == digest(pa.array(["x", "y", "y", "z"]))


def test_dictionaries_may_spell_a_text_twice_or_hold_a_null():
    assert digest(coded([0, 1, 2], ["x", "y", "x"])) == digest(pa.array(["x", "y", "x"]))
    assert digest(coded([0, 1], ["x", None])) == digest(pa.array(["x", None]))
    assert digest(coded([0, 1], ["x", None])) != digest(pa.array(["x", ""]))


@pytest.mark.parametrize("labels", [CODED, CODED + 1])
def test_many_texts_that_a_dictionary_spells_twice(labels):
    texts = [f"{i:x}" for i in range(labels)]
    assert digest(coded(range(2 * labels), texts * 2)) == digest(pa.array(texts * 2))


def test_a_text_that_stands_late_alone_has_its_place():
    late = [*["z"] * (BLOCK - 2), "a", "y"]
    assert digest(coded([[*"xyza"].index(text) for text in late], [*"xyza"])) == digest(pa.array(late))


def test_whole_numbers_of_all_widths_are_one_kind():
    kinds = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32())
    assert len({digest(pa.array([0, 1, 127], kind)) for kind in kinds}) == 1


def test_no_two_columns_share_a_digest():
    """Among them those whose bytes are alike end to end, and those that differ in a null, a width or a kind alone."""
    columns = [
        pa.array([1, 2]),
        pa.array([1, 200]),
        pa.array([1, 2**40]),
        pa.array([513, 0]),
        pa.array([-1, 2]),
        pa.array([0, None]),
        pa.array([0, 0]),
        pa.array([0.0, 0.5]),
        pa.array(["a", "bc"]),
        pa.array(["ab", "c"]),
        pa.array(["bc", "a"]),
        pa.array(["a", None]),
        pa.array(["a", ""]),
        pa.array(["a", "a"]),
        pa.array([b"a", b"bc"]),
        pa.array([[1], [2]]),
        pa.array([[1, 2], []]),
        pa.array([["a"], ["bc"]]),
        pa.array([time(0, 0, 1), time(0, 0, 2)]),
        pa.array([1000, 2000], pa.time64("ns")),
        pa.array([None, None]),
    ]
    found = [digest(column) for column in columns]
    assert len(set(found)) == len(columns)
    pairs = list(itertools.permutations([c for c in columns if len(c) == 2][:6], 2))
    assert len({digest(*pair) for pair in pairs}) == len(pairs)


def test_lists_without_an_element_have_a_digest():
    empty = [pa.array([[], []], pa.list_(kind)) for kind in (pa.int64(), pa.string())]
    assert len({digest(column) for column in empty}) == 2


@pytest.mark.parametrize("kind", [pa.duration("s"), pa.struct([("x", pa.int64())])])
def test_a_column_without_a_canonical_form_is_refused(kind):
    with pytest.raises(TypeError, match=f"a column of type {re.escape(str(kind))} has no canonical form"):
        digest(pa.array([None, None], kind))


def test_the_batches_of_a_table_have_the_same_columns():
    batches = [pa.record_batch({"x": values, "n": [1] * BLOCK}) for values in ([1] * BLOCK, ["a"] * BLOCK)]
    with pytest.raises(TypeError, match="the batches of one table differ in their columns"):
        row_digest(batches)


def test_codes_beyond_a_dictionary_are_refused_wherever_they_stand() -> None:
    """A file that somebody else wrote may hold them; what lies behind the dictionary is not to be read."""
    codes = pa.array([0, 1] * 4096 + [7], pa.int32())
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b"]), safe=False)
    batch = pa.record_batch({"x": column, "n": pa.array([1] * len(codes))})

    with pytest.raises(IndexError):
        row_digest([batch])
