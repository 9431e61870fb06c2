"""Results as text for a terminal, as CSV, and as cells of a notebook's table: one printer for every kind."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from rrpolicy.escaping import formulas
from rrpolicy.escaping.printable import visible
from rrpolicy.estimate.results.flags import AS_RELEASED, MEANINGS
from rrpolicy.estimate.results.quantities import SINGLE_QUANTITY_NAMES, EstimatedQuantity, ResultColumn
from rrpolicy.numbers import fixed_number, level_percent, p_value, percent

if TYPE_CHECKING:
    from rrpolicy.counts import Array, Ints
    from rrpolicy.estimate.results.result import Result

_COUNTS = {
    "table": "this table's counts (only the randomisation is random)",
    "population": "N times the population's shares (the table is a random sample)",
}
_OTHERS = {
    "table": "of this table (only the randomisation is random)",
    "population": "of the population (the table is a random sample)",
}
_SAMPLED_COUNTS = {
    "table": "weighted counts of this table (only the randomisation is random)",
    "population": "people of the population (sample and randomisation are random)",
}
_SAMPLED_OTHERS = {
    "table": "of this table, weighted (only the randomisation is random)",
    "population": "of the population (sample and randomisation are random)",
}
_EXACT = "exact: the counted columns were released unchanged, or are counted by released labels"
_AS_RELEASED = "exact counts of what was released; at least and at most are certain bounds of the original"
_BOUNDS = "low and high are certain bounds, not a confidence interval: {} can lie outside them"
_NO_BOUNDS = "no interval: certain bounds apply to this table alone"
_NO_ENDS = "no interval and no bounds: counts are spread evenly inside released groups, with unknown error"
_NOT_BOUNDED = "not bounded"
_DIGITS, _ERROR_DIGITS, _MOST_DECIMALS = 4, 2, 9


class ResultText(Struct, frozen=True):
    """A result as it is read.

    Attributes:
        head: lines above the rows.
        columns: each a name and its cells.
        left: whether each column is text, aligned to the left.
        foot: lines below the rows.
        after: for each column, the quantity that ends with it; "" for none.
    """

    head: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]
    left: tuple[bool, ...]
    foot: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """Return the names, and the cells of each row."""
        return list(zip(*self.columns, strict=True))


def text(found: Result) -> str:
    """Return an aligned table with a heading, and the meaning of its flags below."""
    made = layout_result(found)
    widths = [max(map(len, column)) for column in made.columns]
    aligned = [
        "  ".join(c.ljust(w) if left else c.rjust(w) for c, w, left in zip(row, widths, made.left, strict=True))
        for row in made.rows
    ]
    return "\n".join([*made.head, "", *(row.rstrip() for row in aligned), *made.foot])


def csv(columns: Mapping[str, Sequence[Any]], handling: formulas.Handling) -> str:
    """Return columns as CSV with a header.

    `handling`: of text that a spreadsheet would run as a formula.
    """
    import csv as form
    import io

    out = io.StringIO()
    writer = form.writer(out, lineterminator="\n")
    writer.writerow(columns)
    rows = ([_field(v) for v in row] for row in zip(*columns.values(), strict=True))
    writer.writerows([_escape_field(v) if handling == "escape" else v for v in row] for row in rows)
    return out.getvalue()


def plain(value: Any) -> Any:
    """Return a value in the form of one cell: lists and named values as text."""
    if isinstance(value, list):
        return "; ".join(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {v}" for name, v in value.items())
    return value


def kind_of_ends(found: Result) -> str:
    """Return the meaning of a plot's marks and bars, in words."""
    of = "this table" if found.target == "table" else "the population"
    if is_spread(found):
        ends = "certain bounds, not intervals" if has_certain_bounds(found) else "no intervals"
        return f"Spread evenly inside released groups (biased); {ends}, of {of}"
    if found.exact:
        return f"As released, with certain bounds, of {of}" if is_labelled_count(found) else f"Exact, of {of}"
    has_ends = any(np.isfinite(m.ends(found.level, found.target)).any() for m in found.quantities)
    return f"Estimates {f'with {_percent(found)}' if has_ends else 'without'} intervals, of {of}"


def flag_signs(found: Result) -> dict[str, str]:
    """Return the flags of a result, each with the sign that represents it."""
    flags = dict.fromkeys(f for m in found.quantities for row in m.flags for f in row)
    return {flag: "*" * (i + 1) for i, flag in enumerate(flags)}


