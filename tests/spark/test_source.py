"""Tables that Spark reads give the bytes that the engine of our own gives, and are held to the state they are in."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rrpolicy
from rrpolicy.errors import DataError, RefusedError
from rrpolicy.policy.model import Attribute, Reading, Selection
from rrpolicy.source.duckdb.source import DuckDBSource
from rrpolicy.source.opening import open_table_snapshot
from rrpolicy_spark.source import ParquetSource, TableSource
from tests.exports.conftest import Case, people, public_bytes
from tests.exports.test_counts_in import MECHANISMS
from tests.exports.test_sql import KINDS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rrpolicy.source.protocol import Snapshot

NUMBERS = pa.table({"x": pa.array(range(1_000_000), pa.int64())})


@pytest.mark.slow
def test_a_release_is_the_same_whoever_reads_the_table(spark: SparkSession, case: Case) -> None:
    policy, key = case.policy(MECHANISMS["addition"], carried=True), case.path("key")
    ours = rrpolicy.release(policy, case.path("ours"), key=key)

    theirs = rrpolicy.release(policy, case.path("theirs"), source=f"spark-parquet:{case.path('people')}", key=key)

    assert public_bytes(theirs.bundle) == public_bytes(ours.bundle)
    found = [
        rrpolicy.verify(theirs.bundle, source=table, key=key)
        for table in (case.path("people.parquet"), f"spark-parquet:{case.path('people')}")
    ]
    assert found[0] == found[1]
    assert found[0].passed


@pytest.mark.slow
def test_every_kind_of_column_is_read_as_it_is(spark: SparkSession, tmp_path: Path) -> None:
    columns = {f"x{i}": made for i, made in enumerate(KINDS.values()) if not pa.types.is_time(made[1])}
    rows = math.lcm(*range(1, 9))
    attributes, arrays, codes = [], [], {}
    for name, (attribute, kind, values) in columns.items():
        attributes.append(renamed(attribute, name))
        arrays.append(pa.array([values[i % len(values)] for i in range(rows)], kind))
        codes[name] = attribute.missing or ()
    (tmp_path / "table").mkdir()
    pq.write_table(pa.table(arrays, names=list(columns)), tmp_path / "table" / "one.parquet")
    reading = Reading(of={name: tuple(found) for name, found in codes.items() if found})
    found = []
    for source, uri in ((DuckDBSource(), "table/one.parquet"), (ParquetSource(), "spark-parquet:table")):
        place = uri.partition("table")
        with source.open(f"{place[0]}{tmp_path / 'table'}{place[2]}", None, scratch(tmp_path, uri), reading) as table:
            found.append(told(table, attributes))

    assert found[0] == found[1]


def test_a_weight_is_rounded_as_our_engine_rounds_it(spark: SparkSession, tmp_path: Path) -> None:
    weights = [0.0, 0.1, 1.0, 1.25, 2.5, 3.75, 6.2499999, -1.0, math.inf, None, 1e300]
    (tmp_path / "table").mkdir()
    pq.write_table(pa.table({"w": weights, "whole": range(11)}), tmp_path / "table" / "one.parquet")
    reading = Reading(rounding={"w": 2.5, "whole": 3.0})
    found = []
    for source, uri in ((DuckDBSource(), "table/one.parquet"), (ParquetSource(), "spark-parquet:table")):
        place = uri.partition("table")
        with source.open(f"{place[0]}{tmp_path / 'table'}{place[2]}", None, scratch(tmp_path, uri), reading) as table:
            found.append((dict(table.columns()), table.rows([], ["w", "whole"]).read_all().to_pydict()))

    assert found[0] == found[1]
    assert found[0][1]["w"] == [-1.0, 0.0, 2.5, 2.5, 2.5, 2.5, 5.0, 5.0, 1e300, math.inf, None]
    assert sorted(found[0][1]["whole"]) == [0, 3, 3, 3, 3, 6, 6, 6, 9, 9, 9]


def renamed(attribute: Attribute, name: str) -> Attribute:
    from rrpolicy.frozen import replace

    return replace(attribute, name=name, release_as=name, missing=None)


def told(table: Snapshot, attributes: list[Attribute]) -> dict[str, Any]:
    """Return all that a snapshot says of its columns."""
    known = [a for a in attributes if not a.observed]
    as_they_are = [a.name for a in attributes if a.observed]
    return {
        "columns": table.columns(),
        "records": table.records(),
        "types": [table.released_type(a) for a in attributes],
        "distinct": [table.distinct(a, 50) for a in attributes if a.observed],
        "tally": table.tally(known, as_they_are).read_all().to_pydict(),
        "rows": table.rows(known[:3], as_they_are).read_all().to_pydict(),
    }


def scratch(folder: Path, name: str) -> Path:
    made = folder / f"scratch-{name.partition(':')[0].partition('/')[0]}"
    made.mkdir()
    return made


@pytest.mark.slow
def test_a_table_of_a_catalog_is_read_and_its_units_are_counted(spark: SparkSession, case: Case) -> None:
    policy, key = case.policy(MECHANISMS["pram"], source='unit = "person_id"'), case.path("key")
    spark.sql("CREATE DATABASE IF NOT EXISTS survey")
    spark.read.parquet(str(case.path("people"))).write.mode("overwrite").saveAsTable("survey.people")
    ours = rrpolicy.release(policy, case.path("ours"), key=key)

    theirs = rrpolicy.release(policy, case.path("theirs"), source="spark:survey.people", key=key)

    assert public_bytes(theirs.bundle) == public_bytes(ours.bundle)
    spark.sql("INSERT INTO survey.people SELECT * FROM survey.people LIMIT 5")
    with pytest.raises(DataError, match="'person_id' distinguishes 700 units in 705 records: 5 exceed 1 a unit"):
        rrpolicy.plan(policy, source="spark:survey.people")


@pytest.mark.slow
def test_units_without_a_value_are_those_that_our_engine_finds(spark: SparkSession, tmp_path: Path) -> None:
    values = ["a", "b", "b", "NA", "99", "99.0", None, "c", "99x"]
    (tmp_path / "table").mkdir()
    pq.write_table(pa.table({"who": values}), tmp_path / "table" / "one.parquet")
    reading = Reading(missing=("NA", 99))
    found = []
    for source, uri in ((DuckDBSource(), "table/one.parquet"), (ParquetSource(), "spark-parquet:table")):
        place = uri.partition("table")
        with source.open(f"{place[0]}{tmp_path / 'table'}{place[2]}", None, scratch(tmp_path, uri), reading) as table:
            found.append(table.units("who"))

    assert found[0] == found[1]
    assert (found[1].sizes, found[1].missing) == ({1: 3, 2: 1}, 4)


@pytest.mark.slow
def test_a_table_that_changes_is_refused(spark: SparkSession, case: Case, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    folder = case.path("people")
    with ParquetSource().open(f"spark-parquet:{folder}", None, tmp_path / "scratch") as table:
        pq.write_table(people().slice(0, 1), folder / "c.parquet")
        for read in (table.unchanged, lambda: table.units("person_id"), lambda: table.tally([], ["sex"])):
            with pytest.raises(RefusedError, match="RR410: 'people': the table changed after it was opened"):
                read()
    with ParquetSource().open(f"spark-parquet:{folder}", None, tmp_path / "scratch") as table:
        pq.write_table(people().slice(1, 1), folder / "c.parquet")
        with pytest.raises(RefusedError, match="RR410"):
            table.unchanged()


@pytest.mark.slow
def test_files_elsewhere_and_tables_that_are_gone_are_held_to_their_state(
    spark: SparkSession, case: Case, tmp_path: Path
) -> None:
    """Hadoop's view file system gives a folder of this computer an address of another scheme."""
    (tmp_path / "scratch").mkdir()
    conf: Any = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set("fs.viewfs.mounttable.office.link./people", case.path("people").as_uri())
    with ParquetSource().open("spark-parquet:viewfs://office/people", None, tmp_path / "scratch") as table:
        assert table.records() == 700
        table.unchanged()
        pq.write_table(people().slice(0, 1), case.path("people") / "c.parquet")
        with pytest.raises(RefusedError, match="RR410"):
            table.unchanged()
    spark.range(5).write.mode("overwrite").saveAsTable("gone")
    with TableSource().open("spark:gone", None, tmp_path / "scratch") as table:
        assert table.records() == 5
        spark.sql("DROP TABLE gone")
        with pytest.raises(RefusedError, match="RR410: 'gone': the table changed after it was opened"):
            table.unchanged()


