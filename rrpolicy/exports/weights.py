"""Weight tables: one CSV per axis, with a record's weight in the count of each original category."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from rrpolicy.canonical_json import Value, category_text
from rrpolicy.channels.decoders import Cell, Decoder
from rrpolicy.channels.table import Column, engine_type_of
from rrpolicy.errors import PolicyError
from rrpolicy.escaping import formulas
from rrpolicy.estimate.weights.anatomy import AnatomyWeights
from rrpolicy.estimate.weights.base import AxisWeights
from rrpolicy.estimate.weights.decoder_weights import axis_weights
from rrpolicy.estimate.weights.sets import SetWeights

WEIGHT_ROWS = 1_000_000
"""Maximum number of rows of a weight table: a larger matrix is in release.json only; retention has a closed form."""

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,62}")
_DEVICES = {"con", "prn", "aux", "nul", *(f"{d}{i}" for d in ("com", "lpt") for i in range(10))}


@dataclass(frozen=True, slots=True)
class WeightFile:
    """One weight table.

    Attributes:
        axis: the columns it undoes and their cells.
        escaped: the headings of columns with text that is escaped: a spreadsheet would run it as a formula.
    """

    axis: AxisWeights
    text: str = field(repr=False)
    escaped: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Return the path relative to public/."""
        return f"weights/{safe_file_stem(' '.join(self.axis.columns))}.csv"

    @property
    def view(self) -> str:
        """Return the view's name in estimate.sql."""
        return "_".join(["weights", *self.axis.columns])

    @property
    def sets(self) -> bool:
        """Whether it is for sets: weights depend on whether a record's set contains the category."""
        return isinstance(self.axis, SetWeights)

    @property
    def originals(self) -> tuple[tuple[str, str], ...]:
        """Return the heading of each column's original categories, and the column."""
        return tuple(zip(_numbered_headings("original", self.axis), self.axis.columns, strict=True))

    @property
    def first(self) -> Value:
        """Return the first original category of a single column as in its view: numbers in a text column are text."""
        labels = tuple(label for (label,) in self.axis.original)
        return category_text(labels[0]) if engine_type_of(labels) == "VARCHAR" else labels[0]

    @property
    def releaseds(self) -> tuple[tuple[str, str], ...]:
        """Return the heading of each column's released values, and the column; empty for sets."""
        return tuple(zip(_numbered_headings("released", self.axis), self.axis.columns, strict=True))


def weight_files(axes: Iterable[AxisWeights], handling: formulas.Handling) -> tuple[WeightFile, ...]:
    """Return the weight table of each axis that is randomised or generalised and has one.

    Long form, best for joins: `released`, `original`, `weight`; of coupled columns `released_1`, `original_1`, …. A
    sum of `weight` over released records estimates the count of `original`. Seventeen significant digits: reading
    returns the written double. For sets: `original`, `weight_held`, `weight_not_held`, the weights of records whose
    set contains the category and of those whose does not. Generalised columns have one table each; rows without
    weight are omitted.
    """
    chosen = (axis for axis in axes if axis.randomised and not isinstance(axis, AnatomyWeights))
    files = (WeightFile(axis, _weight_table_csv(axis, handling), _escaped_headings(axis, handling)) for axis in chosen)
    return tuple(file for file in files if file.text)


def weight_table_rows(axis: AxisWeights) -> Iterator[tuple[Cell, tuple[float, ...]]]:
    """Yield the rows of a weight table: the values of its cell columns, and of its weight columns.

    Raises:
        PolicyError: RR267 if the axis has no weights.
    """
    if isinstance(axis, SetWeights):
        yield from ((cell, (axis.held, axis.not_held)) for cell in axis.original)
        return
    table = axis.table
    for u, released in enumerate(axis.released):
        for v, original in enumerate(axis.original):
            if axis.unbiased or table[u, v]:
                yield (*released, *original), (float(table[u, v]),)


def _weight_table_csv(axis: AxisWeights, handling: formulas.Handling) -> str:
    if not isinstance(axis, SetWeights) and len(axis.released) * len(axis.original) > WEIGHT_ROWS:
        return ""
    try:
        rows = list(weight_table_rows(axis))
    except PolicyError:
        return ""
    lines = [
        [*(_csv_field(handling, value) for value in cell), *(format(weight, ".17g") for weight in weights)]
        for cell, weights in ([(headings(axis), ()), *rows])
    ]
    return "".join(",".join(line) + "\n" for line in lines)


