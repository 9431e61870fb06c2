"""Associations of columns assumed unlinkable with randomised ones: statistics of the original, for audit only."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from rrpolicy.counts import rank_codes
from rrpolicy.engine.arrays import as_numpy
from rrpolicy.finding import Measure, Standing

if TYPE_CHECKING:
    from rrpolicy.counts import Codes, Ints
    from rrpolicy.source.protocol import Original

GROUPS = 20
"""A carried column with more distinct values is cut into so many groups of about equal size, in their order."""


class LargestAssociation(Struct, frozen=True):
    """Largest Cramér's V of an attribute with another one."""

    measure: Measure
    other: str


_known: weakref.WeakKeyDictionary[Original, dict[tuple[str, tuple[str, ...]], LargestAssociation]]
_known = weakref.WeakKeyDictionary()


def largest_cramers_v(
    original: Original, attributes: Sequence[str], others: Sequence[str]
) -> dict[str, LargestAssociation]:
    """Return, for each attribute or carried column, its largest Cramér's V with one of the other, categorical ones.

    Exact for categorical attributes. A carried column is factorised, or cut into groups by rank, on a systematic
    sample; an association that such groups do not show is missed. Values are cached as long as the table exists.
    """
    key = tuple(others)
    remembered = _cached_associations(original)
    wanted = [name for name in attributes if (name, key) not in remembered]
    carried = [name for name in wanted if not original.policy.attributes[name].categorical]
    for name in wanted:
        if name not in carried:
            remembered[name, key] = _strongest_association(
                (other, exact_cramers_v(original, name, other)) for other in others
            )
    if carried:
        for name, association in _sample_columns(original, carried, others).items():
            remembered[name, key] = association
    return {name: remembered[name, key] for name in attributes}


def cramers_v(rows: Ints | Codes, columns: Ints | Codes, n: Ints) -> float:
    """Return Cramér's V = sqrt(chi2 / (N (min(r, c) - 1))) of a contingency table of (cells,) rows, columns, records.

    0 if only one row or one column is occupied (Cramér 1946, Mathematical Methods of Statistics, section 21.9).
    """
    occupied = n > 0
    n = n[occupied]
    _, row = rank_codes(rows[occupied])
    _, column = rank_codes(columns[occupied])
    in_row, in_column = np.bincount(row, n), np.bincount(column, n)
    smaller = min(len(in_row), len(in_column))
    if smaller < 2:  # noqa: PLR2004 - nothing varies
        return 0.0
    cell, index = rank_codes(row * len(in_column) + column)
    count = np.bincount(index, n)
    share = (count**2 / (in_row[cell // len(in_column)] * in_column[cell % len(in_column)])).sum()
    return float(np.sqrt(max(share - 1, 0.0) / (smaller - 1)))


def _cached_associations(original: Original) -> dict[tuple[str, tuple[str, ...]], LargestAssociation]:
    try:
        return _known.setdefault(original, {})
    except TypeError:  # neither hashable nor weakly referable: nothing is remembered
        return {}


def _strongest_association(found: Iterator[tuple[str, Measure]]) -> LargestAssociation:
    other, measure = max(found, key=lambda pair: pair[1].value)
    return LargestAssociation(measure, other)


def exact_cramers_v(original: Original, name: str, other: str) -> Measure:
    """Return Cramér's V of two categorical attributes of a table."""
    counts = original.counts(name, other)
    return Measure(cramers_v(counts.codes[:, 0], counts.codes[:, 1], counts.n))


def _sample_columns(original: Original, carried: Sequence[str], others: Sequence[str]) -> dict[str, LargestAssociation]:
    sample = original.sample(*carried, *others)
    columns = sample.columns
    codes = [rank_groups(column) for column in columns[: len(carried)]]
    second = [as_numpy(column).astype(np.int64) for column in columns[len(carried) :]]
    ones = np.ones(len(second[0]), dtype=np.int64)
    whole = len(ones) == original.records
    standing = Standing.EXACT if whole else Standing.ESTIMATE
    error = 0.0 if whole else 1 / np.sqrt(len(ones))
    return {
        name: _strongest_association(
            (other, Measure(cramers_v(code, codes_of, ones), standing, error))
            for other, codes_of in zip(others, second, strict=True)
        )
        for name, code in zip(carried, codes, strict=True)
    }


def rank_groups(column: pa.ChunkedArray) -> Ints:
    """Return the group of each record: its value if there are few, else its place among about equal groups by rank."""
    encoded = column.combine_chunks()
    if not pa.types.is_dictionary(encoded.type):
        encoded = pc.dictionary_encode(encoded, null_encoding="encode")
    codes = as_numpy(encoded.indices).astype(np.int64)
    values = encoded.dictionary
    if len(values) <= GROUPS:
        return codes
    order = as_numpy(pc.sort_indices(values)).astype(np.int64)
    count = np.bincount(codes, minlength=len(values))[order]
    before = np.concatenate(([0], np.cumsum(count)[:-1]))
    group = np.empty(len(values), dtype=np.int64)
    group[order] = before * GROUPS // len(codes)
    return group[codes]
