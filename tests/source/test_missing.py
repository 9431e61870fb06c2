"""Codes of missing values are nulls, in every kind of table and column; dates and times have domains and bins."""

from __future__ import annotations

import datetime as dt
import decimal
import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from rrpolicy.error_codes import page
from rrpolicy.errors import DataError
from rrpolicy.policy.model import Bins, CsvSettings

from .conftest import carried, qi

D, T = dt.date, dt.datetime


def codes_of(original, name):
    return original.counts(name).dense().tolist()


@pytest.mark.parametrize(
    ("values", "missing", "domain"),
    [
        ([1, 2, 99, None], (99,), (1, 2)),
        ([1, 2, -9, None], ("-9", "NA"), (1, 2)),
        ([1.5, 2.5, 99.0, None], (99,), (1.5, 2.5)),
        (["a", "b", "NA", None], ("NA", 99), ("a", "b")),
        (["a", "b", "", None], ("",), ("a", "b")),
        (["1", "2", "99.0", None], (99,), ("1", "2")),
        (["a", "b", "it's", None], ("it's",), ("a", "b")),
        ([D(2020, 1, 1), D(2021, 1, 1), D(1900, 1, 1), None], ("1900-01-01", "NA"), ("2020-01-01", "2021-01-01")),
        ([decimal.Decimal("1.50"), decimal.Decimal("2.00"), decimal.Decimal("9.99"), None], (9.99,), (1.5, 2.0)),
        (pa.array(["a", "b", "NA", None]).dictionary_encode(), ("NA", "?"), ("a", "b")),
    ],
)
def test_a_code_is_a_null(values, missing, domain, opened, parquet):
    path = parquet({"a": values, "b": ["x"] * 4})
    with opened(path, qi("a", *domain, "none", nulls="none"), qi("b", "x"), missing=missing) as original:
        assert codes_of(original, "a") == [1, 1, 2]
        assert codes_of(original, "b") == [4]
    with opened(path, qi("a", *domain, "none", nulls="none", missing=missing), qi("b", "x"), missing=(2, "a")) as own:
        assert codes_of(own, "a") == [1, 1, 2]


def test_an_enum_of_a_database_may_hold_codes(opened, tmp_path):
    with duckdb.connect(str(tmp_path / "t.duckdb")) as made:
        made.execute("CREATE TYPE e AS ENUM ('a', 'b', 'NA'); CREATE TABLE t (a e)")
        made.execute("INSERT INTO t VALUES ('a'), ('b'), ('NA'), (NULL)")
    for codes in (("NA",), ("NA", "?", 99)):
        with opened(tmp_path / "t.duckdb", qi("a", "a", "b", "none", nulls="none"), missing=codes) as original:
            assert codes_of(original, "a") == [1, 1, 2]


def test_a_column_may_have_none_of_the_codes_of_the_table(opened, parquet):
    path = parquet({"a": ["NA", "x"], "b": ["NA", "x"]})
    with opened(path, qi("a", "NA", "x", missing=()), qi("b", "x", "none", nulls="none"), missing=("NA",)) as original:
        assert codes_of(original, "a") == [1, 1]
        assert codes_of(original, "b") == [1, 1]


def test_numbers_beside_codes_are_numbers(opened, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n10,NA\n20,3\ns/d,4\n,99\n")
    bins = Bins((0.0, 15.0, float("inf")), ("low", "high"))
    with opened(
        tmp_path / "t.csv",
        qi("a", "low", "high", "none", bins=bins, nulls="none"),
        qi("b", 3, 4, "none", nulls="none", missing=("NA", 99)),
        missing=("NA", "s/d"),
    ) as original:
        assert original.snapshot.columns() == {"a": "BIGINT", "b": "BIGINT"}
        assert codes_of(original, "a") == [1, 1, 2]
        assert codes_of(original, "b") == [1, 1, 2]


def test_a_carried_column_has_nulls_for_codes(opened, parquet):
    path = parquet({"a": [1, 1, 99, 99]})
    kept = carried("a", assume_unlinkable="a test", nulls="keep")
    with opened(path, kept, missing=(99,)) as original:
        assert original.sample("a").column("a").null_count == 2


@pytest.mark.parametrize("domain", [(10, 20), None])
def test_text_among_numbers_is_counted(domain, opened, tmp_path):
    (tmp_path / "t.csv").write_text("a\n" + "10\n20\n" * 5 + "s/d\nNA\n")
    bins = None if domain else Bins((0.0, 50.0), ("all",))
    with (
        pytest.raises(DataError, match="2 records contain text that spells no number in 'a'") as caught,
        opened(tmp_path / "t.csv", qi("a", *(domain or ("all",)), bins=bins)),
    ):
        pass
    assert caught.value.problems[0].code == "RR312"
    assert "s/d" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "csv", "hint"),
    [
        ("1.5\n2\n", {"decimal": ","}, '`decimal = "."` under [source.csv] if 1 have a decimal point'),
        ('"1,5"\n2\n', {}, '`decimal = ","` under [source.csv] if 1 have a decimal comma'),
        ('"1,5"\n"2,5"\n', {}, '`decimal = ","` under [source.csv] if 2 have a decimal comma'),
        (
            '"1,5"\n2\nNA\n',
            {},
            "1 have a decimal comma; list the codes of missing values: `missing = [\"NA\"]` of 'a' or under [source]",
        ),
        ("1.5\n2\nNA\n", {}, "list the codes of missing values: `missing = [\"NA\"]` of 'a' or under [source]"),
    ],
)
def test_numbers_with_the_other_decimal_separator_are_told_from_text(text, csv, hint, opened, tmp_path):
    (tmp_path / "t.csv").write_text("a\n" + text)
    for attribute in (qi("a", 1.5, 2), qi("a", "all", bins=Bins((0.0, 50.0), ("all",)))):
        with pytest.raises(DataError) as caught, opened(tmp_path / "t.csv", attribute, csv=CsvSettings(**csv)):
            pass
        (found,) = caught.value.problems
        assert found.code == "RR312"
        assert found.hint.endswith(hint)