@pytest.mark.slow
def test_what_spark_cannot_read_or_hold_is_refused(spark: SparkSession, case: Case, tmp_path: Path) -> None:
    (tmp_path / "scratch").mkdir()
    (tmp_path / "large").mkdir()
    pq.write_table(NUMBERS, tmp_path / "large" / "one.parquet")
    spark.range(3).createOrReplaceTempView("numbers")
    spark.sql(f"CREATE OR REPLACE TEMP VIEW drawn AS SELECT *, rand() AS r FROM parquet.`{case.path('people')}`")
    whole = spark.read.parquet(str(case.path("people")))
    whole.createOrReplaceTempView("whole")

    def refused(source: Any, uri: str, table: str | None = None) -> str:
        with pytest.raises(DataError) as caught, source.open(uri, table, tmp_path / "scratch"):
            pass
        return str(caught.value)

    assert "RR300: 'nowhere': no such folder" in refused(ParquetSource(), f"spark-parquet:{tmp_path}/nowhere")
    assert "RR306" in refused(TableSource(), "spark:people", "people")
    assert "RR356: 'nowhere.x': Spark cannot read it (TABLE_OR_VIEW_NOT_FOUND)" in refused(
        TableSource(), "spark:nowhere.x"
    )
    for view in ("numbers", "drawn"):
        assert f"RR358: '{view}': it is unknown whether it changes" in refused(TableSource(), f"spark:{view}")
    with TableSource().open("spark:whole", None, tmp_path / "scratch") as table:
        assert table.records() == 700
    with ParquetSource().open(f"spark-parquet:{tmp_path}/large", None, tmp_path / "scratch") as table:
        with pytest.raises(DataError, match="RR357: 'large': its distinct combinations are more than the driver takes"):
            table.tally([], ["x"])
        assert table.records() == len(NUMBERS)


