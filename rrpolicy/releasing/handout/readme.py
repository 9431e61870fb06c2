"""The README of public/, for an analyst who has only R or SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from rrpolicy.channel.table import Column
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.errors import PolicyError
from rrpolicy.estimate.opening import column_from_json, decoder_from_json
from rrpolicy.estimate.weights.base import AxisWeights, MatrixWeights, RetentionWeights
from rrpolicy.estimate.weights.form import axis_weights
from rrpolicy.estimate.weights.recode import RecodeWeights
from rrpolicy.estimate.weights.sets import SetWeights
from rrpolicy.releasing.handout import readme_anatomy, readme_recode
from rrpolicy.releasing.handout.markdown import block, cell, code, prose
from rrpolicy.releasing.handout.readme_formulas import formula_text
from rrpolicy.releasing.handout.readme_missing import missing_values
from rrpolicy.releasing.handout.readme_r import r_section
from rrpolicy.releasing.handout.sql import two_way_of
from rrpolicy.releasing.handout.sql_anatomy import is_dealt
from rrpolicy.releasing.handout.weights import WeightFile, weight_files

_SHOWN = 8


def readme(document: Mapping[str, Any]) -> str:
    """Return README.md for public/: columns, how they were randomised, how to count, and what not to do.

    Args:
        document: release.json.
    """
    if is_dealt(document):
        return readme_anatomy.readme(document, lambda text: _opening(document, text))
    columns = [column_from_json(c) for c in document["tables"][0]["columns"]]
    weights = weight_files(document)
    spread = any(isinstance(w.axis, RecodeWeights) for w in weights)
    sections = [
        _opening(document, readme_recode.OPENING if spread else RANDOMISED),
        _columns(document, columns),
        formula_text(document, columns, weights),
        missing_values(document, columns, weights),
        readme_recode.how_to_count(weights) if spread else _how_to_count(weights),
        _sql(document, weights),
        "" if spread else r_section(document, columns, weights),
        _rrpolicy(weights),
        readme_recode.NEVER if spread else _never(),
        _files(document, weights),
    ]
    return "\n\n".join(s for s in sections if s) + "\n"


RANDOMISED = """\
Before publication the values of some columns were changed at random, record by record, with known probabilities.
**Plain counts of those columns are biased.** They can be corrected without bias, with standard errors, from the files
in this folder alone. Rows are sorted by their values: their order says nothing."""


def _opening(document: Mapping[str, Any], what_was_done: str) -> str:
    policy = document["policy"]
    label = f", release {prose(document['release'])}" if document.get("release") else ""
    return f"""# {prose(policy["name"])} {prose(policy["version"])}{label}

{int(document["records"]):,} records, {_whose(document)}.
Purpose: {prose(policy["purpose"])}. Owner: {prose(policy["owner"])}.

{what_was_done}"""


def _whose(document: Mapping[str, Any]) -> str:
    most = int(document["units"]["max_records"])
    if most == 1:
        return "one a person"
    return (
        f"up to {most} a person. Which belong to one person is not released: standard errors hold of this table, and "
        "none can be given of a population"
    )


def _columns(document: Mapping[str, Any], columns: Sequence[Column]) -> str:
    axes = _axes(document)
    lines = ["## The columns", "", "| column | categories | how it was released |", "|---|---|---|"]
    for column in columns:
        shown = ", ".join(cell(str(v)) for v in column.labels[:_SHOWN])
        more = f", … ({len(column.labels)} in all)" if len(column.labels) > _SHOWN else ""
        kind = shown + more if column.labels else "(values as they are)"
        lines.append(f"| {cell(column.name)} | {kind} | {_treatment(axes.get(column.name))} |")
    lines += ["", "The exact transition matrices, as fractions, stand in `release.json` under `decoders`."]
    if document["assumptions"]:
        lines += ["", "The publisher's assumptions:", "", *(f"- {prose(str(a))}" for a in document["assumptions"])]
    return "\n".join(lines)


def _treatment(axis: AxisWeights | None) -> str:
    if isinstance(axis, RecodeWeights):
        return readme_recode.treatment(axis) if axis.randomised else "as it is"
    return "as it is" if axis is None or not axis.randomised else _randomised(axis)


def _randomised(axis: AxisWeights) -> str:
    together = f", together with {', '.join(map(code, axis.columns))}" if len(axis.columns) > 1 else ""
    match axis:
        case RetentionWeights(blocks=((members, keep),)):
            return f"{_kept(keep, len(members))}, else another of the {len(members)} categories, all alike"
        case RetentionWeights(blocks=blocks):
            parts = sorted({_kept(keep, len(m)) for m, keep in blocks})
            return f"exchanged inside {len(blocks)} blocks of categories only: {'; '.join(parts)}"
        case SetWeights(set_size=l, original=values):
            what = "combinations" if together else "categories"
            return (
                f"as a set of {l} of the {len(values)} {what}: the original one and {l - 1} drawn at random{together}"
            )
        case MatrixWeights():
            return f"by an explicit transition matrix{together}"
        case _:
            return f"randomised{together}"


def _kept(keep: Fraction, size: int) -> str:
    return "kept" if size == 1 else f"kept with probability {float(keep):.6g}"


def _how_to_count(weights: Sequence[WeightFile]) -> str:
    if not weights:
        return "## How to count\n\nNo column was randomised: plain counts are the original ones."
    names = ", ".join(f"`{w.path}`" for w in weights)
    sets = [w for w in weights if isinstance(w.axis, SetWeights)]
    return f"""## How to count