def cell_columns(axis: AxisWeights) -> tuple[tuple[Cell, ...], ...]:
    """Return the cells in the columns of a weight table: released and original ones; for sets, original ones."""
    return (axis.original,) if isinstance(axis, SetWeights) else (axis.released, axis.original)


def headings(axis: AxisWeights) -> tuple[str, ...]:
    """Return the column names of an axis' weight table."""
    if isinstance(axis, SetWeights):
        return (*_numbered_headings("original", axis), "weight_held", "weight_not_held")
    return (*_numbered_headings("released", axis), *_numbered_headings("original", axis), "weight")


def _numbered_headings(name: str, axis: AxisWeights) -> list[str]:
    width = len(axis.columns)
    return [name] if width == 1 else [f"{name}_{i}" for i in range(1, width + 1)]


def typed_headings(file: WeightFile, columns: Iterable[Column]) -> tuple[tuple[str, str], ...]:
    """Return the heading and the engine type of each column of a weight table."""
    kinds = {c.name: c.type or "VARCHAR" for c in columns}
    released = [kinds[name] for name in file.axis.columns]
    if file.sets:
        own = [*(kind.removesuffix("[]") for kind in released), "DOUBLE", "DOUBLE"]
    else:
        domains = zip(*file.axis.original, strict=True)
        own = [*released, *(engine_type_of(labels) or "VARCHAR" for labels in domains), "DOUBLE"]
    return tuple(zip(headings(file.axis), own, strict=True))


def safe_file_stem(name: str) -> str:
    """Return a file name for a column, safe on any system; unusual names get a hash against collisions."""
    if _PLAIN.fullmatch(name) and name == name.lower() and name not in _DEVICES:
        return name
    slug = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:40]
    return f"{slug or 'column'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _escaped_headings(axis: AxisWeights, handling: formulas.Handling) -> tuple[str, ...]:
    """Return the headings of an axis' weight table below which text is escaped."""
    columns = (column for side in cell_columns(axis) for column in zip(*side, strict=True))
    texts = ([value for value in column if isinstance(value, str)] for column in columns)
    told = zip(headings(axis), texts, strict=False)
    return tuple(
        name for name, text in told if handling == "escape" and any(formulas.escape_formula(t) != t for t in text)
    )


def decoder_weights(decoder: Decoder) -> tuple[AxisWeights, ...]:
    """Return the weights of a decoder; empty if this version cannot count with its form."""
    try:
        return axis_weights(decoder)
    except PolicyError:
        return ()


def _csv_field(handling: formulas.Handling, value: Value) -> str:
    """Return a CSV field: text in quotes, so that "" is not null; numbers unquoted."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    text = formulas.escape_formula(value) if handling == "escape" else value
    return '"' + text.replace('"', '""') + '"'


def r_string(value: str) -> str:
    """Return an R string literal."""
    escaped = "".join(c if c.isprintable() and c not in '"\\' else _escaped_character(c) for c in value)
    return f'"{escaped}"'


def r_column_class(column: Column) -> str:
    """Return R's class for a released column in CSV, as R; NA to let R choose."""
    if column.kind == "set":
        return r_string("character")
    return r_string(_label_class(column.labels)) if column.labels else "NA"


def r_column_classes(file: WeightFile) -> list[str]:
    """Return R's classes for the columns of the weight table of one column, as R."""
    cells = [_label_class(tuple(value for (value,) in side)) for side in cell_columns(file.axis)]
    return [r_string(name) for name in [*cells, "numeric", "numeric"][:3]]


def _label_class(labels: Sequence[Value]) -> str:
    """Return R's class for a column of these labels, so that released values and weights have the same notation."""
    if all(isinstance(v, bool) for v in labels):
        return "logical"
    return "character" if any(isinstance(v, (str, bool)) for v in labels) else "numeric"


def _escaped_character(character: str) -> str:
    return "\\" + character if character in '"\\' else f"\\U{{{ord(character):x}}}"
