"""The least and the largest value of a column that is released unchanged, by groups that are: exact, of this table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rrpolicy.canonical_json import Value
from rrpolicy.estimate.counts.condition import split
from rrpolicy.estimate.counts.grouping import grouping, groups_of
from rrpolicy.estimate.counts.scan import count, extremes
from rrpolicy.estimate.expression import Expression
from rrpolicy.estimate.query.aggregate import unsupported_query_error

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release

NOTE = "min and max are exact, and of this table alone: columns, groups and conditions that nothing was randomised in"


def extreme(
    release: Release, kind: str, value: str, by: Sequence[str], conjuncts: Sequence[Expression]
) -> Mapping[tuple[Value, ...], Any]:
    """Return group -> the least, or the largest, value; a group without one is missing.

    Args:
        release: opened.
        kind: "min" or "max".
        value: exact name of the column.
        by: exact names of the columns that are grouped by.
        conjuncts: of the condition.

    Raises:
        PolicyError: RR272 where the column, a group or a condition was randomised; else as `Release.crosstab`.
    """
    columns = release.columns
    condition = split(conjuncts, columns)
    names, axes = grouping(columns, by, condition)
    own = columns.axes.get(value)
    drawn = [*axes, *(axis for axis, _ in condition.masks.values()), *([own] if own is not None else [])]
    randomised = [name for axis in drawn if axis.randomised for name in axis.columns]
    if randomised:
        reason = f"{kind}() of what a randomised column says is that of released values, which no weights correct"
        raise unsupported_query_error(f"{reason}: {randomised[0]!r} is randomised", "ask for shares by categories")
    if value in columns.spread or value in columns.labels:
        raise unsupported_query_error(f"{kind}() takes a column that was released as it is, which {value!r} is not")
    best = min if kind == "min" else max
    if own is None:
        if columns.columns[value].kind != "carried":
            raise unsupported_query_error(f"{kind}() takes a column of values, which {value!r} is not")
        codes, *ends = extremes(release.data, axes, value, condition.filter, condition.parameters)
        values = ends[kind == "max"]
    else:
        every = axes if any(axis is own for axis in axes) else [*axes, own]
        codes, n = count(release.data, every, condition.filter, condition.parameters)
        place = next(i for i, axis in enumerate(every) if axis is own)
        labels, without = own.told_of(value), columns.numberless(value)
        values = [
            labels[code] if records and labels[code] not in without else None
            for code, records in zip(codes[place].tolist(), n.tolist(), strict=True)
        ]
    shown = [[axis.told_of(c) for c in groups_of(axis, names, condition)[0].columns] for axis in axes]
    order = [c for axis in axes for c in groups_of(axis, names, condition)[0].columns]
    found: dict[tuple[Value, ...], Any] = {}
    for row, one in enumerate(values):
        if one is None:
            continue
        told = [labels[code[row]] for parts, code in zip(shown, codes, strict=False) for labels in parts]
        named = dict(zip(order, told, strict=True))
        key = tuple(named[name] for name in names)
        found[key] = best(found[key], one) if key in found else one
    return {key: one if isinstance(one, (str, int, float, bool)) else str(one) for key, one in found.items()}
