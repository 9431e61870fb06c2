"""What the templates of estimate.sql and the README are filled with, gathered once a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rrpolicy.channel.table import Column
from rrpolicy.estimate.opening import column_from_json, decoder_from_json
from rrpolicy.estimate.weights.base import AxisWeights
from rrpolicy.releasing.handout.missing import average, missing
from rrpolicy.releasing.handout.weights import WeightFile, axes_of, weight_files
from rrpolicy.untrusted import formulas


@dataclass(frozen=True, slots=True)
class View:
    """A view of estimate.sql that counts records.

    Attributes:
        prefix: of its name.
        files: the weight tables of what it groups by, one or two.
        plain: a column released as it is that it groups by, too; empty for none.
    """

    prefix: str
    files: tuple[WeightFile, ...]
    plain: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Return what it groups by."""
        return (*(column for file in self.files for column in file.axis.columns), *self.plain)

    @property
    def name(self) -> str:
        """Return its name, which tells what it groups by."""
        crossed = len(self.files) + len(self.plain) > 1 or self.prefix == "released"
        return ("_by_" if crossed else "_").join([self.prefix, *self.columns])

    @property
    def spread(self) -> bool:
        """Whether it spreads generalised records evenly."""
        return not all(file.axis.unbiased for file in self.files)


def share_of(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the parameters of the decoder of dealt groups; None for a release in one table."""
    return next((d["parameters"] for d in document["decoders"] if d["form"] == "share"), None)


def contents(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the templates of a release read.

    Args:
        document: release.json; its `files` and `digest` are not needed yet.

    Raises:
        ValueError: if a column's description is malformed.
    """
    data, share = document["data"], share_of(document)
    axes = [axis for item in document["decoders"] for axis in axes_of(decoder_from_json(item))]
    weights = weight_files(axes, data["csv_formulas"])
    tables = {t["name"]: tuple(map(column_from_json, t["columns"])) for t in document["tables"]}
    columns = [column for held in tables.values() for column in held]
    absent = missing(document, columns)
    facts = {
        "document": document,
        "data": data,
        "records": int(document["records"]),
        "most": int(document["units"]["max_records"]),
        "weights": weights,
        "missing": absent,
        "average": average(weights, absent),
        "formula_text": _formula_text(document, columns, weights),
    }
    if share is None:
        return facts | _of_one_table(document, axes, weights, columns)
    return facts | _of_groups(document, share, tables)


def _of_one_table(
    document: Mapping[str, Any], axes: Sequence[AxisWeights], weights: Sequence[WeightFile], columns: Sequence[Column]
) -> dict[str, Any]:
    spread = any(not file.axis.unbiased for file in weights)
    written = {column for file in weights for column in file.axis.columns}
    views = [View("estimate", (file,)) for file in weights]
    plain = [column for axis in axes if not axis.randomised for column in axis.columns]
    pair = weights[:2] if len(weights) > 1 or plain else ()
    if pair:
        views.append(View("estimate", tuple(pair), tuple(plain[: 2 - len(pair)])))
    single = [file for file in weights if len(file.axis.columns) == 1]
    first = weights[0] if weights else None
    return {
        "columns": columns,
        "axes": {column: axis for axis in axes for column in axis.columns},
        "unwritten": [c for axis in axes if axis.randomised for c in axis.columns if c not in written],
        "spread": spread,
        "corrected": True,
        "released": [View("released", (file,)) for file in weights if not file.axis.unbiased],
        "views": views,
        "example": views[-1].name if pair else None,
        "condition": first if first in single and not first.sets else None,
        "single": [file for file in single if not file.sets],
        "sets": [column for file in weights if file.sets for column in file.axis.columns],
        "together": any(file.sets and len(file.axis.columns) > 1 for file in weights),
        "one_set": next((file for file in single if file.sets), None),
        "lists": [c for c in columns if c.type.endswith("[]") and document["data"]["format"] == "csv"],
        "escaped": escaped_columns(document, columns),
        "crossed": [first.axis.columns[0] if first else "column"],
    }


def _of_groups(
    document: Mapping[str, Any], share: Mapping[str, Any], tables: Mapping[str, Sequence[Column]]
) -> dict[str, Any]:
    of, table, value = share["of"], share["table"], share["column"]
    by = next((c.name for c in tables[of] if c.labels), None)
    return {
        "of": of,
        "table": table,
        "value": value,
        "key": share["key"],
        "count": share["count"],
        "size": int(document["channel"]["size"]),
        "tables": {name: tables[name] for name in (of, table)},
        "by": by,
        "corrected": False,
        "condition": None,
        "example": by and f"estimate_{by}_by_{value}",
        "escaped": {name: escaped_columns(document, held) for name, held in tables.items()},
        "crossed": [by, value] if by else [value],
    }


def escaped_columns(document: Mapping[str, Any], columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the names of released columns of CSV whose text is escaped where it begins as a formula does."""
    data = document["data"]
    if (data["format"], data["csv_formulas"]) != ("csv", "escape"):
        return ()
    return tuple(c.name for c in columns if c.escapable)


def _formula_text(document: Mapping[str, Any], columns: Sequence[Column], weights: Sequence[WeightFile]) -> str:
    """Return "escape" or "keep" where a CSV file of the folder has text that is escaped, or that would run; else ""."""
    if document["data"]["csv_formulas"] == "keep":
        return "keep" if _runs(document, columns, weights) else ""
    return "escape" if escaped_columns(document, columns) or any(file.escaped for file in weights) else ""


def _runs(document: Mapping[str, Any], columns: Sequence[Column], weights: Sequence[WeightFile]) -> bool:
    """Return whether a spreadsheet may run text of a CSV file."""
    texts = [c for c in columns if c.escapable]
    held = document["data"]["format"] == "csv" and any(not c.labels or formulas.runs(c.labels) for c in texts)
    return held or any(formulas.runs(v for cell in (*f.axis.released, *f.axis.original) for v in cell) for f in weights)
