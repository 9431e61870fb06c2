"""Whose the records are: counted exactly in every engine and type, and refused without telling a value."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rrpolicy.declarations import Role
from rrpolicy.drafting.demo.source import DemoSource
from rrpolicy.errors import DataError
from rrpolicy.frozen import replace
from rrpolicy.policy.model import Policy
from rrpolicy.source.duckdb import snapshot as snapshots
from rrpolicy.source.duckdb.source import DuckDBSource
from rrpolicy.source.opening import open_original
from rrpolicy.source.units import Units, count_units

from .conftest import dropped, policy_at, qi

TYPES: dict[str, tuple[st.SearchStrategy[Any], pa.DataType]] = {
    "text": (st.sampled_from(["", "a", "A", "é", "e\u0301", "x" * 30, "\0"]), pa.string()),
    "whole": (st.integers(-3, 3), pa.int64()),
    "real": (st.sampled_from([0.0, -0.0, 1.5, math.inf, math.nan]), pa.float64()),
    "date": (st.sampled_from([date(2020, 1, 1), date(2020, 1, 2)]), pa.date32()),
    "bytes": (st.sampled_from([b"", b"a", b"b"]), pa.binary()),
}


def counted(values: list[Any]) -> Units:
    """Return the units of a column by definition; there is no negative zero, and NaN is no value."""
    missing = [v for v in values if v is None or (isinstance(v, float) and math.isnan(v))]
    sizes = Counter(v + 0 if isinstance(v, float) else v for v in values if v not in missing)
    return Units(dict(Counter(sizes.values())), len(missing))


@pytest.mark.slow
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.sampled_from(sorted(TYPES)), st.sampled_from([1, 4, 1 << 23]))
def test_units_are_counted_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data, kind, texts) -> None:
    monkeypatch.setattr(snapshots, "TEXTS", texts)
    values, arrow = TYPES[kind]
    column = data.draw(st.lists(st.none() | values, min_size=1, max_size=12))
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table({"id": pa.array(column, arrow)}), path)

    with DuckDBSource().open(f"parquet:{path}", None, tmp_path) as snapshot:
        found = snapshot.units("id")

    assert (dict(sorted(found.sizes.items())), found.missing) == (
        dict(sorted(counted(column).sizes.items())),
        counted(column).missing,
    )


def test_many_units_of_texts_are_counted_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "TEXTS", 500)
    path = tmp_path / "table.parquet"
    for copies in (1, 2):
        pq.write_table(pa.table({"id": [f"person {i // copies}" for i in range(6000)]}), path)
        with DuckDBSource().open(f"parquet:{path}", None, tmp_path) as snapshot:
            assert snapshot.units("id") == Units({copies: 6000 // copies}, 0)


def visits(uri: object, *, unit: str | None = None, most: int = 1) -> Policy:
    policy = policy_at(uri, dropped("id"), dropped("house", Role.EXCLUDED), qi("sex", "f", "m"))
    return replace(policy, source=replace(policy.source, unit=unit, max_records=most))


def refusal(policy: Policy, tmp_path: Path) -> tuple[str, str]:
    with pytest.raises(DataError) as caught, open_original(policy, {".csv": DuckDBSource()}, tmp_path / "scratch"):
        pass
    (problem,) = caught.value.problems
    text = f"{problem.message} {problem.hint}"
    assert "SECRET" not in text
    return problem.code, problem.message


def written(tmp_path: Path, ids: list[str], houses: list[str] | None = None) -> Path:
    path = tmp_path / "visits.csv"
    rows = zip(ids, houses or ids, strict=True)
    path.write_text("id,house,sex\n" + "".join(f"{i},{h},f\n" for i, h in rows))
    return path


def test_duplicates_are_refused_with_how_many_and_no_value(tmp_path: Path) -> None:
    path = written(tmp_path, ["SECRET1", "SECRET1", "SECRET1", "SECRET2", "SECRET2", "SECRET3"])

    code, message = refusal(visits(path), tmp_path)
    assert code == "RR323"
    assert message == "'id' distinguishes 3 units in 6 records: 3 exceed 1 a unit"
    code, message = refusal(visits(path, most=2), tmp_path)
    assert (code, message) == ("RR323", "'id' distinguishes 3 units in 6 records: 1 exceeds 2 a unit")
    with open_original(visits(path, most=3), {".csv": DuckDBSource()}, tmp_path / "scratch") as original:
        assert original.units == Units({1: 1, 2: 1, 3: 1})


def test_another_column_may_tell_units_apart(tmp_path: Path) -> None:
    path = written(tmp_path, ["a", "b", "c"], ["SECRET1", "SECRET1", "SECRET2"])

    with open_original(visits(path), {".csv": DuckDBSource()}, tmp_path / "scratch") as original:
        assert original.units == Units({1: 3})
    assert refusal(visits(path, unit="house"), tmp_path)[0] == "RR323"
    assert refusal(visits(path, unit="home"), tmp_path)[0] == "RR325"


def test_records_without_a_unit_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, ["a", "", "c"])
    assert refusal(visits(path), tmp_path) == (
        "RR324",
        "1 record has no 'id', the column that identifies units of protection",
    )
    path = written(tmp_path, ["a", "n/a", "n/a"])
    policy = visits(path)
    coded = replace(policy, source=replace(policy.source, missing=("n/a",)))
    assert refusal(policy, tmp_path)[0] == "RR323"
    assert refusal(coded, tmp_path)[0] == "RR324"


def test_of_no_identifier_and_of_several_nothing_is_known(tmp_path: Path) -> None:
    path = written(tmp_path, ["a", "a", "a"])
    both = policy_at(path, dropped("id"), dropped("house"), qi("sex", "f", "m"))
    neither = policy_at(path, dropped("id", Role.EXCLUDED), dropped("house", Role.EXCLUDED), qi("sex", "f", "m"))

    for policy in (both, neither):
        with open_original(policy, {".csv": DuckDBSource()}, tmp_path / "scratch") as original:
            assert original.units is None


class Older:
    """An engine of before there was `Snapshot.units`."""

    schemes = (".csv",)

    @contextmanager
    def open(self, uri: str, table: str | None, scratch: Path, *rest: Any) -> Iterator[Any]:
        with DuckDBSource().open(uri, table, scratch, *rest) as snapshot:
            names = ("columns", "records", "released_type", "distinct", "tally", "rows", "unchanged")
            yield SimpleNamespace(**{name: getattr(snapshot, name) for name in names})


def test_an_engine_that_does_not_count_units_leaves_it_undecided(tmp_path: Path) -> None:
    path = written(tmp_path, ["a", "a", "a"])
    with open_original(visits(path), {".csv": Older()}, tmp_path / "scratch") as original:
        assert original.units is None


def test_the_refusal_is_the_same_for_neighbours(tmp_path: Path) -> None:
    """Neighbours differ in one record's values, not in whose the records are: both pass, or neither."""
    for ids in (["a", "b", "c"], ["a", "b", "b"]):
        outcomes = set()
        for last in ("f", "m"):
            path = written(tmp_path, ids)
            path.write_text(path.read_text()[:-2] + f"{last}\n")
            try:
                with open_original(visits(path), {".csv": DuckDBSource()}, tmp_path / "scratch") as original:
                    outcomes.add(original.units == Units({1: 3}))
            except DataError as error:
                outcomes.add(error.problems[0].code)
        assert len(outcomes) == 1


def test_the_demo_table_has_one_record_a_person(tmp_path: Path) -> None:
    with DemoSource().open("demo:survey?records=500", None, tmp_path) as snapshot:
        policy = policy_at("demo:survey", dropped("person_id"))
        assert count_units(policy, snapshot) == Units({1: 500})
