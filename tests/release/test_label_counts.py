"""Labels are counted alike however their columns are coded, and however many are counted at once."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrpolicy.bundle.tables import writer
from rrpolicy.channels.table import Column, TableSpec

LABELS = {"sex": ("f", "m"), "town": ("a", "b", "c"), "year": (1, 2)}
SPEC = TableSpec("data", tuple(Column(n, "category", labels, "", n) for n, labels in LABELS.items()), tuple(LABELS))
ROW = st.tuples(*(st.sampled_from(labels) for labels in LABELS.values()), st.integers(1, 5))


@given(st.lists(ROW, max_size=20), st.sets(st.sampled_from(sorted(LABELS))), st.booleans(), st.booleans())
def test_labels_are_counted(rows, coded, together, single):
    n = np.array([1 if single else row[-1] for row in rows], dtype=np.int64)
    columns = [
        pa.array([row[i] for row in rows], pa.int64() if c == "year" else pa.string()) for i, c in enumerate(LABELS)
    ]
    batch = pa.record_batch(
        [c.dictionary_encode() if name in coded else c for name, c in zip(LABELS, columns, strict=True)],
        names=list(LABELS),
    )
    with patch.object(writer, "_TOGETHER", 1 << 16 if together else 0):
        counts = writer.LabelCounter(SPEC)
    counts.add(batch, n)
    counts.add(batch, n)

    for i, (name, labels) in enumerate(LABELS.items()):
        expected = Counter()
        for row, times in zip(rows, n.tolist(), strict=True):
            expected[row[i]] += 2 * times
        assert counts.counts()[name] == tuple(expected[label] for label in labels)
    joint = counts.joint()
    assert (joint is not None) == together
    if joint is not None:
        expected = Counter()
        for *row, times in rows:
            expected[tuple(row)] += 2 * times * (not single) + 2 * single
        told = (tuple(labels[i] for i, labels in zip(codes, LABELS.values(), strict=True)) for codes in joint.codes)
        assert dict(zip(told, joint.n.tolist(), strict=True)) == expected


def test_what_is_no_label_is_refused():
    counts = writer.LabelCounter(TableSpec("data", (SPEC.columns[0],), ("sex",)))

    for column in (pa.array(["f", "x"]), pa.array(["x"]).dictionary_encode(), pa.array([None], pa.string())):
        with pytest.raises(ValueError, match="outside its labels"):
            counts.add(pa.record_batch([column], names=["sex"]), np.ones(len(column), dtype=np.int64))
