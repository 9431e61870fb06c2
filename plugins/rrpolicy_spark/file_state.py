"""The files of a Spark table, compared with their state when it was opened."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from rrpolicy.plugin import DataError, Problem
from rrpolicy.plugin.engines import RefusedError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FileState = tuple[tuple[str, int, int, int], ...]
"""For each file its address, size in bytes, time of change in ns, and inode (0 without one)."""


@dataclass(frozen=True, slots=True)
class PinnedFiles:
    """The state of a table's files at the time of opening.

    Attributes:
        found: finds the table again.
    """

    name: str
    found: Callable[[], DataFrame]
    state: FileState

    def unchanged(self) -> None:
        """Raise `RefusedError` (RR410) if a file was changed, added or removed."""
        try:
            same = _current_state(self.found()) == self.state
        except Exception:  # noqa: BLE001 of Spark's, which may name values: a table that is not found is not the same
            same = False
        if not same:
            message = f"{self.name}: the table changed after it was opened"
            hint = "wait until whatever writes it has finished, and run again"
            raise RefusedError(Problem("RR410", message, expected="one state from plan to release", hint=hint))


def pin_files(name: str, found: Callable[[], DataFrame], frame: DataFrame) -> PinnedFiles:
    """Record the state of a table's files."""
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001 pyspark has no other way to it
    leaves = plan.collectLeaves()
    kinds = [_leaf_class(leaves.apply(i)) for i in range(leaves.size())]
    if kinds != ["HadoopFsRelation"] or not plan.deterministic():
        message = f"{name}: it is unknown whether it changes between plan and release"
        hint = "write it as a table of files first: CREATE TABLE … USING parquet AS SELECT …"
        expected = "a table of files, or a view of one"
        raise DataError(Problem("RR358", message, expected=expected, hint=hint))
    return PinnedFiles(name, found, _current_state(frame))


def _leaf_class(leaf: Any) -> str:
    """Return the class of a leaf of a query's plan, which reads a source."""
    try:
        return str(leaf.relation().getClass().getSimpleName())
    except Exception:  # noqa: BLE001 py4j's, where it has no such member
        return ""


def _current_state(frame: DataFrame) -> FileState:
    context: Any = frame.sparkSession.sparkContext
    jvm, conf = context._jvm, context._jsc.hadoopConfiguration()  # noqa: SLF001 likewise
    found = []
    for address in sorted(frame.inputFiles()):
        parts = urlsplit(address)
        if parts.scheme == "file":
            here = Path(unquote(parts.path)).stat()
            found.append((address, here.st_size, here.st_mtime_ns, here.st_ino))
        else:
            path = jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(address))
            there = path.getFileSystem(conf).getFileStatus(path)
            found.append((address, there.getLen(), there.getModificationTime() * 10**6, 0))
    return tuple(found)
