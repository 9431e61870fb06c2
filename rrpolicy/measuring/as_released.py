"""A CSV file of a bundle, opened as any other table, with its text as it was before CSV escaped it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.channel.document import read_column
from rrpolicy.engine.quoting import identifier
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.sealed import read_release
from rrpolicy.releasing.handout.contents import escaped_columns
from rrpolicy.untrusted import formulas

if TYPE_CHECKING:
    from rrpolicy.source.duckdb.snapshot import TableSnapshot


def as_released(snapshot: TableSnapshot, uri: str) -> TableSnapshot:
    """Return a table; of a CSV file beside the release.json that names it, what escapes text is taken off.

    Args:
        snapshot: the table, as its file holds it.
        uri: of the file.
    """
    path = Path(uri.removeprefix("csv:"))
    try:
        document = read_release(path.parent)
    except PolicyError:
        return snapshot  # it lies in no bundle
    stated = document["data"]["tables"]
    here = (t for t in document["tables"] if stated.get(t["name"], {}).get("path") == path.name)
    columns = [read_column(column) for table in here for column in table["columns"]]
    names = [identifier(name) for name in escaped_columns(document, columns) if name in snapshot.stored]
    if not names:
        return snapshot
    replaced = ", ".join(f"{formulas.unescaped_sql(name)} AS {name}" for name in names)
    return replace(snapshot, source=f"(SELECT * REPLACE ({replaced}) FROM {snapshot.source})")  # noqa: S608 quoted
