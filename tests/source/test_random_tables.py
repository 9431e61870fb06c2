"""Counts and rows of random tables under random policies are those of a count in plain Python."""

from __future__ import annotations

import math
import tempfile
from bisect import bisect_right
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rrpolicy.policy.model import Attribute, Bins
from rrpolicy.source.duckdb.encoding import NULL_CODE, OUTSIDE_CODE
from rrpolicy.source.duckdb.source import DuckDBSource
from rrpolicy.source.original import read_original

from .conftest import policy_at, qi

TEXTS = st.sampled_from(["", "a", "A", "b", "'", '"', "ä", "NULL", "é", "e\u0301", "x" * 20])
INTEGERS = st.integers(-4, 4) | st.sampled_from([2**53 + 1, -(2**62)])
NUMBERS = st.sampled_from([-1.5, -0.0, 0.0, 0.1, 1.0, 2.0, 1e300, math.inf, -math.inf, math.nan])
KINDS: dict[str, tuple[st.SearchStrategy[Any], pa.DataType]] = {
    "text": (TEXTS, pa.string()),
    "integer": (INTEGERS, pa.int64()),
    "number": (NUMBERS, pa.float64()),
    "boolean": (st.booleans(), pa.bool_()),
}


@st.composite
def columns(draw: st.DrawFn) -> tuple[pa.Array, list[Any], Attribute]:
    """Draw a column's values and an attribute for it, named "?"."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    strategy, dtype = KINDS[kind]
    values = draw(st.lists(st.none() | strategy, min_size=12, max_size=12))
    array = pa.array(values, dtype, from_pandas=False)
    if draw(st.booleans()) and kind == "text":
        array = array.dictionary_encode()
    nulls = draw(st.none() | st.just("no value"))
    outside = draw(st.none() | st.just("other"))
    if kind in {"integer", "number"} and draw(st.booleans()):
        edges = draw(st.lists(st.sampled_from([-math.inf, -2, 0, 0.1, 1, 2.5, math.inf]), min_size=2, unique=True))
        labels = tuple(f"bin {i}" for i in range(len(edges) - 1))
        domain, bins = labels, Bins(tuple(sorted(edges)), labels)
    else:
        finite = strategy.filter(lambda v: not (isinstance(v, float) and not math.isfinite(v)))
        domain, bins = tuple(dict.fromkeys(draw(st.lists(finite, min_size=1, max_size=6)))), None
    extra = tuple(v for v in (outside, nulls) if v is not None)
    return array, values, qi("?", *domain, *extra, bins=bins, nulls=nulls, outside=outside)


def code(attribute: Attribute, value: Any) -> int:
    """Return the code as the policy defines it, without SQL."""
    domain = list(attribute.domain or ())
    if value is None or value != value:  # noqa: PLR0124
        return NULL_CODE if attribute.nulls is None else domain.index(attribute.nulls)
    outside = OUTSIDE_CODE if attribute.outside is None else domain.index(attribute.outside)
    if attribute.bins is None:
        return domain.index(value) if value in domain else outside
    edges = attribute.bins.edges
    if not edges[0] <= value <= edges[-1]:
        return outside
    return min(bisect_right(edges, value), len(edges) - 1) - 1


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(columns(), min_size=1, max_size=3))
def test_tally_and_rows_are_what_plain_python_counts(drawn):
    names = [f"c{i}" for i in range(len(drawn))]
    attributes = [
        qi(n, *(a.domain or ()), bins=a.bins, nulls=a.nulls, outside=a.outside)
        for n, (_, _, a) in zip(names, drawn, strict=True)
    ]
    expected = Counter(
        tuple(code(a, v) for a, v in zip(attributes, row, strict=True))
        for row in zip(*(values for _, values, _ in drawn), strict=True)
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        pq.write_table(pa.table({n: array for n, (array, _, _) in zip(names, drawn, strict=True)}), path)
        with DuckDBSource().open(str(path), None, Path(folder)) as snapshot:
            tally = [tuple(r.values()) for r in snapshot.tally(attributes).read_all().to_pylist()]
            rows = [tuple(r.values()) for r in snapshot.rows(attributes).read_all().to_pylist()]

            assert tally == sorted((*codes, n) for codes, n in expected.items())
            assert rows == sorted(expected.elements())
            if all(c >= 0 for codes in expected for c in codes):
                original = read_original(policy_at(path, *attributes), snapshot)
                joint = original.counts(*names)
                assert dict(zip(map(tuple, joint.codes.tolist()), joint.n.tolist(), strict=True)) == expected
