"""What the bundle's README says of missing values: which category they are, and that no average may count it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rrpolicy.canonical import Value
from rrpolicy.channel.table import Column, text
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.estimate.counts.columns import kind_of, same
from rrpolicy.estimate.weights.sets import SetWeights
from rrpolicy.releasing.handout.markdown import block, code
from rrpolicy.releasing.handout.weights import WeightFile


def missing_values(document: Mapping[str, Any], columns: Sequence[Column], weights: Sequence[WeightFile] = ()) -> str:
    """Return the section on missing values; empty if no column has a category of them.

    Args:
        document: release.json.
        columns: the released columns.
        weights: the weight tables, for an example.
    """
    nulls = {a["name"]: a.get("nulls") for a in document.get("attributes", ())}
    missing = {c.name: v for c in columns if c.labels and (v := nulls.get(c.attribute)) is not None}
    if not missing:
        return ""
    lines = [
        "## Missing values",
        "",
        "A category stands for no value; it is counted like any other, and left out of averages and sums:",
        "",
        *(f"- {code(name)}: {code(str(v))}" for name, v in missing.items()),
    ]
    held = {c.name: c for c in columns}
    numbers = (w for w in weights if _of_numbers(w, missing))
    example = next(numbers, None)
    if example is not None:
        name = example.axis.columns[0]
        lines += ["", *_average(example, held[name], missing[name])]
    return "\n".join(lines)


def _of_numbers(file: WeightFile, missing: Mapping[str, Value]) -> bool:
    """Return whether a weight table is of one column whose categories are numbers but for the missing one."""
    axis = file.axis
    if len(axis.columns) > 1 or axis.columns[0] not in missing or isinstance(axis, SetWeights):
        return False
    absent = missing[axis.columns[0]]
    return axis.unbiased and all(kind_of(v) == "number" or same(v, absent) for (v,) in axis.original)


def _average(file: WeightFile, column: Column, absent: Value) -> list[str]:
    """Return the average of a column of numbers in SQL, without the category of missing values."""
    spelled = literal(text(absent) if any(isinstance(v, str) for (v,) in file.axis.original) else absent)
    return [
        f"The average of {code(column.name)} in SQL, after `estimate.sql` (in R, leave out the same weights):",
        "",
        *block(
            "sql",
            [
                "SELECT sum(w.weight * CAST(w.original AS DOUBLE)) / sum(w.weight) AS mean",
                f"FROM release AS r JOIN {identifier(file.view)} AS w ON r.{identifier(column.name)} = w.released",
                f"WHERE w.original <> {spelled};",
            ],
        ),
    ]
