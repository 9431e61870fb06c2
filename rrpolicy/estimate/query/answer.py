"""From a query to its answer: every aggregate by every set of groups, then ORDER BY and LIMIT over the estimates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from rrpolicy.canonical_json import Value
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate import LEVEL
from rrpolicy.estimate.counts.condition import split
from rrpolicy.estimate.counts.grouping import Grouping
from rrpolicy.estimate.counts.missing import note_on_count, notes_on_condition
from rrpolicy.estimate.counts.scan import count, extremes
from rrpolicy.estimate.expression import ColumnComparison, Expression, Null, columns_of, evaluate, leaves_of
from rrpolicy.estimate.query.aggregate import EXTREMES, Aggregate, unsupported_query_error
from rrpolicy.estimate.query.join import Given, own_table
from rrpolicy.estimate.query.join import join_tables as joined_to
from rrpolicy.estimate.query.parse import Query, SortKey, parse_query
from rrpolicy.estimate.results.answer import Answer
from rrpolicy.estimate.results.estimates import Estimates
from rrpolicy.estimate.results.flags import NOT_ESTIMABLE, SELECTED
from rrpolicy.estimate.results.quantities import (
    SINGLE_QUANTITY_NAMES,
    EstimatedQuantity,
    ResultColumn,
    concatenate_quantities,
    quantity_column_names,
)
from rrpolicy.estimate.results.target import Sample, Target, check_target
from rrpolicy.estimate.sums.category_values import Limits, notes_on_category_values
from rrpolicy.estimate.sums.cube import notes_on_labels
from rrpolicy.estimate.sums.means import Means, Totals, estimate_numbers
from rrpolicy.estimate.sums.shares import shares
from rrpolicy.frozen_dataclass import frozen

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
    groups = Grouping.of(columns, by, condition)
    axes, own = groups.axes, columns.axes.get(value)
    drawn = [*axes, *condition.axes, *([own] if own is not None else [])]
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
        labels, without = own.labels_of(value), columns.numberless(value)
        values = [
            labels[code] if records and labels[code] not in without else None
            for code, records in zip(codes[place].tolist(), n.tolist(), strict=True)
        ]
    shown = [[axis.labels_of(c) for c in group.columns] for axis, group in zip(axes, groups.groups, strict=True)]
    order = [c for group in groups.groups for c in group.columns]
    found: dict[tuple[Value, ...], Any] = {}
    for row, one in enumerate(values):
        if one is None:
            continue
        told = [labels[code[row]] for parts, code in zip(shown, codes, strict=False) for labels in parts]
        named = dict(zip(order, told, strict=True))
        key = tuple(named[name] for name in groups.by)
        found[key] = best(found[key], one) if key in found else one
    return {key: one if isinstance(one, (str, int, float, bool)) else str(one) for key, one in found.items()}


Key: TypeAlias = tuple[Value, ...]
_BASES: Mapping[str, str] = {
    "count": "count", "share": "share", "avg": "avg_{}", "sum": "sum_{}", "min": "min_{}", "max": "max_{}"
}  # fmt: skip

_UNLIMITED: Limits = (None, None)


@frozen
class _ResolvedQuery:
    """A query of a release: its sets of groups by exact names, the groups of each, and where columns of bins stop."""

    release: Release
    query: Query
    sets: tuple[tuple[str, ...], ...]
    keys: tuple[Sequence[Key], ...]
    target: Target
    level: float
    limits: Mapping[str, Limits]


def answer(  # noqa: PLR0917 what a query is asked with
    release: Release,
    sql: str,
    target: Target,
    level: float,
    tables: Mapping[str, Given] | None,
    limits: Mapping[str, Limits] | None,
) -> Answer:
    """Answer a query; `Release.query` says how.

    Raises:
        PolicyError: RR272 for what cannot be corrected; RR508 for a table that cannot be joined; else as
            `Release.crosstab` and `Release.mean`.
    """
    query = parse_query(sql, {name: own_table(name, given) for name, given in (tables or {}).items()})
    check_target(target, level, release.max_records)
    release, conditions, left_out = joined_to(release, query.joins)
    query = replace(query, conjuncts=(*query.conjuncts, *conditions))
    by = tuple(map(release.columns.name, query.by))
    sets = tuple(tuple(b for b in by if b in set(map(release.columns.name, chosen))) for chosen in query.sets)
    keys = tuple(_keys(release, chosen, query.conjuncts) for chosen in sets)
    stops = {release.columns.name(name): ends for name, ends in (limits or {}).items()}
    asked = _ResolvedQuery(release, query, sets, keys, target, level, stops)
    _refuse_unused(asked)
    grouped = [dict(zip(chosen, key, strict=True)) for chosen, part in zip(sets, keys, strict=True) for key in part]
    rows = tuple({b: key.get(b) for b in by} for key in grouped)
    selected: list[ResultColumn | EstimatedQuantity] = []
    for item, names in zip(query.items, _names(query, release), strict=True):
        selected.append(_select_item(asked, item.of, names, rows))
    found = Answer(
        sql, by, rows, tuple(selected),
        where=query.where, target=target, level=level, records=release.records,
        notes=tuple(dict.fromkeys((*left_out, *_notes_on_extremes(query), *_notes_on_missing(asked)))),
        max_records=release.max_records, sample=_sample(asked),
    )  # fmt: skip
    return _sort_and_limit(_apply_having(found, asked), query)


def _refuse_unused(asked: _ResolvedQuery) -> None:
    """Refuse limits of columns that no average or sum is of.

    Raises:
        PolicyError: RR532.
    """
    of = [*(item.of for item in asked.query.items), *(asked.query.having.of if asked.query.having else ())]
    named = [part.value for part in of if isinstance(part, Aggregate) and part.kind in {"avg", "sum"} and part.value]
    unused = set(asked.limits) - set(map(asked.release.columns.name, named))
    if unused:
        message = f"limits are given for {min(unused)!r}, which the query takes no average or sum of"
        raise PolicyError(Problem("RR532", message, expected="limits of columns under avg(…) or sum(…)"))


def _sample(asked: _ResolvedQuery) -> Sample | None:
    """Return how the records were sampled, where estimates go by that."""
    if asked.release.design is None:
        return None
    everybody = split((), asked.release.columns)
    (whole,) = asked.release.tables((), [()], None, everybody, target=asked.target, level=asked.level)
    return whole.sample


def _select_item(
    asked: _ResolvedQuery, of: str | Aggregate, names: tuple[str, ...], rows: Sequence[Mapping[str, Value | None]]
) -> ResultColumn | EstimatedQuantity:
    """Return an item of the SELECT list, or of HAVING, over all rows."""
    if isinstance(of, str):
        source = asked.release.columns.name(of)
        return ResultColumn(names[0], tuple(row.get(source) for row in rows))
    labelled = of.value is not None and asked.release.columns.name(of.value) in asked.release.columns.labels
    if labelled and of.kind not in {"avg", "sum"}:
        raise unsupported_query_error(f"{of.kind}() takes a released column, and not one of a table that is joined")
    if of.kind not in EXTREMES:
        return _estimate_aggregate(asked, of, names)
    value = asked.release.columns.name(str(of.value))
    conjuncts = (*asked.query.conjuncts, *_effective_conditions(asked.release, of.condition))
    parts = (
        (extreme(asked.release, of.kind, value, chosen, conjuncts), keys)
        for chosen, keys in zip(asked.sets, asked.keys, strict=True)
    )
    return ResultColumn(names[0], tuple(found.get(key) for found, keys in parts for key in keys), key=False)


def _notes_on_extremes(query: Query) -> Iterator[str]:
    """Yield what is to be known of MIN and MAX."""
    if any(isinstance(item.of, Aggregate) and item.of.kind in EXTREMES for item in query.items):
        yield NOTE


def _apply_having(found: Answer, asked: _ResolvedQuery) -> Answer:
    """Return the rows that HAVING keeps; one of which something that it asks for is not known is left out."""
    having = asked.query.having
    if having is None:
        return found
    known: list[ResultColumn | EstimatedQuantity] = []
    for of in having.of:
        place = next((i for i, item in enumerate(asked.query.items) if item.of == of), None)
        known.append(
            _select_item(asked, of, SINGLE_QUANTITY_NAMES, found.keys) if place is None else found.selected[place]
        )
    cells = [p.cells if isinstance(p, ResultColumn) else tuple(p.estimate.tolist()) for p in known]
    rows = [dict(zip(map(str, range(len(cells))), row, strict=True)) for row in zip(*cells, strict=True)]
    for leaf in leaves_of(having.expression):
        compared = [row[leaf.column] for row in rows if not _is_absent(row[leaf.column])]
        text = isinstance(leaf, ColumnComparison) and isinstance(leaf.value, str)
        if compared and all(isinstance(value, str) != text for value in compared):
            raise unsupported_query_error("HAVING compares text with a number")
    chosen = [
        i for i, row in enumerate(rows) if not any(map(_is_absent, row.values())) and evaluate(having.expression, row)
    ]
    estimated = any(isinstance(p, EstimatedQuantity) and not p.exact for p in known) and len(chosen) < len(rows)
    return _take_rows(found, chosen, (*found.notes, SELECTED) if estimated else found.notes)


def _take_rows(found: Answer, rows: Sequence[int], notes: tuple[str, ...]) -> Answer:
    """Return some of the rows of an answer."""
    return replace(
        found,
        keys=tuple(found.keys[i] for i in rows),
        selected=tuple(part.select(rows) for part in found.selected),
        notes=tuple(dict.fromkeys(notes)),
    )


def _notes_on_missing(asked: _ResolvedQuery) -> Iterator[str]:
    """Yield which records are left out, for every column of which some have no value or no number."""
    items = [item.of for item in asked.query.items if isinstance(item.of, Aggregate)]
    conditions = [asked.query.conjuncts, *((*asked.query.conjuncts, *of.condition) for of in items if of.condition)]
    for condition in conditions:
        yield from notes_on_condition(asked.release, condition)
    values = dict.fromkeys(
        asked.release.columns.name(of.value) for of in items if of.kind in {"avg", "sum"} and of.value
    )
    columns = asked.release.columns
    lacking = {a.release_as for a in asked.release.manifest.attributes if a.keeps_nulls}
    for chosen in asked.sets:
        yield from notes_on_labels(asked.release, chosen, asked.query.conjuncts)
    for value in dict.fromkeys(columns.name(of.value) for of in items if of.kind == "count" and of.value):
        if value in columns.missing or value in lacking:
            yield note_on_count(asked.release, value, asked.query.conjuncts)
    for value in values:
        yield from notes_on_category_values(columns, value)
        if columns.numberless(value) or columns.bins(value) or value in lacking:
            stops = asked.limits.get(value, _UNLIMITED)
            whole = estimate_numbers(
                Means,
                asked.release,
                value,
                (),
                asked.query.conjuncts,
                target=asked.target,
                level=asked.level,
                limits=stops,
            )
            if whole.without:
                yield f"averages and sums of {value!r} are{whole.without.removeprefix(',')}"


def _keys(release: Release, by: Sequence[str], conjuncts: Sequence[Expression]) -> list[Key]:
    """Return the groups of a set of columns that a condition leaves, in the order of a crosstab."""
    condition = split(conjuncts, release.columns)
    groups = Grouping.of(release.columns, by, condition)
    groups.check_size()
    keys: Sequence[Mapping[str, Value]] = groups.keys
    if any(name in release.columns.spread for name in groups.by):
        (table,) = release.tables(groups.by, [groups.by], None, condition, target="table", level=LEVEL)
        keys = table.listed_counts()[0]
    return [tuple(key.values()) for key in keys]


def _names(asked: Query, release: Release) -> list[tuple[str, ...]]:
    """Return the names of the result's columns, item by item; each name is given once."""
    aggregates = [i for i in asked.items if isinstance(i.of, Aggregate) and i.of.kind not in EXTREMES]
    lone = len(aggregates) == 1 and not aggregates[0].alias
    taken = {(i.alias or release.columns.name(i.of)).casefold() for i in asked.items if isinstance(i.of, str)}
    found: list[tuple[str, ...]] = []
    for item in asked.items:
        if isinstance(item.of, str):
            found.append((item.alias or release.columns.name(item.of),))
            continue
        base = item.alias or _BASES[item.of.kind].format(item.of.value)
        apart = item.of.kind in EXTREMES
        names = (base,) if apart else SINGLE_QUANTITY_NAMES if lone else quantity_column_names(base)
        while taken & {n.casefold() for n in names}:
            base += "_"
            names = (base,) if apart else tuple(n + "_" for n in names) if lone else quantity_column_names(base)
        taken |= {n.casefold() for n in names}
        found.append(names)
    if len({n[0].casefold() for n in found}) < len(found):
        raise unsupported_query_error("two of its columns have the same name; give one an alias")
    return found


