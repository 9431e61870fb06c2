"""What the bundle's README says of text in CSV that a spreadsheet would run as a formula."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rrpolicy.channel.table import Column
from rrpolicy.releasing.handout.weights import WeightFile
from rrpolicy.untrusted import formulas


def escaped_columns(document: Mapping[str, Any], columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the names of released columns of CSV whose text is escaped where it begins as a formula does."""
    data = document["data"]
    if (data["format"], data["csv_formulas"]) != ("csv", "escape"):
        return ()
    return tuple(c.name for c in columns if c.escapable)


def formula_text(document: Mapping[str, Any], columns: Sequence[Column], weights: Sequence[WeightFile] = ()) -> str:
    """Return the section on such text; empty if no CSV file of the folder can hold any.

    Args:
        document: release.json.
        columns: the released columns.
        weights: the weight tables.
    """
    if document["data"]["csv_formulas"] == "keep":
        return _KEPT if _runs(document, columns, weights) else ""
    if not escaped_columns(document, columns) and not any(file.escaped for file in weights):
        return ""
    return f"""\
## Text that begins as a formula does

In the CSV files of this folder {formulas.CONVENTION}:
else a spreadsheet would run it. Take exactly one off again; the SQL and R of this folder do, and so does rrpolicy.
`release.json` holds all categories as they are."""


def _runs(document: Mapping[str, Any], columns: Sequence[Column], weights: Sequence[WeightFile]) -> bool:
    """Return whether a spreadsheet may run text of a CSV file."""
    texts = [c for c in columns if c.escapable]
    held = document["data"]["format"] == "csv" and any(not c.labels or formulas.runs(c.labels) for c in texts)
    return held or any(formulas.runs(v for cell in (*f.axis.released, *f.axis.original) for v in cell) for f in weights)


_KEPT = f"""\
## Text that begins as a formula does

Text in the CSV files of this folder may begin with {formulas.TOLD}: a spreadsheet that opens them may run it as a
formula. Import such columns as text."""
