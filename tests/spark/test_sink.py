"""Spark writes the files that this process writes, byte for byte, whatever becomes of its tasks."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import rrpolicy
from rrpolicy.errors import PolicyError, RefusedError
from rrpolicy.formats.parquet import ParquetFormat, ParquetTableWriter
from tests.exports.conftest import Case, public_bytes
from tests.exports.test_counts_in import MECHANISMS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CUT = "\n[release]\nrows_per_file = 150\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "carried"),
    [("pram", True), ("rr", False), ("addition", True), ("anatomy", True), ("full-domain", True)],
)
def test_files_are_the_same_whoever_writes_them(
    spark: SparkSession, case: Case, mechanism: str, *, carried: bool
) -> None:
    policy, key = case.policy(MECHANISMS[mechanism] + CUT, carried=carried), case.path("key")
    ours = rrpolicy.release(policy, case.path("ours"), key=key)

    theirs = rrpolicy.release(
        policy, case.path("theirs"), key=key, sink="spark", source=f"spark-parquet:{case.path('people')}"
    )

    assert public_bytes(theirs.bundle) == public_bytes(ours.bundle)
    assert len(list((theirs.bundle / "public").rglob("part-*"))) >= 5
    assert not list(theirs.bundle.rglob(".*"))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "csv"])
def test_a_table_in_one_file_is_written_by_one_task(spark: SparkSession, case: Case, form: str) -> None:
    policy, key = case.policy(MECHANISMS["rr"] + f'\n[release]\nformat = "{form}"\n'), case.path("key")
    ours = rrpolicy.release(policy, case.path("ours"), key=key)

    theirs = rrpolicy.release(policy, case.path("theirs"), key=key, sink="spark")

    assert public_bytes(theirs.bundle) == public_bytes(ours.bundle)


class Stumbling(ParquetFormat):
    """Parquet whose first attempts at each file end in the middle: one raises, another's process is killed."""

    def __init__(self, notes: Path, how: str) -> None:
        self.notes, self.how = notes, how

    def writer(self, path: Path, spec: Any, handling: Any) -> Any:
        return StumblingTable(path, spec, self)


class StumblingTable(ParquetTableWriter):
    def __init__(self, path: Path, spec: Any, by: Stumbling) -> None:
        super().__init__(path, spec)
        self.by, self.number = by, path.name.partition("-")[0]

    def close(self) -> None:
        note = self.by.notes / self.number
        if not note.exists():
            self._encoder.close()  # half a file stands there
            note.touch()
            if self.by.how == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError("the task fails")
        super().close()


@pytest.mark.slow
@pytest.mark.parametrize("how", ["raises", "killed"])
def test_tasks_that_end_in_the_middle_change_nothing(
    spark: SparkSession, case: Case, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy, key = case.policy(MECHANISMS["pram"] + CUT, carried=True), case.path("key")
    ours = rrpolicy.release(policy, case.path("ours"), key=key)
    notes = case.path("notes")
    notes.mkdir()

    theirs = stumbled(policy, case, key, Stumbling(notes, how), monkeypatch)

    assert sorted(p.name for p in notes.iterdir()) == ["0", "1", "2", "3", "4"]
    assert public_bytes(theirs) == public_bytes(ours.bundle)
    assert not list(theirs.rglob(".*"))


def stumbled(policy: Path, case: Case, key: Path, form: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Release with tasks that write by another class of the format."""
    from rrpolicy_spark.sink import SparkSink

    written = SparkSink.writer

    def writer(self: SparkSink, parts: Any, scratch: Path) -> Any:
        from rrpolicy.frozen import replace

        return written(self, replace(parts, form=form), scratch)

    monkeypatch.setattr(SparkSink, "writer", writer)
    return rrpolicy.release(policy, case.path("theirs"), key=key, sink="spark").bundle


@pytest.mark.slow
def test_files_that_are_not_in_their_place_are_no_release(spark: SparkSession, case: Case, monkeypatch: Any) -> None:
    policy = case.policy(MECHANISMS["pram"] + CUT)

    class Nowhere(ParquetFormat):
        def writer(self, path: Path, spec: Any, handling: Any) -> Any:
            raise FileNotFoundError(2, "no such folder on this executor")

    with pytest.raises(
        RefusedError, match=r"RR593: the files of the release were not written: Spark failed \(PythonException\)"
    ):
        stumbled(policy, case, case.path("key"), Nowhere(), monkeypatch)

    assert not case.path("theirs").exists()
    assert not case.path("key").exists()
    assert not list(case.folder.glob(".*"))


def test_a_sink_that_nobody_offers_is_refused(case: Case) -> None:
    with pytest.raises(PolicyError, match="RR250: nothing is called 'flink' that writes a release") as caught:
        rrpolicy.release(case.policy(MECHANISMS["pram"]), case.path("out"), sink="flink")

    assert caught.value.problems[0].expected == "here, spark"
