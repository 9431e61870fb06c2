"""Variables of the templates of estimate.sql and the README, gathered once per release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from rrpolicy.canonical_json import Value, category_text, same_category
from rrpolicy.channels.decoders import AnatomyDecoder
from rrpolicy.channels.table import Column
from rrpolicy.escaping import formulas
from rrpolicy.estimate.counts.columns import kind_of
from rrpolicy.estimate.opening import with_engine_type
from rrpolicy.estimate.uncorrected.release_validity import MEANING, NOTE, MatrixKnowledge, what_holds_of_columns
from rrpolicy.estimate.weights.base import AxisWeights
from rrpolicy.exports.weights import WeightFile, decoder_weights, weight_files
from rrpolicy.formats.format import CORE_FORMATS, Format
from rrpolicy.manifest.manifest import Manifest
from rrpolicy.privacy.units import ROWS_NOTE


class AverageExample(Struct, frozen=True):
    """A column of numbers with a category of missing values.

    Attributes:
        absent: the category of missing values, as in the weight table.
    """

    column: str
    view: str
    absent: Value


def average_example(weights: Sequence[WeightFile], absent: Mapping[str, Value]) -> AverageExample | None:
    """Return the first column of numbers that has weights and missing values; None if there is no such column."""
    for file in weights:
        (column, *more), values = file.axis.columns, [cell[0] for cell in file.axis.original]
        if more or column not in absent or file.sets or not file.axis.unbiased:
            continue
        if all(kind_of(value) == "number" or same_category(value, absent[column]) for value in values):
            spelled = any(isinstance(value, str) for value in values)
            return AverageExample(column, file.view, category_text(absent[column]) if spelled else absent[column])
    return None


class SqlView(Struct, frozen=True):
    """A view of estimate.sql that counts records.

    Attributes:
        files: the weight tables of the columns that it groups by, one or two.
        plain: an unmodified column that it groups by, too; "" without one.
    """

    prefix: str
    files: tuple[WeightFile, ...]
    plain: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that it groups by."""
        return (*(column for file in self.files for column in file.axis.columns), *self.plain)

    @property
    def name(self) -> str:
        """Return the view's name, made of the columns that it groups by."""
        crossed = len(self.files) + len(self.plain) > 1 or self.prefix == "released"
        return ("_by_" if crossed else "_").join([self.prefix, *self.columns])

    @property
    def spread(self) -> bool:
        """Whether it spreads generalised records evenly."""
        return not all(file.axis.unbiased for file in self.files)


def template_context(manifest: Manifest, form: Format) -> dict[str, Any]:
    """Return the variables of a release's templates; `kind` names the templates that it has.

    The manifest needs no `files` and no `digest` yet.

    Raises:
        ValueError: if a column's description is malformed.
    """
    values = [d for d in manifest.decoders if isinstance(d, AnatomyDecoder)]
    axes = [axis for decoder in manifest.decoders for axis in decoder_weights(decoder)]
    weights = weight_files(axes, manifest.data.csv_formulas)
    tables = {table.name: tuple(map(with_engine_type, table.columns)) for table in manifest.tables}
    columns = [column for held in tables.values() for column in held]
    absent = {c.name: v for c in columns if c.labels and (v := manifest.missing(c)) is not None}
    facts = {
        "manifest": manifest,
        "data": manifest.data,
        "form": form,
        "plugins": () if form.name in CORE_FORMATS else manifest.made_with("rrpolicy_formats"),
        "records": manifest.records,
        "most": manifest.units.max_records,
        "rows_note": ROWS_NOTE if manifest.units.of_rows else "",
        "weights": weights,
        "missing": absent,
        "kept_nulls": [a.release_as for a in manifest.attributes if a.keeps_nulls],
        "average": average_example(weights, absent),
        "formula_text": _csv_formula_handling(manifest, columns, weights),
    }
    if manifest.withholds:
        return facts | {"kind": "withheld"} | _withheld_context(manifest, columns)
    if not values:
        return facts | {"kind": "table"} | _single_table_context(manifest, axes, weights, columns)
    return facts | {"kind": "anatomy"} | _group_context(manifest, values, tables)


