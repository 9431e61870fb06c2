"""The README of public/ for a release of dealt groups in two tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rrpolicy.engine.quoting import identifier
from rrpolicy.estimate.opening import column_from_json
from rrpolicy.releasing.handout.markdown import block, cell, code, prose
from rrpolicy.releasing.handout.readme_formulas import escaped_columns, formula_text
from rrpolicy.releasing.handout.readme_missing import missing_values
from rrpolicy.releasing.handout.sql_anatomy import columns_of, examples, shared

_SHOWN = 8


def readme(document: Mapping[str, Any], opening: Callable[[str], str]) -> str:
    """Return README.md.

    Args:
        document: release.json.
        opening: its head, around what was done.
    """
    p = shared(document)
    size = int(document["channel"]["size"])
    sections = [
        opening(_what_was_done(p, size)),
        _columns(document, p),
        formula_text(document, [c for t in (p["of"], p["table"]) for c in columns_of(document, t)]),
        missing_values(document, [column_from_json(c) for t in document["tables"] for c in t["columns"]]),
        _how_to_count(p),
        _sql(document),
        _r(document, p),
        _rrpolicy(document),
        NEVER,
        _files(document, p),
    ]
    return "\n\n".join(s for s in sections if s) + "\n"


NEVER = """## What not to do

- Do not join the tables and count the rows: every record would stand as often as its group has values.
- Do not take a record's value from its group. Which of the values is the record's own is not in this release.
- Do not give the estimate a standard error: that of a sum of independent weights is wrong, as records of one group have
  its values between them, and none covers the bias.
- Do not study how the sensitive column goes with the others as if nothing had happened: estimates are drawn towards
  independence, all the more the larger the groups.
- Do not try to find out who is in it. The other columns are as they were, and people may be recognised by them."""


def _what_was_done(p: Mapping[str, Any], size: int) -> str:
    return f"""Before publication the records were dealt at random into groups of {size} different values of
{code(p["column"])} (a few have more), and split into two tables: `{p["of"]}` has every record with its group, all
columns as they are; `{p["table"]}` has the values of each group. **Which value of its group a record has is not
released.** Groups are numbered at random and rows are sorted: neither numbers nor order say anything."""


def _columns(document: Mapping[str, Any], p: Mapping[str, Any]) -> str:
    lines = ["## The columns", "", "| table | column | categories |", "|---|---|---|"]
    for table in (p["of"], p["table"]):
        for column in columns_of(document, table):
            shown = ", ".join(cell(str(v)) for v in column.labels[:_SHOWN])
            more = f", … ({len(column.labels)} in all)" if len(column.labels) > _SHOWN else ""
            other = {
                "group": "(the group's number, by which both join)",
                "count": "(records of the group with the value)",
            }
            kind = shown + more if column.labels else other.get(column.kind, "(values as they are)")
            lines.append(f"| `{table}` | {cell(column.name)} | {kind} |")
    if document["assumptions"]:
        lines += ["", "The publisher's assumptions:", "", *(f"- {prose(str(a))}" for a in document["assumptions"])]
    return "\n".join(lines)


def _how_to_count(p: Mapping[str, Any]) -> str:
    return f"""## How to count

- By columns of `{p["of"]}` alone, or by {code(p["column"])} alone (add up {code(p["count"])} in `{p["table"]}`):
  plain counts, exact.
- By both: join by {code(p["key"])}. Of a group of n records, let a be those that you ask for in `{p["of"]}`, and b
  the values that you ask for in `{p["table"]}`. Then, summed over all groups:

| | |
|---|---|
| estimate | sum(a b / n) |
| the true count is at least | sum(max(0, a + b − n)) |
| and at most | sum(min(a, b)) |

The estimate spreads a group's values evenly over its records: right on average only if, inside groups, values go with
records by chance; where the sensitive column goes with the others, the estimate lies nearer to independence than the
truth. This release cannot show how much nearer, so that there is no standard error. The two bounds are certain,
whatever goes with what."""


def _sql(document: Mapping[str, Any]) -> str:
    names = examples(document)
    lines = ["## In SQL", "", "Run in this folder with DuckDB; it prints tables, and leaves views to go on with:", ""]
    lines += ["```sh", "duckdb -init estimate.sql", "```"]
    if len(names) > 1:
        view = "estimate_" + "_by_".join(names)
        lines += ["", *block("sql", [f"FROM {identifier(view)};"])]
    return "\n".join(lines)


def _r(document: Mapping[str, Any], p: Mapping[str, Any]) -> str:
    """Return the same count in R; nothing for a DuckDB file, which estimate.sql reads."""
    from rrpolicy.releasing.handout.readme_r import r_text, r_unescaped

    names, form = examples(document), document["data"]["format"]
    if len(names) == 1 or form == "duckdb":
        return "## In R\n\nRead the tables through the package `duckdb`, and count as in `estimate.sql`."
    read = "read.csv" if form == "csv" else "as.data.frame(arrow::read_parquet"
    ends = ", check.names = FALSE, na.strings = character(0))" if form == "csv" else "))"
    paths = {name: r_text(document["data"]["tables"][name]["path"]) for name in (p["of"], p["table"])}
    reading = [
        f"qit <- {read}({paths[p['of']]}{ends}",
        f"st <- {read}({paths[p['table']]}{ends}",
    ]
    reading += [
        line
        for frame, name in (("qit", p["of"]), ("st", p["table"]))
        for line in r_unescaped(frame, escaped_columns(document, columns_of(document, name)))
    ]
    opened = "\n".join(reading)
    column, value, key, count = (r_text(text) for text in (names[0], p["column"], p["key"], p["count"]))
    return f"""## In R

```r
{opened}
a <- as.data.frame(table(g = qit[[{key}]], q = qit[[{column}]]), responseName = "a", stringsAsFactors = FALSE)
b <- data.frame(g = as.character(st[[{key}]]), v = st[[{value}]], b = st[[{count}]])
n <- data.frame(g = names(tapply(b$b, b$g, sum)), n = as.vector(tapply(b$b, b$g, sum)))
m <- merge(merge(a[a$a > 0, ], b), n)
estimate <- tapply(m$a * m$b / m$n, list(m$q, m$v), sum)
low <- tapply(pmax(0, m$a + m$b - m$n), list(m$q, m$v), sum)
high <- tapply(pmin(m$a, m$b), list(m$q, m$v), sum)
estimate
low
high
```"""


def _rrpolicy(document: Mapping[str, Any]) -> str:
    names = ", ".join(repr(name) for name in examples(document))
    return f"""## With rrpolicy

```python
import rrpolicy

rrpolicy.open_release(".").crosstab([{names}]).to_frame()
```

This adds conditions, and any number of columns."""


def _files(document: Mapping[str, Any], p: Mapping[str, Any]) -> str:
    paths = {name: code(document["data"]["tables"][name]["path"]) for name in (p["of"], p["table"])}
    return f"""## The files

- {paths[p["of"]]}: the records, each with the number of its group
- {paths[p["table"]]}: the values of each group
- `release.json`: everything about the release, exactly, with a digest of each file
- `datapackage.json`: the columns and their domains (Frictionless)
- `estimate.sql`: tables in DuckDB"""
