"""estimate.sql of a release whose columns were generalised: even spread, and what is certain."""

from __future__ import annotations

from collections.abc import Sequence

from rrpolicy.engine.quoting import identifier

SPREAD_HEADING = """-- Counts by original category, in plain DuckDB: run `duckdb < estimate.sql` in this folder.
-- Columns were generalised: a released label stands for one original category or several, and `*` for any. Counts of
-- released labels are exact: they come first. Inside a label, a record counts in equal shares for every category that
-- the label stands for:
-- weight = product of one weight for each generalised column that the query names.
--   estimate = sum(w)                  (biased where a group is not spread evenly; it has no standard error)
--   low      = records with w = 1      (they are certain to be in the cell)
--   high     = records with w > 0      (no other record can be in the cell)
-- A condition on a generalised column is one on `original` of its weights; on any other column, a plain WHERE."""


def spread_view(
    name: str, columns: Sequence[str], joins: Sequence[str], shown: Sequence[str], weight: Sequence[str]
) -> str:
    """Return the view of a table by generalised columns.

    Args:
        name: of the view.
        columns: that are grouped by.
        joins: of the weight tables, each with its condition.
        shown: what the grouping columns are selected as.
        weight: each weight table's weight.
    """
    listed = ", ".join(map(identifier, columns))
    taken = {c.casefold() for c in columns}
    n, w, estimate, low, high = (_free(k, taken) for k in ("n", "w", "estimate", "low", "high"))
    joined = "\n    ".join(joins)
    return f"""CREATE OR REPLACE TEMP VIEW {identifier(name)} AS
WITH r AS (
    SELECT {listed}, count(*) AS {n} FROM release GROUP BY ALL
), weighted AS (
    SELECT {", ".join(shown)}, r.{n} AS {n}, {" * ".join(weight)} AS {w}
    FROM r
    {joined}
)
SELECT {listed}, sum({n} * {w}) AS {estimate},
    sum(CASE WHEN {w} >= 1 THEN {n} ELSE 0 END) AS {low}, sum({n}) AS {high}
FROM weighted GROUP BY ALL ORDER BY {listed};"""  # noqa: S608 - text for a file, names are quoted


def released_view(columns: Sequence[str]) -> tuple[str, str]:
    """Return the name and the SQL of the view that counts some columns by their released labels: exact.

    Args:
        columns: to group by.
    """
    name = "_by_".join(["released", *columns])
    listed = ", ".join(map(identifier, columns))
    n = _free("records", {c.casefold() for c in columns})
    view = f"CREATE OR REPLACE TEMP VIEW {identifier(name)} AS\nSELECT {listed}, count(*) AS {n}"
    return name, f"{view} FROM release GROUP BY ALL ORDER BY {n} DESC, {listed};"


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    return name
