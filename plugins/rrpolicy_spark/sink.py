"""Spark writes the files of a release: each of its tasks expands the cells of one file, as this process would."""

from __future__ import annotations

import secrets
import shutil
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rrpolicy.plugin import Problem
from rrpolicy.plugin.engines import FileParts, RefusedError, divided
from rrpolicy_spark.session import open_session
from rrpolicy_spark.tasks import FileTask, ReleasedFileCells

if TYPE_CHECKING:
    import pyarrow as pa

    from rrpolicy.plugin.types import Ints

BATCH_BYTES = 1 << 26
"""Bytes of cells that are collected before tasks are sent: one job writes many files."""


class SparkSink:
    """Has Spark expand drawn counts and write the files of a release; a `FileSink`."""

    name = "spark"

    def writer(self, parts: FileParts, scratch: Path) -> SparkWriter:
        """Begin to write a table; see `FileSink.writer`.

        All executors must have access to the folder of the parts.
        """
        return SparkWriter(parts, scratch)


SPARK = SparkSink()


class SparkWriter:
    """Cuts distinct rows into the cells of each file, and has tasks write these; a `TableWriter`."""

    def __init__(self, parts: FileParts, scratch: Path) -> None:
        self._stack = ExitStack()
        self._spark = self._stack.enter_context(open_session(scratch))
        self._parts = parts
        self._most = sys.maxsize if parts.rows_per_file is None else parts.rows_per_file
        self._attempts = parts.folder / f".attempts-{secrets.token_hex(8)}"
        self._attempts.mkdir(mode=0o700)
        (parts.folder / parts.name(0)).parent.mkdir(exist_ok=True)
        self._waiting: list[ReleasedFileCells] = []
        self._held = self._begun = self._here = 0
        self._open: list[bytes] = []

    def write(self, rows: pa.RecordBatch, n: Ints) -> None:
        """Take the next distinct rows with their multiplicities."""
        while len(n):
            if self._here == self._most:
                self._end()
                self._send(BATCH_BYTES)
            (now, times), (rows, n) = divided(rows, n, self._most - self._here)
            self._open.append(ReleasedFileCells.packed(now, times))
            self._here += int(times.sum())

    def close(self) -> None:
        """Write the remaining rows; every file is then complete."""
        self._end()
        self._send(0)
        self.abandon()

    def abandon(self) -> None:
        """Stop: files of unfinished attempts are removed, and no attempt can complete a file any more."""
        shutil.rmtree(self._attempts, ignore_errors=True)
        self._stack.close()

    def _end(self) -> None:
        self._waiting.append(ReleasedFileCells(self._begun, tuple(self._open)))
        self._held += sum(map(len, self._open))
        self._begun, self._here, self._open = self._begun + 1, 0, []

    def _send(self, most: int) -> None:
        """Write the waiting files, if their cells have more than so many bytes."""
        if self._held <= most:
            return
        context = self._spark.sparkContext
        task: Any = FileTask(self._parts, self._attempts)
        try:
            sizes = context.parallelize(self._waiting, len(self._waiting)).map(task).collect()
        except Exception as error:  # of Spark's many classes, and its messages may contain values
            raise _write_error(f"Spark failed ({type(error).__name__})") from error
        for number, size in sizes:
            path = self._parts.folder / self._parts.name(number)
            if not path.is_file() or path.stat().st_size != size:
                raise _write_error("they are not where the program looks for them")
        self._waiting, self._held = [], 0


def _write_error(why: str) -> RefusedError:
    message = f"the files of the release were not written: {why}"
    hint = "let `--out` name a folder that all executors see; or leave `--sink` out, and they are written here"
    return RefusedError(Problem("RR593", message, expected="a folder that driver and executors share", hint=hint))
