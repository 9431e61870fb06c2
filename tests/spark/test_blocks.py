"""Records are drawn block by block where they lie, and released as this process releases them."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import rrpolicy
from rrpolicy.planning.policy_opening import open_policy
from rrpolicy.policy.model import Reading
from rrpolicy.source.protocol import MULTIPLICITY
from rrpolicy_spark import snapshot, sorted_rows, tasks
from rrpolicy_spark.tasks import (
    BlocksTask,
    CodesTask,
    DistinctRowCounts,
    DrawTask,
    PackTask,
    ReleasedFileCells,
    UnitSizeTask,
)
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


def codes_task(visits: Path) -> CodesTask:
    """Return the task for sex, whose codes are f and m, and the place of a visit, which is carried."""
    sex = open_policy(visits / "policy.toml").policy.attributes["sex"]
    counts = DistinctRowCounts(("sex", "place"), "visits", Reading())
    return CodesTask(counts, (sex,), (("place", "string", pa.string()),))


def distinct_rows(*rows: tuple[str | None, str, int]) -> pa.RecordBatch:
    columns = [pa.array(list(column)) for column in zip(*rows, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=["c0", "c1", "n"])


def sit_in_partition(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import TaskContext

    monkeypatch.setattr(TaskContext, "get", lambda: SimpleNamespace(partitionId=lambda: number))


@pytest.mark.parametrize("held", [1, 3, 100])
def test_rows_have_their_codes_however_many_are_read_at_a_time(
    visits: Path, monkeypatch: pytest.MonkeyPatch, held: int
) -> None:
    monkeypatch.setattr(tasks, "MIN_BATCH_ROWS", held)
    task = codes_task(visits)
    batches = [distinct_rows(("m", "b", 2), ("f", "a", 3)), distinct_rows(("f", "c", 1)), distinct_rows(("m", "d", 4))]

    made = pa.Table.from_batches(task(iter(batches)))

    assert made.schema.names == ["a0", "c0", "n"]
    assert made.sort_by("c0").to_pydict() == {"a0": [0, 1, 0, 1], "c0": ["a", "b", "c", "d"], "n": [3, 2, 1, 4]}
    assert list(task(iter(()))) == []
    assert task.columns == "a0 int, c0 string, n long"


def test_rows_are_cut_where_a_block_begins_and_each_block_is_drawn(
    visits: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second partition begins at the fourth record; blocks have four."""
    codes = codes_task(visits)
    sit_in_partition(1, monkeypatch)
    rows = pa.RecordBatch.from_arrays(
        [pa.array([0, 1], pa.int32()), pa.array(["a", "b"]), pa.array([3, 4], pa.int64())], names=["a0", "c0", "n"]
    )

    (packed,), (alone,) = PackTask()([rows]), PackTask(alone=True)([rows])
    pieces = pa.Table.from_batches(BlocksTask((0, 3), 4)([rows.slice(0, 1), rows.slice(1)]))

    assert packed.column("part").to_pylist() == alone.column("part").to_pylist() == [1]
    assert packed.column("n").to_pylist() == alone.column("n").to_pylist() == [7]
    inside, n = ReleasedFileCells.unpacked(packed.column("rows")[0].as_py())
    assert (inside.to_pydict(), n.tolist()) == ({"a0": [0, 1], "c0": ["a", "b"]}, [3, 4])
    assert alone.column("rows").to_pylist() == [b""]
    assert pieces.select(["block", "place"]).to_pydict() == {"block": [0, 1, 1, 2], "place": [3, 4, 6, 8]}

    def draw(block: Any) -> Any:
        number, found = block
        taken.append((number, found.to_pydict()))
        return [(found.select(["place"]), None), (found.select(["sex"]), found.column(MULTIPLICITY).to_numpy())]

    taken: list[Any] = []
    task = DrawTask(codes, ("place", "sex"), draw)
    drawn = task(pieces.filter(pc.equal(pieces["block"], 1)).sort_by([("place", "descending")]))

    assert taken == [(1, {"place": ["a", "b"], "sex": [0, 1], MULTIPLICITY: [2, 2]})]
    assert drawn.select(["block", "place"]).to_pydict() == {"block": [1, 1], "place": [0, 1]}
    (places, ones), (sexes, twos) = (ReleasedFileCells.unpacked(each) for each in drawn["rows"].to_pylist())
    assert (places.to_pydict(), ones.tolist()) == ({"place": ["a", "b"]}, [1, 1])
    assert (sexes.to_pydict(), twos.tolist()) == ({"sex": [0, 1]}, [2, 2])


def test_units_are_counted_by_their_number_of_records() -> None:
    reading = Reading(missing=("NA",))
    task = UnitSizeTask(DistinctRowCounts(("who",), "people", reading))
    batches = [
        pa.record_batch({"c0": ["a", "b", "NA", None], "n": [1, 1, 5, 2]}),
        pa.record_batch({"c0": ["c", "d"], "n": [1, 3]}),
    ]

    first, second = (each.to_pydict() for each in task(batches))

    assert first == {"size": [1, 0], "units": [2, 0], "missing": [0, 7]}
    assert second == {"size": [1, 3, 0], "units": [1, 1, 0], "missing": [0, 0, 0]}