def describe_estimates(found: Result, part: EstimatedQuantity) -> list[str]:
    """Return each estimate with its interval, in words."""
    if found.exact and not is_labelled_count(found):
        return next(iter(_exact(found, part).values()))
    ends = part.ends(found.level, found.target)
    said = []
    for estimate, low, high in zip(*_blocks(found, part, [part.estimate, ends[:, 0], ends[:, 1]]), strict=True):
        interval = "" if "-" in {low, high} else f" ({low} to {high})"
        said.append(f"{'not estimable' if estimate == '-' else estimate}{interval}")
    return said


def layout_result(found: Result) -> ResultText:
    """Return a result as it is read."""
    marks = flag_signs(found)
    columns: list[tuple[tuple[str, ...], bool, str]] = []
    for part in found.contents():
        if isinstance(part, EstimatedQuantity):
            columns += [((name, *cells), False, "") for name, cells in _numbers(found, part).items()]
            if any(part.flags):
                columns.append((("", *(" ".join(marks[f] for f in row) for row in part.flags)), True, ""))
            columns[-1] = (*columns[-1][:2], part.name)
        elif part.printed:
            columns.append(((visible(part.name), *_cells(part)), not _is_numeric(part), ""))
    others = (
        part.cells for part in found.contents() if isinstance(part, ResultColumn) and part.printed and not part.key
    )
    named = dict.fromkeys(v for cells in others for v in cells if isinstance(v, str) and v in MEANINGS)
    foot = (
        *(f"{mark} {flag}: {MEANINGS[flag]}" for flag, mark in marks.items()),
        *(f"{value}: {MEANINGS[value]}" for value in named if value not in marks),
        *(f"note: {visible(note)}" for note in found.all_notes()),
    )
    cells, left, after = (tuple(part) for part in zip(*columns, strict=True))
    return ResultText(_head(found), cells, left, foot, after)


def _head(found: Result) -> tuple[str, ...]:
    """Return the meaning of the rows, their target, and the meaning of low and high."""
    where = "" if found.where is None else f" where {visible(found.where)}"
    counts = any(m.whole is not None for m in found.quantities)
    if found.sample is not None:
        of = (_SAMPLED_COUNTS if counts else _SAMPLED_OTHERS)[found.target]
    elif found.target == "table" and (is_spread(found) or found.exact):
        of = "this table's counts" if counts else "of this table"
    else:
        of = (_COUNTS if counts else _OTHERS)[found.target]
    ends = found.interval_description().replace("{level}", _percent(found))
    if is_spread(found):
        bounds = _BOUNDS.format("no count" if counts else "no value of this table")
        ends = bounds if has_certain_bounds(found) else _NO_ENDS if found.target == "table" else _NO_BOUNDS
    exact = _AS_RELEASED if is_labelled_count(found) else _EXACT
    told = exact if found.exact else "; ".join(filter(None, (found.method_description(), ends)))
    return (
        f"{visible(found.title)}{where}: {of}",
        f"{_of_records(found)}; {told}",
        *(() if found.sample is None else (visible(found.sample.description),)),
        *map(visible, found.preface()),
    )


def _of_records(found: Result) -> str:
    """Return the number of records of the release, some of which a condition may exclude."""
    if found.where is None:
        return f"{found.records:,} records"
    some = "those that satisfy the condition"
    if not found.exact:
        some += " (an estimate if it contains a randomised column)"
    return f"of {found.records:,} records in the release, {some}"


def _numbers(found: Result, part: EstimatedQuantity) -> dict[str, list[str]]:
    """Return an estimate, its standard error and its ends as columns of text; of an exact one, itself alone."""
    if found.exact:
        return _exact(found, part)
    ends = part.ends(found.level, found.target)
    values = [part.estimate, part.errors[found.target], ends[:, 0], ends[:, 1]]
    shown = [0, 1, 2, 3] if not part.biased else [0, 2, 3] if part.at_level or has_certain_bounds(found) else [0]
    of = "" if part.names != SINGLE_QUANTITY_NAMES else ", certain" if is_spread(found) else f" {_percent(found)}"
    names = [visible(name) for name in part.names[:2]] + [f"{visible(name)}{of}" for name in part.names[2:4]]
    return dict(zip((names[i] for i in shown), _blocks(found, part, [values[i] for i in shown]), strict=True))


