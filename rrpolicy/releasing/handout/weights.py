"""Weight tables: one CSV an axis, what a record's weight is in the count of each original category."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from rrpolicy.canonical import Value
from rrpolicy.channel.table import Decoder
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.opening import decoder_from_json
from rrpolicy.estimate.weights.anatomy import AnatomyWeights
from rrpolicy.estimate.weights.base import AxisWeights
from rrpolicy.estimate.weights.form import axis_weights
from rrpolicy.estimate.weights.sets import SetWeights
from rrpolicy.untrusted import formulas

WEIGHT_ROWS = 1_000_000
"""A weight table with more rows is not written: its matrix stands in release.json, and retention has a closed form."""

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,62}")
_DEVICES = {"con", "prn", "aux", "nul", *(f"{d}{i}" for d in ("com", "lpt") for i in range(10))}


@dataclass(frozen=True, slots=True)
class WeightFile:
    """One weight table.

    Attributes:
        axis: the columns it undoes and their cells.
        path: relative to public/.
        view: its name in estimate.sql.
        escaped: the headings of columns with text that is escaped: a spreadsheet would run it as a formula.
    """

    axis: AxisWeights
    path: str
    view: str
    escaped: tuple[str, ...] = ()


def weight_tables(decoder: Decoder, handling: formulas.Handling) -> tuple[tuple[AxisWeights, str, str], ...]:
    """Return the weights, the path and the text of each weight table of a decoder.

    Long form, best for joins: `released`, `original`, `weight`; of coupled columns `released_1`, `original_1`, ….
    A sum of `weight` over released records estimates the count of `original`. Seventeen significant digits: what is
    read is the double that was written. Of sets: `original`, `weight_held`, `weight_not_held`, the weights of records
    whose set holds the category and of those whose does not. Generalised columns have one table each; rows without
    weight are left out.

    The text is "" where there is none to write.

    Args:
        decoder: whose axes are undone.
        handling: of text that a spreadsheet would run as a formula.
    """
    axes = [a for a in axes_of(decoder) if a.randomised and not isinstance(a, AnatomyWeights)]
    return tuple((axis, f"weights/{file_stem(' '.join(axis.columns))}.csv", _table(axis, handling)) for axis in axes)


def _table(axis: AxisWeights, handling: formulas.Handling) -> str:
    field = partial(_field, handling)
    if isinstance(axis, SetWeights):
        return _membership_table(axis, field)
    try:
        if len(axis.released) * len(axis.original) > WEIGHT_ROWS:
            return ""
        table = axis.table
    except PolicyError:
        return ""
    lines = [",".join(map(field, headings(axis)))]
    for u, released in enumerate(axis.released):
        for v, original in enumerate(axis.original):
            if axis.unbiased or table[u, v]:
                weight = format(float(table[u, v]), ".17g")
                lines.append(",".join([*map(field, released), *map(field, original), weight]))
    return "\n".join(lines) + "\n"


def _membership_table(axis: SetWeights, field: Callable[[Value], str]) -> str:
    weights = ",".join(format(w, ".17g") for w in (axis.held, axis.not_held))
    lines = [",".join(map(field, headings(axis)))]
    lines += [",".join([*map(field, cell), weights]) for cell in axis.original]
    return "\n".join(lines) + "\n"


def headings(axis: AxisWeights) -> tuple[str, ...]:
    """Return the column names of an axis' weight table."""
    if isinstance(axis, SetWeights):
        width = len(axis.columns)
        named = ["original"] if width == 1 else [f"original_{i}" for i in range(1, width + 1)]
        return (*named, "weight_held", "weight_not_held")
    if len(axis.columns) == 1:
        return ("released", "original", "weight")
    numbers = range(1, len(axis.columns) + 1)
    return (*(f"released_{i}" for i in numbers), *(f"original_{i}" for i in numbers), "weight")


def file_stem(name: str) -> str:
    """Return a file name for a column, safe on any system; all but plain lower-case names get a hash: none collide."""
    if _PLAIN.fullmatch(name) and name == name.lower() and name not in _DEVICES:
        return name
    slug = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")[:40]
    return f"{slug or 'column'}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def original_headings(axis: AxisWeights) -> tuple[str, ...]:
    """Return the names of the original categories' columns in an axis' weight table."""
    width, first = len(axis.columns), 0 if isinstance(axis, SetWeights) else len(axis.columns)
    return headings(axis)[first : first + width]


def weight_files(document: Mapping[str, Any]) -> tuple[WeightFile, ...]:
    """Return the weight tables of a release, in the order of its decoders."""
    handling = document["data"]["csv_formulas"]
    return tuple(
        WeightFile(axis, path, "_".join(["weights", *axis.columns]), _escaped(axis, handling))
        for item in document["decoders"]
        for axis, path, text in weight_tables(decoder_from_json(item), handling)
        if text
    )


def _escaped(axis: AxisWeights, handling: formulas.Handling) -> tuple[str, ...]:
    """Return the headings of an axis' weight table below which text is escaped."""
    cells = [axis.original] if isinstance(axis, SetWeights) else [axis.released, axis.original]
    columns = (column for side in cells for column in zip(*side, strict=True))
    texts = ([value for value in column if isinstance(value, str)] for column in columns)
    told = zip(headings(axis), texts, strict=False)
    return tuple(name for name, text in told if handling == "escape" and any(formulas.escaped(t) != t for t in text))


def axes_of(decoder: Decoder) -> tuple[AxisWeights, ...]:
    """Return the weights of a decoder; none if it is of a form that this version does not count."""
    try:
        return axis_weights(decoder)
    except PolicyError:
        return ()


def _field(handling: formulas.Handling, value: Value) -> str:
    """Write a CSV field: text in quotes, so that "" is not null; numbers as they are."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    text = formulas.escaped(value) if handling == "escape" else value
    return '"' + text.replace('"', '""') + '"'
