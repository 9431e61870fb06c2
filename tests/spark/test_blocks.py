"""Records are drawn block by block where they lie, and released as this process releases them."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import rrpolicy
from rrpolicy_spark import snapshot, sorted_rows
from rrpolicy_spark.tasks import DrawTask
from tests.exports.conftest import public_bytes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
    monkeypatch.setattr(snapshot, "MAX_HELD_ROWS", 1000)
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
    monkeypatch.setattr(sorted_rows, "DrawTask", partial(Stumbling, notes))

    theirs = rrpolicy.release(
        visits / "policy.toml", tmp_path / "theirs", key=visits / "key", source=f"spark-parquet:{visits}/parts"
    )

    assert sorted(p.name for p in notes.iterdir()) == ["0", "1"]
    assert public_bytes(theirs.bundle) == public_bytes(visits / "ours")