An original count is a **sum of record weights**. The weight tables ({names}) hold, for every released value and every
original category, one number: the weight that a record with this released value has in the count of that category.

- One column: sum the weights over all records.
- Several columns: multiply a record's weights, one for each randomised column that the table or the condition names.
  A column that is not named needs no weight. Columns released as they are need none: filter and group them as usual.
- Several categories of one column (`IN`): add their weights first, record by record, then go on.
{_of_sets(sets)}
With w the weight of a record and N the number of records:

| | estimate | variance |
|---|---|---|
| this table (only the randomisation is random) | sum(w) | sum(w²) − sum(w) |
| the population it was drawn from, scaled to N | sum(w) | N/(N−1) · (sum(w²) − sum(w)²/N) |

The 95 % interval is estimate ± 1.96 · √variance, cut off at 0 and N. If the first variance is negative, use the second
and say so. With fewer than 5 released records in a cell the interval is unreliable. Never mix the two variances: the
smaller one does not cover the population."""


def _of_sets(sets: Sequence[WeightFile]) -> str:
    if not sets:
        return ""
    names = ", ".join(code(c) for w in sets for c in w.axis.columns)
    together = any(len(w.axis.columns) > 1 for w in sets)
    lists = " Lists that were made together are read in step: their i-th entries belong together." if together else ""
    return f"""- Sets ({names}): a record's weight in the count of a category is `weight_held` if its set holds the
  category, else `weight_not_held`. In which place of its set a category stands says nothing.{lists}
"""


def _sql(document: Mapping[str, Any], weights: Sequence[WeightFile]) -> str:
    if not weights:
        return ""
    view, column, category = weights[0].view, weights[0].axis.columns[0], weights[0].axis.original[0][0]
    name = two_way_of(document, weights)
    heading = "original" if len(weights[0].axis.columns) == 1 else "original_1"
    released = "released" if len(weights[0].axis.columns) == 1 else "released_1"
    lines = [
        "## In SQL",
        "",
        "Run in this folder with DuckDB; it prints corrected tables, and leaves views to go on with:",
        "",
        "```sh",
        "duckdb -init estimate.sql",
        "```",
    ]
    if name:
        lines += ["", *block("sql", [f"FROM {identifier(name)};"])]
    if len(weights[0].axis.columns) == 1 and not isinstance(weights[0].axis, SetWeights):
        se = ", sqrt(sum(weight ** 2) - sum(weight)) AS se" if weights[0].axis.unbiased else ""
        lines += [
            "",
            f"A count under a condition on {code(column)} is a sum over `original`:",
            "",
            *block(
                "sql",
                [
                    f"SELECT sum(weight) AS estimate{se}",
                    f"FROM release AS r JOIN {identifier(view)} AS w ON r.{identifier(column)} = w.{released}",
                    f"WHERE w.{heading} = {literal(category)};",
                ],
            ),
        ]
    return "\n".join(lines)


def _rrpolicy(weights: Sequence[WeightFile]) -> str:
    column = weights[0].axis.columns[0] if weights else "column"
    return f"""## With rrpolicy

```python
import rrpolicy

rrpolicy.open_release(".").crosstab([{column!r}]).to_frame()
```

This adds conditions, any number of columns, both targets, covariances, and flags on unreliable cells; and means,
measures of association, rules, loglinear models, tests, and what holds without any correction."""


def _never() -> str:
    return """## What not to do

- Do not use plain counts, means or models of randomised columns as if they were the original values.
- Do not set negative estimates to 0 before adding them up: their sum would be biased. Cut off intervals, not estimates.
- Do not refer a chi-square statistic of a *corrected* table to the chi-square law: at independence it rejects about
  half the time. Test independence on the released columns as they are (the level holds, power is lost), or by Wald
  with the covariance of the corrected counts.
- Do not correct the table of all columns at once: nearly all its cells are noise. Correct the marginal you need.
- Counts are right on average; ratios of them (means, shares, measures of association) in large releases only.
- Do not read a single record: it may say nothing of any person. Do not try to find out who is in it, nor join this
  release with another of the same people: what each protects, the two together do not."""


def _files(document: Mapping[str, Any], weights: Sequence[WeightFile]) -> str:
    data = document["data"]["tables"]["data"]["path"]
    lines = [
        "## The files",
        "",
        f"- {code(data)}: the records",
        "- `release.json`: everything about the release, exactly, with a digest of each file",
        "- `datapackage.json`: the columns and their domains (Frictionless)",
        "- `estimate.sql`: corrected tables in DuckDB",
        *(f"- `{w.path}`: weights of {', '.join(code(c) for c in w.axis.columns)}" for w in weights),
    ]
    written = {c for w in weights for c in w.axis.columns}
    missing = [c for c, a in _axes(document).items() if a.randomised and c not in written]
    if missing:
        lines.append(
            f"- no weights for {', '.join(code(c) for c in missing)}: too many categories for a table, or the "
            "released values do not determine the counts; the matrix stands in `release.json`"
        )
    return "\n".join(lines)


def _axes(document: Mapping[str, Any]) -> dict[str, AxisWeights]:
    found: dict[str, AxisWeights] = {}
    for item in document["decoders"]:
        try:
            found |= {c: a for a in axis_weights(decoder_from_json(item)) for c in a.columns}
        except PolicyError:
            continue
    return found