def _estimate_aggregate(asked: _ResolvedQuery, what: Aggregate, names: tuple[str, ...]) -> EstimatedQuantity:
    """Return one aggregate over the rows of all sets of groups."""
    release = asked.release
    part = _effective_conditions(release, what.condition)
    if what.kind == "count":
        condition = split([*asked.query.conjuncts, *part], release.columns)
        counted = release.tables(asked.query.by, asked.sets, None, condition, target=asked.target, level=asked.level)
        parts = [
            table.counts.select(_places(table.group_values(), rows), absent=0.0)
            for table, rows in zip(counted, asked.keys, strict=True)
        ]
    else:
        one = _estimator(asked, what, part)
        parts = [_align_rows(one(chosen), rows) for chosen, rows in zip(asked.sets, asked.keys, strict=True)]
    return replace(concatenate_quantities(parts).scaled(what.scale), names=names)


def _effective_conditions(release: Release, conjuncts: Sequence[Expression]) -> tuple[Expression, ...]:
    """Return conditions without those that leave out nulls of columns that have none."""
    columns = release.columns
    return tuple(
        e
        for e in conjuncts
        if not (_without_nulls(e) and all(c in columns.axes and c not in columns.missing for c in columns_of(e)))
    )


def _without_nulls(expression: Expression) -> bool:
    return isinstance(getattr(expression, "part", None), Null)


