"""estimate.sql: weight tables read, and corrected tables printed, for who has only an engine of SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rrpolicy.canonical import Value
from rrpolicy.channel.table import Column
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.estimate.counts.scan import scan
from rrpolicy.estimate.opening import column_from_json, decoder_from_json
from rrpolicy.estimate.weights.base import AxisWeights
from rrpolicy.estimate.weights.sets import SetWeights
from rrpolicy.releasing.handout import sql_anatomy
from rrpolicy.releasing.handout.sql_recode import SPREAD_HEADING, released_view, spread_view
from rrpolicy.releasing.handout.weights import (
    WeightFile,
    axes_of,
    headings,
    original_headings,
    weight_files,
)
from rrpolicy.untrusted import formulas

_Z95 = "1.959963984540054"


def estimate_sql(document: Mapping[str, Any]) -> str:
    """Return estimate.sql: it runs as it is in DuckDB (`duckdb < estimate.sql` in public/), and prints estimates.

    It defines the view `release`, a table of weights for every randomised axis, and views with the corrected one-way
    tables and one two-way table, each with both standard errors and the interval of this table.
    """
    if sql_anatomy.is_dealt(document):
        return sql_anatomy.estimate_sql(document)
    (table,) = document["tables"][:1]
    columns = [column_from_json(c) for c in table["columns"]]
    weights = weight_files(document)
    heading = _heading(int(document["records"])) if all(w.axis.unbiased for w in weights) else SPREAD_HEADING
    parts = [heading, _release_view(document, columns)]
    parts += [_weights_table(w, {c.name: c for c in columns}) for w in weights]
    views = [released_view(w.axis.columns) for w in weights if not w.axis.unbiased]
    views += [one_way(w, int(document["records"])) for w in weights]
    pair = _pair(document, weights)
    if pair:
        views.append(two_way(*pair, int(document["records"])))
    if document["units"]["max_records"] > 1:
        parts.append(_SEVERAL)
    parts += [sql for _, sql in views]
    parts.append("-- The examples, as they run:")
    parts += [f"SELECT * FROM {identifier(name)};" for name, _ in views]  # noqa: S608 - text for a file
    return "\n\n".join(parts) + "\n"


_SEVERAL = """-- A person may have several records: do not use se_population, which takes records for independent.
-- se, low and high are of this table and hold, because every record was randomised by itself."""


def one_way(file: WeightFile, records: int) -> tuple[str, str]:
    """Return the name and the SQL of the view with the corrected counts of one axis."""
    return _corrected("_".join(["estimate", *file.axis.columns]), [file], records)


def two_way(first: WeightFile, second: WeightFile | str, records: int) -> tuple[str, str]:
    """Return the name and the SQL of the view with the corrected counts of two axes.

    Args:
        first: a weight table.
        second: likewise, or the name of a column released as it is.
        records: N.
    """
    columns = [*first.axis.columns, *([second] if isinstance(second, str) else second.axis.columns)]
    return _corrected("_by_".join(["estimate", *columns]), [first, second], records)


def result_names(columns: Sequence[str]) -> tuple[str, ...]:
    """Return the result columns' names in SQL, each with underscores behind it if a grouping column has it already.

    They are estimate, se, se_population, low, high.
    """
    taken = {c.casefold() for c in columns}
    return tuple(_free(name, taken) for name in ("estimate", "se", "se_population", "low", "high"))


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _corrected(name: str, parts: Sequence[WeightFile | str], records: int) -> tuple[str, str]:
    """Write a view: group the release, weight the groups, sum, then variances and the interval."""
    columns: list[str] = []
    joins, shown, weight = [], [], []
    for alias, part in zip(("a", "b"), parts, strict=False):
        if isinstance(part, str):
            columns.append(part)
            shown.append(f"r.{identifier(part)}")
            continue
        columns += part.axis.columns
        joins.append(f"JOIN {identifier(part.view)} AS {alias} ON {_join(part, alias)}")
        pairs = zip(original_headings(part.axis), part.axis.columns, strict=True)
        shown += [f"{alias}.{identifier(h)} AS {identifier(c)}" for h, c in pairs]
        weight.append(_weight(part, alias))
    listed = ", ".join(map(identifier, columns))
    if not all(isinstance(part, str) or part.axis.unbiased for part in parts):
        return name, spread_view(name, columns, joins, shown, weight)
    taken = {c.casefold() for c in columns}
    estimate, se, se_population, low, high = result_names(columns)
    n, w, square, variance, population, middle = (
        _free(k, taken) for k in ("n", "w", "sum_w2", "var_table", "var_population", "middle")
    )
    joined = "\n    ".join(joins)
    N = f"{records}::DOUBLE"
    return (
        name,
        f"""CREATE OR REPLACE TEMP VIEW {identifier(name)} AS