def is_spread(found: Result) -> bool:
    """Return whether all that is not exact was spread inside released groups, and no bound depends on the level."""
    return found.biased and all(m.exact or (m.biased and not m.at_level) for m in found.quantities)


def has_certain_bounds(found: Result) -> bool:
    """Return whether bounds of spread counts are certain: for counts of this table, not for functions of them."""
    if found.target != "table":
        return False
    return not any(np.isnan(m.ends(found.level, found.target)).all() for m in found.quantities if m.estimate.size)


def _exact(found: Result, part: EstimatedQuantity) -> dict[str, list[str]]:
    """Return exact numbers; of the only count in a result, its share as well."""
    numbers = _blocks(found, part, [part.estimate])[0]
    bounds = _bounds(found, part)
    if part.whole is None:
        return {visible(part.name): numbers, **bounds}
    numbers = [fixed_number(v) for v in part.estimate]
    if part.names != SINGLE_QUANTITY_NAMES:
        return {visible(part.name): numbers, **bounds}
    shares = [percent(v / part.whole) if part.whole else "-" for v in part.estimate]
    return {"count": numbers, "share": shares, **bounds}


def _bounds(found: Result, part: EstimatedQuantity) -> dict[str, list[str]]:
    """Return the certain bounds of exact numbers of released labels, if some labels overlap."""
    if not _is_labelled(part):
        return {}
    ends = part.ends(found.level, found.target)
    of = "" if part.names == SINGLE_QUANTITY_NAMES else f"{visible(part.name)} "
    whole = [[fixed_number(v) for v in side] for side in ends.T] if part.whole is not None else None
    return dict(zip((f"{of}at least", f"{of}at most"), whole or _blocks(found, part, [*ends.T]), strict=True))


def is_labelled_count(found: Result) -> bool:
    """Return whether numbers are exact for released labels, and bounded for the categories that labels cover."""
    return found.exact and any(map(_is_labelled, found.quantities))


def _is_labelled(part: EstimatedQuantity) -> bool:
    return any(AS_RELEASED in flags for flags in part.flags)


def _blocks(found: Result, part: EstimatedQuantity, columns: Sequence[Array]) -> list[list[str]]:
    """Return numbers with as many decimals as their block needs: all rows, or each row if their units differ."""
    error, rows = part.errors[found.target], np.arange(part.estimate.size)
    ends = part.ends(found.level, found.target)

    def needed(block: Ints) -> int:
        estimated = part.estimate[block]
        return _decimals(estimated if np.isfinite(estimated).any() else ends[block].reshape(-1), error[block])

    decimals = [needed(rows)] * rows.size if found.same_unit else [needed(rows[i : i + 1]) for i in rows]
    return [[_format_number(float(v), d) for v, d in zip(column, decimals, strict=True)] for column in columns]


def _decimals(values: Array, errors: Array) -> int:
    """Return decimals that show four digits of the largest value and two of the middle error; at least one."""
    sizes = np.abs(values[np.isfinite(values)])
    known = errors[np.isfinite(errors) & (errors > 0)]
    asked = [(float(sizes.max(initial=0.0)), _DIGITS), (float(np.median(known)) if known.size else 0.0, _ERROR_DIGITS)]
    needed = [digits - 1 - math.floor(math.log10(size)) for size, digits in asked if size > 0]
    return min(max([1, *needed]), _MOST_DECIMALS)


def _format_number(value: float, decimals: int) -> str:
    """Return a number; an end may be not bounded."""
    if math.isinf(value):
        return _NOT_BOUNDED
    return "-" if math.isnan(value) else fixed_number(value, decimals)


def _cells(part: ResultColumn) -> list[str]:
    """Return the values of a column; empty where a row sums over it."""
    if part.p_values:
        return [p_value(float(v)) for v in part.cells]
    if any(isinstance(v, float) for v in part.cells) and not part.key:
        values = np.array(part.cells, dtype=np.float64)
        decimals = _decimals(values, np.zeros(0))
        return [_format_number(float(v), decimals) for v in values]
    return ["" if v is None else visible(str(_field(v))) for v in part.cells]


def _is_numeric(part: ResultColumn) -> bool:
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in part.cells if v is not None)


def _field(value: Any) -> Any:
    """Return a value as a CSV field: empty for None."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else plain(value)


def _escape_field(field: Any) -> Any:
    return formulas.escape_formula(field) if isinstance(field, str) else field


def _percent(found: Result) -> str:
    return level_percent(found.level)