def _estimator(
    asked: _ResolvedQuery, what: Aggregate, part: Sequence[Expression]
) -> Callable[[tuple[str, ...]], Estimates]:
    """Return what estimates an aggregate other than a count, by some columns."""
    release, target, level = asked.release, asked.target, asked.level
    whole, value = asked.query.conjuncts, str(what.value)
    if what.kind == "share":
        return lambda by: shares(
            release,
            by,
            by if what.within is None else what.within,
            where=whole,
            part=part,
            target=target,
            level=level,
        )
    stops = asked.limits.get(release.columns.name(value), _UNLIMITED)
    kind = Means if what.kind == "avg" else Totals
    chosen = (*whole, *part)
    return lambda by: estimate_numbers(kind, release, value, by, chosen, target=target, level=level, limits=stops)


def _places(keys: Iterable[Mapping[str, Value]], rows: Sequence[Key]) -> list[int]:
    """Return where the rows of an answer stand among those of a result; -1 for a group that a FILTER leaves empty."""
    place = {tuple(key.values()): i for i, key in enumerate(keys)}
    return [place.get(key, -1) for key in rows]


def _align_rows(found: Estimates, rows: Sequence[Key]) -> EstimatedQuantity:
    """Return estimates by row; an answer has no column that says how they were made, and flags those that are not."""
    flags = tuple(
        (*f, NOT_ESTIMABLE) if estimator == NOT_ESTIMABLE else f
        for f, estimator in zip(found.flags, found.estimator, strict=True)
    )
    return replace(found.quantity, flags=flags).select(_places(found.keys, rows), flags=(NOT_ESTIMABLE,))