WITH r AS (
    SELECT {listed}, count(*) AS {n} FROM release GROUP BY ALL
), weighted AS (
    SELECT {", ".join(shown)}, r.{n} AS {n}, {" * ".join(weight)} AS {w}
    FROM r
    {joined}
), sums AS (
    SELECT {listed}, sum({n} * {w}) AS {estimate}, sum({n} * {w} ** 2) AS {square}
    FROM weighted GROUP BY ALL
), variances AS (
    SELECT {listed}, {estimate},
        CASE WHEN abs({square} - {estimate}) <= 1e-9 * {square} THEN 0 ELSE {square} - {estimate} END AS {variance},
        {N} / greatest({N} - 1, 1) * greatest({square} - {estimate} ** 2 / {N}, 0) AS {population}
    FROM sums
), errors AS (
    SELECT {listed}, {estimate}, sqrt(CASE WHEN {variance} < 0 THEN {population} ELSE {variance} END) AS {se},
        sqrt({population}) AS {se_population}
    FROM variances
), centred AS (
    SELECT *, CASE WHEN {estimate} + {_Z95} * {se} <= 0 THEN 0 WHEN {estimate} - {_Z95} * {se} >= {N} THEN {N}
        ELSE {estimate} END AS {middle}
    FROM errors
)
SELECT {listed}, {estimate}, {se}, {se_population},
    least(greatest({middle} - {_Z95} * {se}, 0), {N}) AS {low},
    least(greatest({middle} + {_Z95} * {se}, 0), {N}) AS {high}
FROM centred ORDER BY {listed};""",  # noqa: S608 - text for a file, names are quoted
    )


def _heading(records: int) -> str:
    return f"""-- Corrected counts from this release, in plain DuckDB: run `duckdb < estimate.sql` in this folder.
