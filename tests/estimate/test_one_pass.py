"""Several one-way counts in one pass are those of a pass each, whatever the form of the file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from rrpolicy.bundle.tables.writer import LabelCounter
from rrpolicy.channels.table import TableSpec
from rrpolicy.engine.connect import query_connection
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.counts import scan
from rrpolicy.estimate.opening import open_release

ROWS = {
    "a": ["x", "", "", "é 'x'", "x", "x"],
    "b": [1, 2, 2, 2, 1, 2],
    "c": ["x", "x", "y", "y", "y", "y"],
}


@pytest.mark.parametrize("form", ["parquet", "csv", "duckdb"])
def test_counts_in_one_pass_are_those_of_a_pass_each(
    publish: Any, made: Any, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes = [
        made.retention("a", ["é 'x'", "", "x", "never"], [((0, 1, 2, 3), "1/2")]),
        made.identity("b", [2, 1]),
        made.matrix("c", ["x", "y"], ["x", "y", "z"], [["1", "0", "1/2"], ["0", "1", "1/2"]]),
    ]
    release = open_release(publish(axes, ROWS, form))
    wanted = [release.columns.axes[name] for name in ROWS]
    each = []
    for axis in wanted:
        counts = np.zeros(axis.counted, dtype=np.int64)
        (codes,), n = scan.count(release.data, [axis])
        counts[codes] = n
        each.append(counts.tolist())
    asked = []
    monkeypatch.setattr(scan, "query_connection", lambda **options: asked.append(1) or query_connection(**options))

    found = scan.count_each(release.data, wanted)

    assert [counts.tolist() for counts in found] == each == [[1, 2, 3, 0], [4, 2], [2, 4]]
    assert len(asked) == 1
    assert scan.count_each(release.data, []) == []


@pytest.mark.parametrize("form", ["parquet", "csv", "duckdb"])
def test_a_value_outside_the_domain_is_refused(publish: Any, made: Any, form: str) -> None:
    axes = [made.identity("a", ["x", ""]), made.identity("b", [1, 2]), made.identity("c", ["x", "y"])]
    release = open_release(publish(axes, ROWS, form))

    with pytest.raises(PolicyError, match="RR269.*'a' contains a value outside its domain"):
        scan.count_each(release.data, [release.columns.axes[name] for name in ROWS])


def test_what_was_counted_together_tells_each_coarser_table_without_another_pass(
    publish: Any, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes = [made.identity("a", ["x", "", "é 'x'"]), made.identity("b", [2, 1]), made.identity("c", ["x", "y"])]
    path = publish(axes, ROWS, "parquet")
    wanted = (["a"], ["c", "a"], ["b"], [], ["c", "b", "a"])
    asked = []
    monkeypatch.setattr(scan, "query_connection", lambda **options: asked.append(1) or query_connection(**options))

    def cells(release: Any, names: list[str], *condition: Any) -> dict[tuple[int, ...], int]:
        codes, n = scan.count(release.data, [release.columns.axes[name] for name in names], *condition)
        return {tuple(int(c[i]) for c in codes): int(n[i]) for i in range(len(n))}

    alone = [cells(open_release(path), names) for names in wanted]
    assert len(asked) == len(wanted)
    release = open_release(path)
    whole = cells(release, ["a", "b", "c"])
    assert [cells(release, names) for names in wanted] == alone
    assert len(asked) == len(wanted) + 1
    assert sum(whole.values()) == 6

    assert cells(release, ["a"], "c = ?", ["x"]) == {(0,): 1, (1,): 1}
    assert cells(release, ["a"], "c = ?", ["y"]) == {(0,): 2, (1,): 1, (2,): 1}
    assert len(asked) == len(wanted) + 3


def test_what_whoever_wrote_it_counted_is_not_counted_again(
    publish: Any, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes = [
        made.identity("a", ["x", "", "é 'x'"]),
        made.identity("b", [2, 1]),
        made.matrix("c", ["x", "y"], ["x", "y", "z"], [["1", "0", "1/2"], ["0", "1", "1/2"]]),
    ]
    path = publish(axes, ROWS, "parquet")
    apart, release = open_release(path), open_release(path)
    columns = [next(c for c in release.data.columns if c.name == name) for name in ("c", "a", "b")]
    labels = LabelCounter(TableSpec("data", tuple(columns), ()))
    labels.add(pa.record_batch([pa.array(ROWS[c.name]) for c in columns], names=["c", "a", "b"]), np.ones(6, np.int64))
    joint = labels.joint()
    assert joint is not None
    scan.prime_cache(release.data, list(release.columns.axes.values()), joint)

    for names in (["a", "c"], ["b"], ["c", "b", "a"]):
        codes, n = scan.count(apart.data, [apart.columns.axes[name] for name in names])
        with monkeypatch.context() as patch:
            patch.delattr(scan, "query_connection")
            found, m = scan.count(release.data, [release.columns.axes[name] for name in names])
        assert [c.tolist() for c in found] == [c.tolist() for c in codes]
        assert m.tolist() == n.tolist()
