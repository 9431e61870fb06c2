"""Executes a query: every aggregate by every set of groups, then ORDER BY and LIMIT over the estimates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from rrpolicy.canonical_json import Value
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.condition import split
from rrpolicy.estimate.counts.grouping import Grouping
from rrpolicy.estimate.counts.missing import note_on_count, notes_on_condition
from rrpolicy.estimate.counts.scan import count, extremes
from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.estimate.expression import ColumnComparison, Expression, Null, columns_of, evaluate, leaves_of
from rrpolicy.estimate.query.aggregate import EXTREMES, Aggregate, query_error
from rrpolicy.estimate.query.join import Given, join_tables, own_table
from rrpolicy.estimate.query.parse import Having, Query, SortKey, parse_query
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
from rrpolicy.estimate.results.target import Target, check_target
from rrpolicy.estimate.sums.category_values import Limits, notes_on_category_values
from rrpolicy.estimate.sums.cube import notes_on_labels
from rrpolicy.estimate.sums.means import Means, Totals, estimate_numbers
from rrpolicy.estimate.sums.shares import shares
from rrpolicy.frozen import replace

if TYPE_CHECKING:
    from rrpolicy.counts import Ints
    from rrpolicy.estimate.counts.columns import Columns
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.weights.base import AxisWeights


NOTE = "min and max are exact, and of this table alone: columns, groups and conditions that nothing was randomised in"


def extreme(
    release: Release, kind: str, value: str, by: Sequence[str], conjuncts: Sequence[Expression]
) -> Mapping[tuple[Value, ...], Any]:
    """Return group -> the least ("min"), or the largest ("max"), value; a group without one is missing (RR272)."""
    columns = release.columns
    condition = split(conjuncts, columns)
    groups = Grouping.of(columns, by, condition)
    own = columns.axes.get(value)
    _refuse_extreme(columns, kind, value, [*groups.axes, *condition.axes])
    codes: Sequence[Ints]
    if own is None:
        codes, *ends = extremes(release.data, groups.axes, value, condition.filter, condition.parameters)
        values = ends[kind == "max"]
    else:
        every = groups.axes if any(axis is own for axis in groups.axes) else [*groups.axes, own]
        codes, n = count(release.data, every, condition.filter, condition.parameters)
        place = next(i for i, axis in enumerate(every) if axis is own)
        labels, without = own.labels_of(value), columns.numberless(value)
        values = [
            labels[code] if records and labels[code] not in without else None
            for code, records in zip(codes[place].tolist(), n.tolist(), strict=True)
        ]
    labelled = {
        column: (codes[place], axis.labels_of(column))
        for place, (axis, group) in enumerate(zip(groups.axes, groups.groups, strict=True))
        for column in group.columns
    }
    grouped = [labelled[name] for name in groups.by]
    best, found = min if kind == "min" else max, dict[tuple[Value, ...], Any]()
    for row, one in enumerate(values):
        if one is not None:
            key = tuple(labels[code[row]] for code, labels in grouped)
            found[key] = best(found[key], one) if key in found else one
    return {key: one if isinstance(one, (str, int, float, bool)) else str(one) for key, one in found.items()}


def _refuse_extreme(columns: Columns, kind: str, value: str, axes: Sequence[AxisWeights]) -> None:
    """Refuse the extreme of a column, by groups and conditions, that is not exact (RR272)."""
    own = columns.axes.get(value)
    drawn = [*axes, *([own] if own is not None else [])]
    randomised = [name for axis in drawn if axis.randomised for name in axis.columns]
    if randomised:
        reason = f"{kind}() of a randomised column describes released values, which weights cannot correct"
        raise query_error(f"{reason}: {randomised[0]!r} is randomised", "request shares by categories")
    if value in columns.spread or value in columns.labels:
        raise query_error(f"{kind}() takes a column that was released unchanged, which {value!r} is not")
    if own is None and columns.columns[value].kind != "carried":
        raise query_error(f"{kind}() takes a column of values, which {value!r} is not")


Key: TypeAlias = tuple[Value, ...]
_BASES: Mapping[str, str] = {
    "count": "count", "share": "share", "avg": "avg_{}", "sum": "sum_{}", "min": "min_{}", "max": "max_{}"
}  # fmt: skip

_UNLIMITED: Limits = (None, None)


class _ResolvedQuery(Struct, frozen=True):
    """A query with its sets of groups by exact names, the groups of each, and the limits of columns of bins."""

    release: Release
    query: Query
    sets: tuple[tuple[str, ...], ...]
    keys: tuple[Sequence[Key], ...]
    target: Target
    level: float
    limits: Mapping[str, Limits]


def answer(  # noqa: PLR0917 the options of a query
    release: Release,
    sql: str,
    target: Target,
    level: float,
    tables: Mapping[str, Given] | None,
    limits: Mapping[str, Limits] | None,
) -> Answer:
    """Execute a query, as `Release.query` describes."""
    query = parse_query(sql, {name: own_table(name, given) for name, given in (tables or {}).items()})
    check_target(target, level, release.max_records)
    release, conditions, left_out = join_tables(release, query.joins)
    query = replace(query, conjuncts=(*query.conjuncts, *conditions))
    by = tuple(map(release.columns.name, query.by))
    sets = tuple(tuple(b for b in by if b in set(map(release.columns.name, chosen))) for chosen in query.sets)
    keys = tuple(_keys(release, chosen, query.conjuncts) for chosen in sets)
    stops = {release.columns.name(name): ends for name, ends in (limits or {}).items()}
    asked = _ResolvedQuery(release, query, sets, keys, target, level, stops)
    _refuse_unused_limits(asked)
    grouped = [dict(zip(chosen, key, strict=True)) for chosen, part in zip(sets, keys, strict=True) for key in part]
    rows = tuple({b: key.get(b) for b in by} for key in grouped)
    selected = tuple(
        _select_item(asked, item.of, names, rows)
        for item, names in zip(query.items, _names(query, release), strict=True)
    )
    extremes_shown = any(isinstance(item.of, Aggregate) and item.of.kind in EXTREMES for item in query.items)
    sample = None
    if release.design is not None:
        everybody = split((), release.columns)
        sample = release.tables((), [()], None, everybody, target=target, level=level)[0].sample
    found = Answer(
        sql, by, rows, selected,
        where=query.where, target=target, level=level, records=release.records,
        notes=tuple(dict.fromkeys((*left_out, *([NOTE] if extremes_shown else []), *_notes_on_missing(asked)))),
        max_records=release.max_records, sample=sample,
    )  # fmt: skip
    return _sort_and_limit(_apply_having(found, asked), query)


def _refuse_unused_limits(asked: _ResolvedQuery) -> None:
    of = [*(item.of for item in asked.query.items), *(asked.query.having.of if asked.query.having else ())]
    named = [part.value for part in of if isinstance(part, Aggregate) and part.kind in {"avg", "sum"} and part.value]
    unused = set(asked.limits) - set(map(asked.release.columns.name, named))
    if unused:
        message = f"limits are given for {min(unused)!r}, which the query takes no average or sum of"
        raise PolicyError(Problem("RR532", message, expected="limits of columns under avg(…) or sum(…)"))


def _select_item(
    asked: _ResolvedQuery, of: str | Aggregate, names: tuple[str, ...], rows: Sequence[Mapping[str, Value | None]]
) -> ResultColumn | EstimatedQuantity:
    """Return an item of the SELECT list, or of HAVING, over all rows."""
    columns = asked.release.columns
    if isinstance(of, str):
        source = columns.name(of)
        return ResultColumn(names[0], tuple(row.get(source) for row in rows))
    if of.value is not None and columns.name(of.value) in columns.labels and of.kind not in {"avg", "sum"}:
        raise query_error(f"{of.kind}() takes a released column, and not one of a table that is joined")
    if of.kind not in EXTREMES:
        return _estimate_aggregate(asked, of, names)
    value = columns.name(str(of.value))
    conjuncts = (*asked.query.conjuncts, *_effective_conditions(asked.release, of.condition))
    cells: list[Any] = []
    for chosen, keys in zip(asked.sets, asked.keys, strict=True):
        found = extreme(asked.release, of.kind, value, chosen, conjuncts)
        cells += [found.get(key) for key in keys]
    return ResultColumn(names[0], tuple(cells), key=False)


def _apply_having(found: Answer, asked: _ResolvedQuery) -> Answer:
    """Return the rows that HAVING selects; a row with an unknown operand is left out."""
    having = asked.query.having
    if having is None:
        return found
    places = {item.of: place for place, item in reversed([*enumerate(asked.query.items)])}
    known = [
        found.selected[places[of]] if of in places else _select_item(asked, of, SINGLE_QUANTITY_NAMES, found.keys)
        for of in having.of
    ]
    cells = [p.cells if isinstance(p, ResultColumn) else tuple(p.estimate.tolist()) for p in known]
    rows = [{str(i): value for i, value in enumerate(row)} for row in zip(*cells, strict=True)]
    _refuse_mixed_comparisons(having, rows)
    complete = [i for i, row in enumerate(rows) if not any(map(_is_absent, row.values()))]
    chosen = [i for i in complete if evaluate(having.expression, rows[i])]
    estimated = any(isinstance(p, EstimatedQuantity) and not p.exact for p in known) and len(chosen) < len(rows)
    return _take_rows(found, chosen, (*found.notes, SELECTED) if estimated else found.notes)


def _refuse_mixed_comparisons(having: Having, rows: Sequence[Mapping[str, Any]]) -> None:
    for leaf in leaves_of(having.expression):
        compared = [row[leaf.column] for row in rows if not _is_absent(row[leaf.column])]
        text = isinstance(leaf, ColumnComparison) and isinstance(leaf.value, str)
        if compared and all(isinstance(value, str) != text for value in compared):
            raise query_error("HAVING compares text with a number")


def _take_rows(found: Answer, rows: Sequence[int], notes: tuple[str, ...]) -> Answer:
    return replace(
        found,
        keys=tuple(found.keys[i] for i in rows),
        selected=tuple(part.select(rows) for part in found.selected),
        notes=tuple(dict.fromkeys(notes)),
    )


def _notes_on_missing(asked: _ResolvedQuery) -> Iterator[str]:
    """Yield notes on omitted records, for every column in which some have no value or no number."""
    release, query = asked.release, asked.query
    columns, conjuncts = release.columns, query.conjuncts
    items = [item.of for item in query.items if isinstance(item.of, Aggregate)]
    for condition in (conjuncts, *((*conjuncts, *of.condition) for of in items if of.condition)):
        yield from notes_on_condition(release, condition)
    for chosen in asked.sets:
        yield from notes_on_labels(release, chosen, conjuncts)
    lacking = {a.release_as for a in release.manifest.attributes if a.keeps_nulls}
    for value in dict.fromkeys(columns.name(of.value) for of in items if of.kind == "count" and of.value):
        if value in columns.missing or value in lacking:
            yield note_on_count(release, value, conjuncts)
    for value in dict.fromkeys(columns.name(of.value) for of in items if of.kind in {"avg", "sum"} and of.value):
        yield from notes_on_category_values(columns, value)
        if columns.numberless(value) or columns.bins(value) or value in lacking:
            stops = asked.limits.get(value, _UNLIMITED)
            whole = estimate_numbers(
                Means, release, value, (), conjuncts, target=asked.target, level=asked.level, limits=stops
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

    def free_names(of: Aggregate, base: str) -> tuple[str, ...]:
        end = ""
        while True:
            names: tuple[str, ...] = (base + end,)
            if of.kind not in EXTREMES:
                names = tuple(n + end for n in SINGLE_QUANTITY_NAMES) if lone else quantity_column_names(base + end)
            if taken.isdisjoint(map(str.casefold, names)):
                break
            end += "_"
        taken.update(map(str.casefold, names))
        return names

    found = [
        (i.alias or release.columns.name(i.of),)
        if isinstance(i.of, str)
        else free_names(i.of, i.alias or _BASES[i.of.kind].format(i.of.value))
        for i in asked.items
    ]
    if len({n[0].casefold() for n in found}) < len(found):
        raise query_error("two of its columns have the same name; give one an alias")
    return found


def _estimate_aggregate(asked: _ResolvedQuery, what: Aggregate, names: tuple[str, ...]) -> EstimatedQuantity:
    """Return one aggregate over the rows of all sets of groups."""
    release, target, level = asked.release, asked.target, asked.level
    whole, part = asked.query.conjuncts, _effective_conditions(release, what.condition)
    if what.kind == "count":
        condition = split([*whole, *part], release.columns)
        counted = release.tables(asked.query.by, asked.sets, None, condition, target=target, level=level)
        parts = [
            table.counts.select(_places(table.group_values(), rows), absent=0.0)
            for table, rows in zip(counted, asked.keys, strict=True)
        ]
        return replace(concatenate_quantities(parts).scaled(what.scale), names=names)
    parts = []
    for by, rows in zip(asked.sets, asked.keys, strict=True):
        found: Estimates
        if what.kind == "share":
            within = by if what.within is None else what.within
            found = shares(release, by, within, where=whole, part=part, target=target, level=level)
        else:
            value, kind = str(what.value), Means if what.kind == "avg" else Totals
            stops = asked.limits.get(release.columns.name(value), _UNLIMITED)
            found = estimate_numbers(
                kind, release, value, by, (*whole, *part), target=target, level=level, limits=stops
            )
        # a result has no column that names the estimator: it flags the rows that are not estimated
        pairs = zip(found.flags, found.estimator, strict=True)
        flags = tuple((*f, NOT_ESTIMABLE) if estimator == NOT_ESTIMABLE else f for f, estimator in pairs)
        quantity = replace(found.quantity, flags=flags)
        parts.append(quantity.select(_places(found.keys, rows), flags=(NOT_ESTIMABLE,)))
    return replace(concatenate_quantities(parts).scaled(what.scale), names=names)


def _effective_conditions(release: Release, conjuncts: Sequence[Expression]) -> tuple[Expression, ...]:
    """Return conditions without those that leave out nulls of columns that have none."""
    columns = release.columns
    return tuple(
        e
        for e in conjuncts
        if not isinstance(getattr(e, "part", None), Null)
        or any(c not in columns.axes or c in columns.missing for c in columns_of(e))
    )


def _places(keys: Iterable[Mapping[str, Value]], rows: Sequence[Key]) -> list[int]:
    """Return the places of rows in a result; -1 for a group that a FILTER leaves empty."""
    place = {tuple(key.values()): i for i, key in enumerate(keys)}
    return [place.get(key, -1) for key in rows]


def _sort_and_limit(found: Answer, asked: Query) -> Answer:
    """Apply ORDER BY, OFFSET and LIMIT; null and not estimable rows come last unless NULLS FIRST is written."""
    columns = found.columns()
    chosen = list(range(len(found.keys)))
    by_estimate = False
    for key in reversed(asked.order):
        values, estimated = _values(found, columns, key)
        by_estimate |= estimated
        absent = [i for i in chosen if _is_absent(values[i])]
        present = [i for i in chosen if not _is_absent(values[i])]
        # text, such as a category of missing values, comes after numbers
        present.sort(key=lambda i: (isinstance(values[i], str), values[i]), reverse=key.descending)
        chosen = absent + present if key.nulls_first else present + absent
    end = None if asked.limit is None else asked.offset + asked.limit
    chosen = chosen[asked.offset : end]
    notes = (*found.notes, SELECTED) if by_estimate and len(chosen) < len(found.keys) else found.notes
    return _take_rows(found, chosen, notes)


def _values(found: Answer, columns: Mapping[str, list[Any]], key: SortKey) -> tuple[list[Any], bool]:
    """Return the values that a key of ORDER BY sorts by, and whether they were estimated."""
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
    raise query_error(f"it has no column “{key.of}” to order by; select what it orders by")


def _is_absent(value: Any) -> bool:
    return value is None or value != value  # noqa: PLR0124 - NaN
