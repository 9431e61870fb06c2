"""A CSV file of a bundle, opened as any other table, with its text as it was before CSV escaped it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.engine.quoting import identifier
from rrpolicy.errors import PolicyError
from rrpolicy.escaping import formulas
from rrpolicy.manifest.sealed_manifest import read_release

if TYPE_CHECKING:
    from rrpolicy.source.duckdb.snapshot import TableSnapshot


def unescaped_snapshot(snapshot: TableSnapshot, uri: str) -> TableSnapshot:
    """Return a table; of a CSV file beside the release.json that names it, what escapes text is taken off.

    Args:
        snapshot: the table, as its file holds it.
        uri: of the file.
    """
    path = Path(uri.removeprefix("csv:"))
    try:
        manifest = read_release(path.parent)
    except PolicyError:
        return snapshot  # it lies in no bundle
    stated = manifest.data.tables
    here = (t for t in manifest.tables if t.name in stated and stated[t.name].files == (path.name,))
    escaped = (c.name for table in here for c in table.columns if manifest.escaped(c))
    names = [identifier(name) for name in escaped if name in snapshot.stored]
    if not names:
        return snapshot
    replaced = ", ".join(f"{formulas.unescape_formula_sql(name)} AS {name}" for name in names)
    return replace(snapshot, source=f"(SELECT * REPLACE ({replaced}) FROM {snapshot.source})")  # noqa: S608 quoted
