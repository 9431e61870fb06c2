"""Spark with two executors' worth of threads, and the table of the warehouse tests where it reads it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from tests.warehouse.conftest import Case, people

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.master": "local[2,4]",  # two tasks at a time, each tried four times
    "spark.sql.shuffle.partitions": "3",
    "spark.driver.maxResultSize": "12m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # half the time to start
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Return a session as a caller holds it."""
    folder = tmp_path_factory.mktemp("spark")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.config(map=SETTINGS).config("spark.sql.warehouse.dir", str(folder / "tables"))
        session = builder.config("spark.local.dir", str(folder / "local")).getOrCreate()
        yield session
        session.stop()


@pytest.fixture
def case(tmp_path: Path) -> Case:
    """Return a folder with a table in a file, and the same in two files in another order."""
    table = people()
    pq.write_table(table, tmp_path / "people.parquet")
    folder = tmp_path / "people"
    folder.mkdir()
    pq.write_table(table.slice(0, 300), folder / "b.parquet")
    pq.write_table(table.slice(300), folder / "a.parquet")
    return Case(tmp_path)