def _single_table_context(
    manifest: Manifest, axes: Sequence[AxisWeights], weights: Sequence[WeightFile], columns: Sequence[Column]
) -> dict[str, Any]:
    spread = any(not file.axis.unbiased for file in weights)
    written = {column for file in weights for column in file.axis.columns}
    views = [SqlView("estimate", (file,)) for file in weights]
    plain = [column for axis in axes if not axis.randomised for column in axis.columns]
    pair = weights[:2] if len(weights) > 1 or plain else ()
    if pair:
        views.append(SqlView("estimate", tuple(pair), tuple(plain[: 2 - len(pair)])))
    single = [file for file in weights if len(file.axis.columns) == 1]
    first = weights[0] if weights else None
    return {
        "columns": columns,
        "axes": {column: axis for axis in axes for column in axis.columns},
        "unwritten": [c for axis in axes if axis.randomised for c in axis.columns if c not in written],
        "spread": spread,
        "untouched": all(c.name in plain or not (c.labels or c.kind == "set") for c in columns),
        "corrected": True,
        "released": [SqlView("released", (file,)) for file in weights if not file.axis.unbiased],
        "views": views,
        "example": views[-1].name if pair else None,
        "condition": first if first in single and not first.sets else None,
        "single": [file for file in single if not file.sets],
        "sets": [column for file in weights if file.sets for column in file.axis.columns],
        "together": any(file.sets and len(file.axis.columns) > 1 for file in weights),
        "as_one": any(len(file.axis.columns) > 1 and not file.sets for file in weights),
        "one_set": next((file for file in single if file.sets), None),
        "lists": [c for c in columns if c.type.endswith("[]") and manifest.data.format == "csv"],
        "escaped": _escaped_columns(manifest, columns),
        "crossed": [first.axis.columns[0] if first else next(iter(plain), columns[0].name)],
    }


def _withheld_context(manifest: Manifest, columns: Sequence[Column]) -> dict[str, Any]:
    kept = [name for part in manifest.withheld for name in part.columns]
    plain = tuple(column.name for column in columns if column.name not in kept)
    return {
        "columns": columns,
        "kept": kept,
        "plain": plain,
        "counted": [column.name for column in columns if column.name in plain and column.labels],
        "held": what_holds_of_columns(plain, [MatrixKnowledge.withheld(part) for part in manifest.withheld]),
        "meaning": MEANING,
        "note": NOTE,
        "lists": [],
    }


class SensitiveColumn(Struct, frozen=True):
    """A sensitive column of anatomy groups.

    Attributes:
        joined: the view of every record with every value of its group.
        example: the view of counts by it and another column; None if there is none.
    """

    table: str
    value: str
    joined: str
    example: str | None


def _group_context(
    manifest: Manifest, values: Sequence[AnatomyDecoder], tables: Mapping[str, Sequence[Column]]
) -> dict[str, Any]:
    first = values[0]
    by = next((c.name for c in tables[first.of] if c.labels), None)
    dealt = [
        SensitiveColumn(
            d.table,
            d.column,
            "joined" if len(values) == 1 else f"joined_{d.column}",
            None if by is None else f"estimate_{by}_by_{d.column}",
        )
        for d in values
    ]
    return {
        "of": first.of,
        "dealt": dealt,
        "key": first.key,
        "count": first.count,
        "size": first.size,
        "tables": {name: tables[name] for name in (first.of, *(d.table for d in values))},
        "by": by,
        "corrected": False,
        "condition": None,
        "example": dealt[0].example,
        "escaped": {name: _escaped_columns(manifest, held) for name, held in tables.items()},
        "crossed": [by, first.column] if by else [first.column],
    }


def _escaped_columns(manifest: Manifest, columns: Sequence[Column]) -> tuple[str, ...]:
    """Return the names of columns whose text is escaped in CSV if it begins like a formula."""
    return tuple(c.name for c in columns if manifest.escaped(c))


def _csv_formula_handling(manifest: Manifest, columns: Sequence[Column], weights: Sequence[WeightFile]) -> str:
    """Return "escape" or "keep" if a CSV file of the folder has text that is escaped, or that would run; else ""."""
    if manifest.data.csv_formulas == "keep":
        return "keep" if _has_formula_text(manifest, columns, weights) else ""
    return "escape" if _escaped_columns(manifest, columns) or any(file.escaped for file in weights) else ""


def _has_formula_text(manifest: Manifest, columns: Sequence[Column], weights: Sequence[WeightFile]) -> bool:
    """Return whether a spreadsheet may run text of a CSV file."""
    texts = [c for c in columns if c.escapable]
    held = manifest.data.format == "csv" and any(not c.labels or formulas.any_formula(c.labels) for c in texts)
    return held or any(
        formulas.any_formula(v for cell in (*f.axis.released, *f.axis.original) for v in cell) for f in weights
    )
