"""Macros for DuckDB, made from a release: record weights by column, and aggregates that correct with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical_json import Value, category_text
from rrpolicy.channels.decoders import Cell
from rrpolicy.channels.table import engine_type_of
from rrpolicy.engine.quoting import (
    identifier,
    literal,
    sql_list,
    type_name,
)
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.printable import visible
from rrpolicy.estimate.weights.anatomy import AnatomyWeights
from rrpolicy.estimate.weights.base import AxisWeights, RetentionWeights
from rrpolicy.estimate.weights.sets import SetWeights
from rrpolicy.exports.jinja_environment import export_environment

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release

_ENTRIES = 20_000
"""Maximum number of weights in a macro, which is copied into every query; closed forms have no limit."""


_EACH = "category_that_is_asked_for"
"""The parameter of lambdas: arguments of a macro are inserted verbatim, so no column may have this name."""
_ASKED = "list_distinct(categories)"


def duckdb_program(release: Release) -> str:
    """Return the SQL: the view `release`, a macro and a view of categories for each column, and the aggregates.

    Raises:
        PolicyError: RR513 for anatomy groups, whose records have no weights, or data in a format of a plugin.
    """
    axes = {id(axis): axis for axis in release.columns.axes.values()}
    dealt = [axis for axis in axes.values() if isinstance(axis, AnatomyWeights)]
    if dealt:
        column = dealt[0].columns[0]
        message = f"{column!r} is released in a separate table: its counts have no weight per record"
        raise PolicyError(Problem("RR513", message, hint="estimate.sql in public/ joins the tables and counts"))
    kinds = {column.name: column.type for column in release.data.columns}
    taken: set[str] = set()
    parts = [part for axis in axes.values() if axis.unbiased for part in _axis_statements(axis, kinds, taken)]
    data, form, design = release.manifest.data, release.data.form, release.design
    template = export_environment().get_template("macros.sql")
    filled = {
        "manifest": release.manifest,
        "data": data,
        "form": form,
        "columns": release.data.columns,
        "lists": [c for c in release.data.columns if c.type.endswith("[]") and data.format == "csv"],
        "records": release.records,
        "most": release.max_records,
        "designed": design is not None,
        "weight": _survey_weight_column(release),
        "calibrated": design is not None and bool(design.totals),
        "clustered": release.weights_inside
        or (
            design is not None and bool(design.strata or design.clusters or design.randomised_clusters or design.totals)
        ),
        "weights_inside": release.weights_inside,
    }
    return template.render(filled) + "".join(f"\n{part}\n" for part in parts)


def _survey_weight_column(release: Release) -> str:
    """Return the column of survey weights, quoted for SQL; "" without one, or if it was randomised."""
    name = None if release.design is None else release.design.weight
    if name is None or (name in release.columns.axes and release.columns.axes[name].randomised):
        return ""
    cast = "" if release.columns.columns[name].type == "DOUBLE" else "::DOUBLE"
    return f"{identifier(name)}{cast}"


def _axis_statements(axis: AxisWeights, kinds: dict[str, str], taken: set[str]) -> Iterator[str]:
    if isinstance(axis, SetWeights) and len(axis.columns) > 1:
        yield f"-- no macro for {visible(', '.join(axis.columns))}: sets of values that belong together"
        return
    name, domain = _macro_and_view_names(axis, taken)
    original = _cells_list_sql(
        axis.columns, axis.original, [_category_type(axis, place, kinds) for place in range(len(axis.columns))]
    )
    shown = ", ".join(f"category.{identifier(c)} AS {identifier(c)}" for c in axis.columns)
    single = len(axis.columns) == 1
    yield (
        f"CREATE OR REPLACE TEMP VIEW {identifier(domain)} AS\n"
        f"SELECT {f'category AS {identifier(axis.columns[0])}' if single else shown} "
        f"FROM (SELECT unnest({original}) AS category);"
    )
    weight = _weight_expression(axis, original, kinds)
    if weight is None:
        why = "too many weights, or the released values do not distinguish its categories"
        yield f"-- no macro for {visible(', '.join(axis.columns))}: {why}"
        return
    released = ", ".join(f"r{place}" for place in range(len(axis.columns)))
    known = f"coalesce(list_position({original}, {_EACH}), 0)"
    message = literal(f"not a category of {', '.join(axis.columns)}")
    yield (
        f"CREATE OR REPLACE TEMP MACRO {identifier(name)}({released}, categories) AS CASE\n"
        f"    WHEN list_contains(list_transform(categories, lambda {_EACH}: {known} = 0), true)\n"
        f"    THEN error({message})\n"
        f"    WHEN len(list_distinct(categories)) = {len(axis.original)} THEN 1 ELSE {weight} END;"
    )


def _weight_expression(axis: AxisWeights, original: str, kinds: dict[str, str]) -> str | None:
    """Return the weight of released r0, r1, … in the count of some categories; None without a finite expression."""
    if isinstance(axis, SetWeights):
        held = f"len(list_filter({_ASKED}, lambda {_EACH}: list_contains(r0, {_EACH})))"
        return f"({held} * {axis.held!r}::DOUBLE + (len({_ASKED}) - {held}) * {axis.not_held!r}::DOUBLE)"
    own = _cell_sql(axis.columns, [f"r{place}" for place in range(len(axis.columns))])
    if not axis.randomised:
        return f"list_contains(categories, {own})::INT::DOUBLE"
    released = _cells_list_sql(axis.columns, axis.released, [type_name(kinds[c]) for c in axis.columns])
    try:
        if isinstance(axis, RetentionWeights):
            return _retention_expression(axis, original, released, own)
        if len(axis.released) * len(axis.original) > _ENTRIES:
            return None
        weights = _number_list_sql(axis.table.reshape(-1).tolist(), "DOUBLE")
    except PolicyError:
        return None
    place = f"(list_position({released}, {own}) - 1) * {len(axis.original)} + list_position({original}, {_EACH})"
    return f"list_sum(list_transform({_ASKED}, lambda {_EACH}: {weights}[{place}]))"


def _retention_expression(axis: RetentionWeights, original: str, released: str, own: str) -> str:
    """Return the closed form of retention in blocks.

    Raises:
        PolicyError: RR267 for a block without a description in the release.
    """
    pairs = [axis.kept_and_moved(block) for block in axis.blocks]
    if len(pairs) == 1:
        ((kept, moved),) = pairs
        same = f"list_contains(categories, {own})::INT"
        return f"({moved!r}::DOUBLE * len({_ASKED}) + {kept - moved!r}::DOUBLE * {same})"
    numbers = np.empty(len(axis.original), dtype=int)
    for number, block in enumerate(axis.blocks, 1):
        numbers[list(block.members)] = number
    blocks = _number_list_sql(numbers.tolist(), "BIGINT")
    b = f"{blocks}[list_position({released}, {own})]"
    inside = f"len(list_filter({_ASKED}, lambda {_EACH}: {blocks}[list_position({original}, {_EACH})] = {b}))"
    more = _number_list_sql([kept - moved for kept, moved in pairs], "DOUBLE")
    each = _number_list_sql([moved for _, moved in pairs], "DOUBLE")
    return f"({each}[{b}] * {inside} + {more}[{b}] * list_contains(categories, {own})::INT)"


def _macro_and_view_names(axis: AxisWeights, taken: set[str]) -> tuple[str, str]:
    """Return the names of the macro and of the view, unique among axes."""
    stem = "_".join(axis.columns)
    while stem.casefold() in taken:
        stem += "_"
    taken.add(stem.casefold())
    return f"w_{stem}", f"domain_{stem}"


def _category_type(axis: AxisWeights, place: int, kinds: dict[str, str]) -> str:
    """Return the engine's type of the original categories of a column."""
    own = kinds[axis.columns[place]].removesuffix("[]")
    if isinstance(axis, SetWeights) or axis.released == axis.original:
        return type_name(own)
    return type_name(engine_type_of(tuple(cell[place] for cell in axis.original)) or "VARCHAR")


def _cells_list_sql(columns: Sequence[str], cells: Sequence[Cell], types: Sequence[str]) -> str:
    """Return cells as an SQL list: values of one column, structs of several."""
    if len(columns) == 1:
        return sql_list([_category_value(cell[0], types[0]) for cell in cells], types[0])
    fields = ", ".join(f"{identifier(c)} {kind}" for c, kind in zip(columns, types, strict=True))
    spelled = (
        _cell_sql(columns, [literal(_category_value(v, t)) for v, t in zip(cell, types, strict=True)]) for cell in cells
    )
    return f"[{', '.join(spelled)}]::STRUCT({fields})[]"


def _cell_sql(columns: Sequence[str], values: Sequence[str]) -> str:
    if len(columns) == 1:
        return values[0]
    return "{" + ", ".join(f"{literal(c)}: {v}" for c, v in zip(columns, values, strict=True)) + "}"


def _category_value(value: Value, kind: str) -> Value:
    """Return a category as in the data: numbers in a text column are text."""
    return category_text(value) if kind == "VARCHAR" else value


def _number_list_sql(values: Sequence[float], kind: str) -> str:
    return "([" + ", ".join(map(repr, values)) + f"]::{kind}[])"
