"""One state from opening to the last read, or a refusal."""

from __future__ import annotations

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rrpolicy.errors import RefusedError
from rrpolicy.source.duckdb.files import pin

from .conftest import carried, qi


def _refused(action) -> str:
    with pytest.raises(RefusedError) as caught:
        action()
    return caught.value.problems[0].code


def test_a_rewritten_file_is_noticed_by_every_read(opened, parquet):
    path = parquet({"a": ["x", "y"], "c": [1, 1]})
    for ask in (
        lambda o: o.unchanged(),
        lambda o: list(o.rows("a", "c")),
        lambda o: o.content(),
        lambda o: o.snapshot.distinct(qi("a"), 5),
        lambda o: o.snapshot.tally([qi("a", "x", "y")]).read_all(),
    ):
        with opened(path, qi("a", "x", "y"), carried("c")) as original:
            original.unchanged()
            pq.write_table(pa.table({"a": ["x", "x"], "c": [1, 1]}), path)
            assert _refused(lambda ask=ask, original=original: ask(original)) == "RR410"


def test_a_change_while_rows_are_read_is_noticed_at_their_end(opened, parquet):
    path = parquet({"a": ["x", "y"] * 1000, "c": [1, 2] * 1000})
    with opened(path, qi("a", "x", "y"), carried("c")) as original:
        rows = original.rows("a", "c")
        next(rows)
        os.utime(path, ns=(1, 1))

        assert _refused(lambda: list(rows)) == "RR410"


def test_a_file_of_equal_content_in_its_place_is_another_file(opened, parquet, tmp_path):
    path = parquet({"a": ["x"]})
    with opened(path, qi("a", "x")) as original:
        stat = path.stat()
        copy = tmp_path / "copy"
        copy.write_bytes(path.read_bytes())
        os.utime(copy, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        copy.rename(path)

        assert _refused(original.unchanged) == "RR410"


def test_files_that_come_and_go_change_a_glob(opened, parquet, tmp_path):
    parquet({"a": ["x"]}, "p1.parquet")
    parquet({"a": ["x"]}, "p2.parquet")
    with opened(tmp_path / "p*.parquet", qi("a", "x")) as original:
        added = parquet({"a": ["x"]}, "p3.parquet")
        assert _refused(original.unchanged) == "RR410"
        added.unlink()
        original.unchanged()
        (tmp_path / "p2.parquet").unlink()
        assert _refused(original.unchanged) == "RR410"


def test_a_link_is_followed_to_the_file_it_names(opened, parquet, tmp_path):
    first, second = parquet({"a": ["x"]}, "one.parquet"), parquet({"a": ["x"]}, "two.parquet")
    link = tmp_path / "current.parquet"
    link.symlink_to(first)
    with opened(link, qi("a", "x")) as original:
        assert original.records == 1
        link.unlink()
        link.symlink_to(second)
        assert _refused(original.unchanged) == "RR410"


def test_a_database_is_pinned_with_its_log(database):
    path = database("CREATE TABLE t AS SELECT 'x' AS a")
    pinned = pin(str(path), (".wal",))
    pinned.unchanged()
    path.with_name(path.name + ".wal").write_bytes(b"")

    assert _refused(pinned.unchanged) == "RR410"


def test_counts_that_are_known_already_stay_known(opened, parquet):
    path = parquet({"a": ["x", "y"]})
    with opened(path, qi("a", "x", "y")) as original:
        path.unlink()

        assert original.counts("a").n.tolist() == [1, 1]
        assert _refused(original.unchanged) == "RR410"
