"""Spark with two executors' worth of threads, and the table of the warehouse tests where it reads it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rrpolicy
from tests.exports.conftest import Case, people

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

RECORDS = 70_000
POLICY = """
schema = 1
[policy]
name = "visits"
version = "1.0.0"
[source]
uri = "visits.parquet"
missing = [-1]
[attributes]
person_id = { role = "identifier" }
sex = { role = "quasi-identifier", domain = ["f", "m"] }
age = { role = "sensitive", bins = [0, 30, 60, inf], labels = ["young", "middle", "old"], nulls = "old" }
cost = { role = "insensitive", assume_unlinkable = "a test says so", nulls = "keep" }
place = { role = "insensitive", assume_unlinkable = "a test says so", nulls = "keep" }
[[privacy]]
model = "local-dp"
epsilon = 4
scope = "attribute"
[mechanism]
name = "pram"
[release]
rows_per_file = 30_000
"""


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


@pytest.fixture(scope="session")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a policy and a table of which nearly every record differs, and its release by this process."""
    folder = tmp_path_factory.mktemp("visits")
    random = np.random.default_rng(7)
    cost = np.round(random.gamma(2.0, 50.0, RECORDS), 2)
    table = pa.table({
        "person_id": np.arange(RECORDS),
        "sex": np.where(random.random(RECORDS) < 0.5, "f", "m"),
        "age": random.integers(-1, 90, RECORDS),
        "cost": pa.array(np.where(cost < 2, np.nan, np.where(cost < 4, -1, cost)), from_pandas=False),
        "place": [None if i % 977 == 0 else f"p{i % 4001}é" for i in range(RECORDS)],
    })  # fmt: skip
    pq.write_table(table, folder / "visits.parquet")
    (folder / "parts").mkdir()
    mixed = table.take(random.permutation(RECORDS))
    for i in range(3):
        pq.write_table(mixed.slice(i * 25_000, 25_000), folder / "parts" / f"{i}.parquet")
    (folder / "policy.toml").write_text(POLICY)
    rrpolicy.release(folder / "policy.toml", folder / "ours", key=folder / "key")
    assert '"records/2"' in (folder / "ours" / "audit" / "plan.json").read_text()
    return folder