def _sort_and_limit(found: Answer, asked: Query) -> Answer:
    """Apply ORDER BY, OFFSET and LIMIT; null and not estimable rows come last unless NULLS FIRST is said."""
    columns = found.columns()
    chosen = list(range(len(found.keys)))
    by_estimate = False
    for key in reversed(asked.order):
        values, estimated = _values(found, columns, key)
        by_estimate |= estimated
        absent = [i for i in chosen if _is_absent(values[i])]
        present = sorted(
            (i for i in chosen if not _is_absent(values[i])), key=lambda i: _sortable(values[i]), reverse=key.descending
        )
        chosen = absent + present if key.nulls_first else present + absent
    end = None if asked.limit is None else asked.offset + asked.limit
    chosen = chosen[asked.offset : end]
    notes = (*found.notes, SELECTED) if by_estimate and len(chosen) < len(found.keys) else found.notes
    return _take_rows(found, chosen, notes)


def _values(found: Answer, columns: Mapping[str, list[Any]], key: SortKey) -> tuple[list[Any], bool]:
    """Return what a key of ORDER BY sorts by, and whether it was estimated."""
    if isinstance(key.of, int):
        part = found.selected[key.of]
        return columns[part.name], isinstance(part, EstimatedQuantity)
    folded = key.of.casefold()
    grouped = {b.casefold(): [k[b] for k in found.keys] for b in found.by}
    grouped |= {part.name.casefold(): columns[part.name] for part in found.selected if isinstance(part, ResultColumn)}
    if folded in grouped:
        return grouped[folded], False
    for name, values in columns.items():
        if name.casefold() == folded:
            return values, True
    raise unsupported_query_error(f"it has no column “{key.of}” to order by; select what it orders by")


def _sortable(value: Any) -> tuple[bool, Any]:
    """Return what values sort by: text, such as a category of missing values, comes after numbers."""
    return isinstance(value, str), value


def _is_absent(value: Any) -> bool:
    return value is None or value != value  # noqa: PLR0124 - NaN