@pytest.mark.slow
def test_the_folder_of_a_delta_table_is_not_read_as_its_files(case: Case) -> None:
    (case.path("people") / "_delta_log").mkdir()

    with pytest.raises(
        DataError, match="RR358: 'people': the files of the Delta table 'people' hold removed rows as well"
    ):
        rrpolicy.plan(case.policy(MECHANISMS["pram"]), source=f"spark-parquet:{case.path('people')}")


def test_the_statements_for_spark_run_on_spark(spark: SparkSession, case: Case) -> None:
    policy, key = case.policy(MECHANISMS["addition"], source='unit = "person_id"'), case.path("key")
    spark.read.parquet(str(case.path("people"))).createOrReplaceTempView("people")
    said = rrpolicy.sql(policy, "spark", table="people")
    ours = rrpolicy.release(policy, case.path("ours"), key=key)

    pq.write_table(spark.sql(said.counts.rstrip(";")).toArrow(), case.path("counted.parquet"))

    counts = rrpolicy.counted(case.path("counted.parquet"), said.multiplicity)
    theirs = rrpolicy.release(policy, case.path("theirs"), source=counts, key=key)
    assert public_bytes(theirs.bundle) == public_bytes(ours.bundle)
    assert spark.sql((said.units or "").rstrip(";")).toArrow().to_pylist() == [
        {"units": 700, "most_records": 1, "records_too_many": 0, "records_without_unit": 0}
    ]
    (data,) = (ours.bundle / "public").rglob("data*.parquet")
    released = spark.read.parquet(str(data))
    released.groupBy(*released.columns).count().withColumnRenamed("count", said.multiplicity).createOrReplaceTempView(
        "people"
    )
    again = spark.sql(said.expansion.rstrip(";"))
    assert sorted(map(str, again.collect())) == sorted(map(str, released.select(*again.columns).collect()))


def test_without_spark_its_tables_are_refused_and_nothing_else_is(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = case.policy(MECHANISMS["pram"])
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(DataError) as caught:
        rrpolicy.plan(policy, source="spark:people")

    assert "RR355: Spark is not installed, and this table is read by it" in str(caught.value)
    assert "pip install 'pyspark" in str(caught.value)
    assert rrpolicy.plan(policy).records == 700


def test_without_java_spark_says_what_it_needs(case: Case) -> None:
    policy = case.policy(MECHANISMS["pram"])
    command = [
        str(Path(sys.executable).parent / "rrpolicy"),
        "plan",
        str(policy),
        "--source",
        f"spark-parquet:{case.path('people')}",
    ]
    known = {k: v for k, v in os.environ.items() if k != "JAVA_HOME"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**known, "JAVA_HOME": "/nowhere"})

    assert done.returncode == 3
    assert "RR355" in done.stderr
    assert "Java 17 or later" in done.stderr


@pytest.mark.slow
def test_a_selection_of_records_is_refused_and_never_ignored(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "table").mkdir()
    pq.write_table(pa.table({"who": ["a", "a", "b"], "day": [1, 2, 1]}), tmp_path / "table" / "one.parquet")
    reading, uri = Reading(selection=Selection("who", "day")), f"spark-parquet:{tmp_path / 'table'}"

    with (
        pytest.raises(DataError, match="RR330"),
        open_table_snapshot(ParquetSource(), uri, None, tmp_path / "scratch", reading),
    ):
        pass
