"""What `sql` writes for Databricks is run by Spark, whose SQL that is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from tests.exports.conftest import Engine
from tests.exports.test_sql import KINDS, agree, build_statements, nearly, policy, qi

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


@pytest.fixture
def in_spark(spark: SparkSession, tmp_path: Path) -> Engine:
    """Return Spark, which writes Parquet."""

    def load(name: str, table: pa.Table) -> None:
        pq.write_table(table, tmp_path / f"{name}.held.parquet")
        spark.read.parquet(str(tmp_path / f"{name}.held.parquet")).createOrReplaceTempView(name)

    def save(statement: str, path: Path) -> Path:
        path = path.with_suffix(".parquet")
        pq.write_table(spark.sql(statement.rstrip(";")).toArrow(), path)
        return path

    def fetch(statement: str) -> list[tuple[str, ...]]:
        return [tuple(map(str, row)) for row in spark.sql(statement.rstrip(";")).collect()]

    return Engine("databricks", load, save, fetch)


@pytest.mark.slow
def test_spark_makes_the_categories_of_every_kind_of_column(in_spark: Engine, tmp_path: Path) -> None:
    for kind, (attribute, arrow, values) in KINDS.items():
        assert isinstance(agree(in_spark, attribute, nearly(values, arrow), tmp_path), dict), kind


@pytest.mark.slow
def test_a_text_that_is_no_number_ends_the_statement(in_spark: Engine, tmp_path: Path) -> None:
    import pyarrow as pa
    from pyspark.errors import PySparkException

    in_spark.load("rows", pa.table({"x": ["1", "one"]}))
    made = build_statements(policy(qi("x", 1, 2, "o", outside="o"), "rows.parquet"), "databricks", "rows")
    with pytest.raises(PySparkException):
        in_spark.save(made.counts, tmp_path / "counts")
