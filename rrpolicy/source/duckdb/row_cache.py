"""Sorted rows, kept in the scratch folder: writing and reading them again costs less than sorting them again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa


class RowCache:
    """The rows of one statement, once they all have passed.

    Attributes:
        complete: whether they have.
    """

    def __init__(self, path: Path) -> None:
        """Prepare.

        Args:
            path: of a file in the scratch folder, which the caller wipes.
        """
        self._path = path
        self._writing = False
        self.complete = False

    def passing(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        """Yield the rows, writing them down as they pass; of two readings at once the first is written down."""
        if self._writing or self.complete:
            yield from reader
            return
        self._writing = True
        try:
            with pa.OSFile(str(self._path), "wb") as file, pa.ipc.new_file(file, reader.schema) as writer:
                for batch in reader:
                    writer.write_batch(batch)
                    yield batch
            self.complete = True
        finally:
            self._writing = False

    def again(self) -> pa.RecordBatchReader:
        """Return the rows as they passed."""
        file = pa.OSFile(str(self._path))
        content = pa.ipc.open_file(file)

        def batches() -> Iterator[pa.RecordBatch]:
            with file:
                for place in range(content.num_record_batches):
                    yield content.get_batch(place)

        return pa.RecordBatchReader.from_batches(content.schema, batches())