DAYS = [D(2019, 12, 31), D(2020, 1, 1), D(2020, 12, 31), D(2021, 1, 1), D(2021, 1, 2), None]
BINNED = Bins(("2020-01-01", "2020-07-01", "2021-01-01"), ("first", "second"))


@pytest.mark.parametrize("form", ["parquet", "csv", "duckdb", "moments"])
def test_bins_of_dates_are_half_open_and_the_last_one_closed(form, opened, parquet, tmp_path):
    path = tmp_path / f"t.{form}"
    if form == "csv":
        path.write_text("a\n" + "\n".join(str(d or '""') for d in DAYS) + "\n")
    elif form == "duckdb":
        with duckdb.connect(str(path)) as made:
            made.execute("CREATE TABLE t (a DATE)")
            made.executemany("INSERT INTO t VALUES (?)", [[d] for d in DAYS])
    elif form == "moments":
        path = parquet({"a": [None if d is None else T(d.year, d.month, d.day) for d in DAYS]})
    else:
        path = parquet({"a": DAYS})
    bins = qi("a", "first", "second", "outside", "none", bins=BINNED, outside="outside", nulls="none")
    with opened(path, bins) as original:
        assert codes_of(original, "a") == [1, 2, 2, 1]


def test_bins_of_dates_may_have_no_ends(opened, parquet):
    bins = Bins((float("-inf"), "2020-01-01", float("inf")), ("before", "after"))
    with opened(parquet({"a": DAYS[:5]}), qi("a", "before", "after", bins=bins)) as original:
        assert codes_of(original, "a") == [1, 4]


@pytest.mark.parametrize("size", [2, 100])
@pytest.mark.parametrize(
    ("kind", "start"),
    [
        (pa.date32(), D(2020, 1, 1)),
        (pa.timestamp("us"), T(2020, 1, 1, 8)),
        (pa.timestamp("ns"), T(2020, 1, 1, 8, 0, 0, 500_000)),
        (pa.timestamp("s"), T(2020, 1, 1, 8)),
    ],
)
def test_dates_and_times_may_be_categories(kind, start, size, opened, parquet):
    values = [start + i * dt.timedelta(days=1) for i in range(size)]
    path = parquet({"a": pa.array([*values, values[0], None], kind)})
    spelled = [v.isoformat(sep=" ") if isinstance(v, T) else str(v) for v in values]
    with opened(path, qi("a", *spelled, "none", nulls="none")) as original:
        assert codes_of(original, "a") == [2, *[1] * (size - 1), 1]
        assert original.types == {"a": "VARCHAR"}
    with opened(path, qi("a", nulls="none")) as original:
        assert codes_of(original, "a") == [2, *[1] * (size - 1), 1]
        assert len(original.policy.attributes["a"].domain) == size + 1


def test_two_spellings_of_one_moment_are_refused(opened, parquet):
    with (
        pytest.raises(DataError, match="two categories of 'a' are one TIMESTAMP"),
        opened(parquet({"a": [T(2020, 1, 1)]}), qi("a", "2020-01-01 00:00:00", "2020-01-01T00:00:00")),
    ):
        pass


def test_dates_of_another_spelling_are_read_after_the_statement_of_the_page(opened, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("birth,sex\n" + "01.02.2020,f\n31.12.2020,m\n,f\n" * 3)
    attributes = qi("birth", "first", "second", "none", nulls="none", bins=BINNED), qi("sex", "f", "m")
    with pytest.raises(DataError) as caught, opened(tmp_path / "people.csv", *attributes):
        pass
    (problem,) = caught.value.problems
    assert problem.code == "RR312"
    assert problem.hint is not None
    assert "`strptime(\"birth\", '%d.%m.%Y')::DATE`" in problem.hint

    (statement,) = re.findall(r"```sql\n(.*?)```", page("RR312"), re.DOTALL)
    duckdb.sql(statement)
    with opened(tmp_path / "people.parquet", *attributes) as original:
        assert codes_of(original, "birth") == [3, 3, 3]


def test_bins_of_dates_need_dates(opened, parquet):
    needed = "bins need dates or times"
    for values, told in (
        (["2020-01-01"], needed),
        ([2020], needed),
        ([dt.time(8)], "is not a value of its column, which is TIME"),
    ):
        with (
            pytest.raises(DataError, match=told),
            opened(parquet({"a": values}), qi("a", "first", "second", bins=BINNED)),
        ):
            pass
