"""estimate.sql of a release of dealt groups: both tables, their join, and counts by uniform spread inside groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rrpolicy.channel.table import Column
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.estimate.counts.scan import scan
from rrpolicy.estimate.opening import column_from_json


def is_dealt(document: Mapping[str, Any]) -> bool:
    """Return whether release.json is of dealt groups in two tables."""
    return any(decoder["form"] == "share" for decoder in document["decoders"])


def shared(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters of the share decoder."""
    found: Mapping[str, Any] = next(d["parameters"] for d in document["decoders"] if d["form"] == "share")
    return found


def columns_of(document: Mapping[str, Any], table: str) -> tuple[Column, ...]:
    """Return the columns of a table of release.json."""
    described = next(t for t in document["tables"] if t["name"] == table)
    return tuple(column_from_json(c) for c in described["columns"])


def estimate_sql(document: Mapping[str, Any]) -> str:
    """Return estimate.sql: it defines both tables, their join and example counts, and prints these."""
    p = shared(document)
    known = [c for c in columns_of(document, p["of"]) if c.kind != "group"]
    grouped = next((c.name for c in known if c.labels), None)
    parts = [_heading(p), *(_view(document, table) for table in (p["of"], p["table"]))]
    parts.append(_joined(p))
    exact = f"estimate_{p['column']}"
    parts.append(_by_value(p, exact))
    names = [exact]
    if grouped is not None:
        names.append(f"estimate_{grouped}_by_{p['column']}")
        parts.append(two_way(p, grouped))
    parts.append("-- The examples, as they run:")
    parts += [f"SELECT * FROM {identifier(name)};" for name in names]  # noqa: S608 - text for a file
    return "\n\n".join(parts) + "\n"


def two_way(p: Mapping[str, Any], column: str) -> str:
    """Return the view of counts by a column of the records and the sensitive one, with what is certain.

    Args:
        p: parameters of the share decoder.
        column: released as it is.
    """
    key, value, count = identifier(p["key"]), identifier(p["column"]), identifier(p["count"])
    of, table, by = identifier(p["of"]), identifier(p["table"]), identifier(column)
    taken = {column.casefold(), p["column"].casefold(), p["key"].casefold()}
    estimate, low, high, flags, a, b, n = (
        _free(name, taken) for name in ("estimate", "low", "high", "flags", "a", "b", "n")
    )
    return f"""-- By both: change the columns of `a` (and a WHERE there) and the values of `b` for other counts.
CREATE OR REPLACE TEMP VIEW {identifier(f"estimate_{column}_by_{p['column']}")} AS
WITH a AS (
    SELECT {key}, {by}, count(*) AS {a} FROM {of} GROUP BY ALL
), n AS (
    SELECT {key}, sum({count})::DOUBLE AS {n} FROM {table} GROUP BY ALL
), b AS (
    SELECT {key}, {value}, sum({count}) AS {b} FROM {table} GROUP BY ALL
), sums AS (
    SELECT {by}, {value}, sum({a} * {b} / {n}) AS {estimate},
        sum(greatest({a} + {b} - {n}, 0))::BIGINT AS {low}, sum(least({a}, {b}))::BIGINT AS {high}
    FROM a JOIN n USING ({key}) JOIN b USING ({key}) GROUP BY ALL
)
SELECT {by}, {value}, {estimate}, {low}, {high}, CASE WHEN {low} < {high} THEN 'spread' ELSE '' END AS {flags}
FROM sums ORDER BY {by}, {value};"""  # noqa: S608 - text for a file, names are quoted


def _joined(p: Mapping[str, Any]) -> str:
    key, count, table = identifier(p["key"]), identifier(p["count"]), identifier(p["table"])
    return f"""-- Every record with every value of its group; `share` is how likely it is the record's own by chance.
CREATE OR REPLACE TEMP VIEW joined AS
SELECT records.*, {table}.{identifier(p["column"])}, {table}.{count} / sizes.n AS share
FROM {identifier(p["of"])} AS records JOIN {table} USING ({key})
JOIN (SELECT {key}, sum({count})::DOUBLE AS n FROM {table} GROUP BY ALL) AS sizes USING ({key});"""  # noqa: S608 - likewise


def _by_value(p: Mapping[str, Any], name: str) -> str:
    return f"""-- By the sensitive column alone: exact.
CREATE OR REPLACE TEMP VIEW {identifier(name)} AS
SELECT {identifier(p["column"])}, sum({identifier(p["count"])})::BIGINT AS records
FROM {identifier(p["table"])} GROUP BY ALL ORDER BY ALL;"""  # noqa: S608 - likewise


def _heading(p: Mapping[str, Any]) -> str:
    return f"""-- Counts from this release, in plain DuckDB: run `duckdb < estimate.sql` in this folder.
-- Records and sensitive values stand in two tables, joined by {p["key"]}: a record's value is one of its group's.
-- Counts by the columns of one table are exact. Across both, a record counts in equal shares for its group's values.
-- Of a group of n records, a with what is asked of {p["of"]} and b values with what is asked of {p["table"]}:
--   estimate = sum(a b / n)
--   low      = sum(max(0, a + b - n))     (no fewer records can have both)
--   high     = sum(min(a, b))             (nor more)
--   flags    = 'spread' where low and high differ: they are certain, the estimate is not
-- The estimate is biased: where values go with the other columns it is drawn towards independence. It has no standard
-- error: nothing in this release tells how far off it is, but that it lies between low and high."""


def _view(document: Mapping[str, Any], table: str) -> str:
    data, columns = document["data"], columns_of(document, table)
    path = data["tables"][table]["path"]
    if data["format"] == "duckdb":
        name = identifier(f"released_{table}")
        source = f"ATTACH IF NOT EXISTS {literal(path)} AS {name} (READ_ONLY);\n"
        return source + f"CREATE OR REPLACE TEMP VIEW {identifier(table)} AS SELECT * FROM {name}.{identifier(table)};"  # noqa: S608 - likewise
    scanned = scan(path, data["format"], columns, data["csv_formulas"])
    return f"CREATE OR REPLACE TEMP VIEW {identifier(table)} AS SELECT * FROM {scanned};"  # noqa: S608 - likewise


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name


def examples(document: Mapping[str, Any]) -> Sequence[str]:
    """Return the names of the columns of the two-way example; one if there is none."""
    p = shared(document)
    known = [c.name for c in columns_of(document, p["of"]) if c.labels]
    return [*known[:1], p["column"]]