-- Every released value of a randomised column may differ from the original one, so plain counts are biased.
-- A count of original records is a sum of record weights: weight = product of one weight for each randomised column
-- that the query names (columns it does not name need none). For {records} records, with w the weight of a record:
--   estimate            = sum(w)                 (unbiased; may be negative: do not clip it)
--   variance, table     = sum(w^2) - sum(w)      (this table: only the randomisation is random)
--   variance, population = N/(N-1) * (sum(w^2) - sum(w)^2/N)   (the table is a random sample of a population)
-- se is of this table (of the population where its own variance is negative); low and high are its 95 % interval.
-- An interval that lies outside [0, N] altogether is drawn around the nearest possible count instead: never a point.
-- A normal interval is unreliable where fewer than 5 released records have the category.
-- A condition on a randomised column is one on `original` of its weights; on any other column, a plain WHERE."""


def _release_view(document: Mapping[str, Any], columns: Sequence[Column]) -> str:
    data = document["data"]
    path = data["tables"]["data"]["path"]
    if data["format"] == "duckdb":
        source = f"ATTACH IF NOT EXISTS {literal(path)} AS released (READ_ONLY);\n"
        return source + "CREATE OR REPLACE TEMP VIEW release AS SELECT * FROM released.data;"  # noqa: S608 - likewise
    lists = [c for c in columns if c.type.endswith("[]") and data["format"] == "csv"]
    parsed = ", ".join(f"{identifier(c.name)}::JSON::{c.type} AS {identifier(c.name)}" for c in lists)
    shown = f"* REPLACE ({parsed})" if lists else "*"
    scanned = scan(path, data["format"], columns, data["csv_formulas"])
    return f"CREATE OR REPLACE TEMP VIEW release AS SELECT {shown} FROM {scanned};"  # noqa: S608 - likewise


def _weights_table(file: WeightFile, columns: Mapping[str, Column]) -> str:
    types = [columns[c].type or "VARCHAR" for c in file.axis.columns]
    own = [*types, *map(_type_of, _domains(file.axis)), "DOUBLE"]
    if isinstance(file.axis, SetWeights):
        own = [*(kind.removesuffix("[]") for kind in types), "DOUBLE", "DOUBLE"]
    named = zip(headings(file.axis), own, strict=True)
    listed = ", ".join(f"{literal(h)}: {literal(t)}" for h, t in named)
    said = ", ".join(f"{formulas.unescaped_sql(identifier(h))} AS {identifier(h)}" for h in file.escaped)
    shown = f"* REPLACE ({said})" if said else "*"
    return f"""CREATE OR REPLACE TEMP TABLE {identifier(file.view)} AS
SELECT {shown} FROM read_csv({literal(file.path)}, auto_detect = false, header = true, delim = ',', quote = '"',
    escape = '"', allow_quoted_nulls = false, columns = {{{listed}}});"""  # noqa: S608 - likewise


def two_way_of(document: Mapping[str, Any], weights: Sequence[WeightFile]) -> str | None:
    """Return the name of the view with the two-way example; None if there is none."""
    pair = _pair(document, weights)
    return two_way(*pair, int(document["records"]))[0] if pair else None


def _pair(document: Mapping[str, Any], weights: Sequence[WeightFile]) -> tuple[WeightFile, WeightFile | str] | None:
    """Return what the two-way example is of: two randomised axes, else one and a column released as it is."""
    if len(weights) > 1:
        return weights[0], weights[1]
    plain = [
        c for d in document["decoders"] for a in axes_of(decoder_from_json(d)) if not a.randomised for c in a.columns
    ]
    return (weights[0], plain[0]) if weights and plain else None


def _join(file: WeightFile, alias: str) -> str:
    if isinstance(file.axis, SetWeights):
        return "true"
    released = headings(file.axis)[: len(file.axis.columns)]
    return " AND ".join(
        f"r.{identifier(c)} = {alias}.{identifier(h)}" for c, h in zip(file.axis.columns, released, strict=True)
    )


def _weight(file: WeightFile, alias: str) -> str:
    """Return a record's weight as SQL: of sets, by whether the record's set holds the category."""
    if not isinstance(file.axis, SetWeights):
        return f"{alias}.weight"
    pairs = zip(file.axis.columns, original_headings(file.axis), strict=True)
    equal = " AND ".join(f"r.{identifier(c)}[i] = {alias}.{identifier(h)}" for c, h in pairs)
    entries = f"range(1, len(r.{identifier(file.axis.columns[0])}) + 1)"
    held = f"len(list_filter({entries}, lambda i: {equal})) > 0"
    return f"CASE WHEN {held} THEN {alias}.weight_held ELSE {alias}.weight_not_held END"


def _domains(axis: AxisWeights) -> list[tuple[Value, ...]]:
    return [tuple(cell[j] for cell in axis.original) for j in range(len(axis.columns))]


def _type_of(labels: tuple[Value, ...]) -> str:
    from rrpolicy.estimate.opening import engine_type

    return engine_type(labels) or "VARCHAR"
