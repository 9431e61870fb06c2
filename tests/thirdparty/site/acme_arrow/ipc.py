"""Released tables as Arrow IPC files, which pandas, polars, R and others map into memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from rrpolicy.plugin import Column, TableSpec, TableWriter, UnlikeSpecError, arrow_schema


class Arrow:
    """The format `arrow`."""

    name = "arrow"
    media_type = "application/vnd.apache.arrow.file"
    packaged = False
    alone = False
    same_bytes = True
    note = (
        "DuckDB does not read Arrow files by itself: first make each one a relation of its own name, such as in Python "
        "by connection.register('data.arrow', pyarrow.ipc.open_file('data.arrow').read_all())"
    )

    def writer(self, path: Path, spec: TableSpec, handling: str) -> TableWriter:
        """Create a file; no spreadsheet opens it, so that nothing is escaped."""
        return ArrowTable(path, arrow_schema(spec))

    def relation(self, connection: Any, path: Path, spec: TableSpec, handling: str) -> str:
        """Register the file's rows."""
        with pa.OSFile(str(path)) as source:
            table = pa.ipc.open_file(source).read_all()
        if table.schema.metadata:
            raise UnlikeSpecError("it holds metadata, which no release has")
        name = f"arrow_{spec.name}"
        connection.register(name, table)
        return name

    def sql(self, path: str, columns: Sequence[Column], handling: str) -> str:
        """Return the relation that `note` tells analysts to make."""
        return '"' + path.replace('"', '""') + '"'


class ArrowTable:
    """One file: a record batch for each group of rows."""

    def __init__(self, path: Path, schema: Any) -> None:
        self._schema = schema
        self._file = path.open("xb")
        self._writer = pa.ipc.new_file(self._file, schema)

    def write(self, rows: Any, n: Any) -> None:
        """Write distinct rows, each n times."""
        import numpy as np

        plain = [c.dictionary_decode() if pa.types.is_dictionary(c.type) else c for c in rows.columns]
        whole = pa.RecordBatch.from_arrays(plain, schema=self._schema)
        self._writer.write_batch(whole.take(pa.array(np.repeat(np.arange(len(n)), n))))

    def close(self) -> None:
        """Write the footer."""
        self._writer.close()
        self._file.close()

    def abandon(self) -> None:
        """Let go of the file."""
        self._file.close()
