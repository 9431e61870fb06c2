"""Reading files: paths taken as they are, and CSV of which nothing is guessed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rrpolicy.engine.quoting import literal


def literal_path(path: str | Path) -> str:
    """Return a path that the engine does not take for a pattern."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in str(path))


def read_csv(path: str, columns: Mapping[str, str], delimiter: str = ",", quote: str = '"', **options: str) -> str:
    """Return the SQL that reads a CSV file with a header; an empty cell is null.

    Args:
        path: as the engine is to open it.
        columns: their names and types, in order.
        delimiter: between cells.
        quote: around a cell; doubled inside one.
        options: further ones of `read_csv`, as SQL.
    """
    told = {"delim": literal(delimiter), "quote": literal(quote), "escape": literal(quote), "nullstr": "''", **options}
    typed = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in columns.items())
    more = "".join(f"{name} = {value}, " for name, value in told.items())
    return f"read_csv({literal(path)}, auto_detect = false, header = true, {more}columns = {{{typed}}})"
