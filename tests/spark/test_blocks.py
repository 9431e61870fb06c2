"""Records are drawn block by block where they lie, and released as this process releases them."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rrpolicy
from rrpolicy_spark import ordered, snapshot
from rrpolicy_spark.tasks import DrawTask
from tests.warehouse.conftest import public_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


@pytest.fixture(scope="module")
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


class Stumbling:
    """Draws blocks, each of which ends in the middle at first: one in two by an error, the others by a killed process."""

    schema = DrawTask.schema

    def __init__(self, notes: Path, *arguments: Any) -> None:
        self.draw, self.notes = DrawTask(*arguments), notes

    def __call__(self, pieces: pa.Table) -> pa.Table:
        drawn = self.draw(pieces)
        number = pieces.column("block")[0].as_py()
        note = self.notes / str(number)
        if not note.exists():
            note.touch()
            if number % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError("the task fails")
        return drawn


@pytest.mark.slow
def test_blocks_are_drawn_where_they_lie(
    spark: SparkSession, visits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "MOST_HELD", 1000)
    partitions = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "5")
    try:
        theirs = rrpolicy.release(
            visits / "policy.toml",
            tmp_path / "theirs",
            key=visits / "key",
            sink="spark",
            source=f"spark-parquet:{visits}/parts",
        )
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", partitions)

    assert public_bytes(theirs.bundle) == public_bytes(visits / "ours")
    assert len(list((theirs.public / "data").iterdir())) == 3


@pytest.mark.slow
def test_blocks_whose_tasks_end_in_the_middle_are_drawn_again(
    spark: SparkSession, visits: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    monkeypatch.setattr(ordered, "DrawTask", partial(Stumbling, notes))

    theirs = rrpolicy.release(
        visits / "policy.toml", tmp_path / "theirs", key=visits / "key", source=f"spark-parquet:{visits}/parts"
    )

    assert sorted(p.name for p in notes.iterdir()) == ["0", "1"]
    assert public_bytes(theirs.bundle) == public_bytes(visits / "ours")
