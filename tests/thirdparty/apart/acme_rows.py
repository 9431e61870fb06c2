"""A source alone: lines of values with bars between."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

from rrpolicy.plugin import PLAIN, encoded, hookimpl, pin


class Rows:
    schemes = ("acme-rows", ".rows")

    @contextmanager
    def open(self, uri, table, scratch, reading=PLAIN):
        import pyarrow as pa

        path = Path(uri.removeprefix("acme-rows:"))
        pinned = pin(str(path))
        names, *lines = (line.split("|") for line in path.read_text().splitlines())
        columns = {name: list(values) for name, values in zip(names, zip(*lines, strict=True), strict=True)}
        with encoded(pa.table(columns), f"'{path.name}'", scratch, reading, pinned) as snapshot:
            yield snapshot


@hookimpl
def rrpolicy_sources():
    return [Rows()]
