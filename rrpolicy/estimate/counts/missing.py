"""Records without a value: how many of them a condition, a count or a model leaves out, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.condition import Condition, implicit_null_exclusions, narrow_condition, read, split
from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.estimate.expression import And, ColumnComparison, Expression, Member, Not, Null
from rrpolicy.numbers import fixed_number

if TYPE_CHECKING:
    from rrpolicy.canonical_json import Value
    from rrpolicy.estimate.counts.columns import Columns
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.table import Crosstab


def notes_on_condition(release: Release, where: str | Sequence[Expression] | None) -> Iterator[str]:
    """Yield how many records a condition leaves out because they have no value of a column that it compares."""
    nulls = {attribute.release_as for attribute in release.manifest.attributes if attribute.keeps_nulls}
    if where is None or not (release.columns.missing or nulls):
        return
    for name, those in implicit_null_exclusions(read(where), release.columns, nulls):
        yield f"left out: {_records(release, those)} without a value of {name!r}, for which no comparison is true"


def note_on_count(release: Release, name: str, where: Sequence[Expression]) -> str:
    """Return how many records a count of a column's values leaves out."""
    return f"left out of count({name}): {_records(release, (*where, Null(name)))} without a value"


def _records(release: Release, where: Sequence[Expression]) -> str:
    """Return how many records satisfy a condition, in words."""
    try:
        table = _count_records(release, split(where, release.columns))
    except PolicyError:  # other values of the column may be told apart where these are not
        return "all records"
    (row,) = table.rows
    if table.biased:
        return f"between {fixed_number(row.low)} and {fixed_number(row.high)} records"
    return _format_records(row.estimate, exact=table.exact)


def _count_records(release: Release, condition: Condition) -> Crosstab:
    (table,) = release.tables((), [()], None, condition, target="table", level=LEVEL)
    return table


def _format_records(records: float, *, exact: bool) -> str:
    if not exact and records < 0:
        return "few or no records (their estimated number is below 0)"
    if not exact:
        return f"an estimated {fixed_number(records, 1)} records"
    return f"{fixed_number(records)} record{'' if records == 1 else 's'}"


class CompleteRecords(Struct, frozen=True):
    """The records that have a value, or kept their label, of all columns that a model names.

    Attributes:
        condition: the condition that they satisfy.
        notes: notes on the number of other records.
    """

    condition: Condition
    notes: tuple[str, ...]


def complete_records(release: Release, names: Sequence[str], where: str | None) -> CompleteRecords:
    """Return the records that a model of some columns is fitted to.

    Raises:
        PolicyError: RR544 where the labels that these records have overlap; else as `split`.
    """
    columns, conjuncts = release.columns, read(where)
    generalised = [n for n in names if n in columns.spread and columns.axes[n] is not columns.spread[n]]
    valued = (*conjuncts, *(Not(Null(n)) for n in names if n in columns.missing and n not in generalised))
    labels = [Member(n, known) for n in generalised if (known := _labels_without_missing(columns, n)) is not None]
    kept = [*labels, *unsuppressed_conditions(release)] if generalised else labels
    every, valid = split(conjuncts, columns), split(valued, columns)
    told, rest = narrow_condition(valid, labels, columns), narrow_condition(valid, kept, columns)
    named = " or ".join(repr(n) for n in names if n in columns.missing)
    lost = [(every, told, f"without a value of {named}")] if len(valued) > len(conjuncts) or labels else []
    if len(kept) > len(labels):
        lost.append((told, rest, f"suppressed in {' and '.join(map(repr, generalised))}{_DEPENDS}"))
    notes = [note for before, after, why in lost if (note := _note_on_loss(release, before, after, why))]
    occurring = [Member(n, _labels(release, n, rest, kept)) for n in generalised]
    return CompleteRecords(narrow_condition(rest, occurring, columns), tuple(notes))


_DEPENDS = ": the model is of the records that kept their labels, and which records are suppressed depends on the data"


def unsuppressed_conditions(release: Release) -> Iterator[Expression]:
    """Yield conditions on released labels that suppressed records do not satisfy: each of their labels is of all."""
    spread = release.columns.spread
    for decoder in release.manifest.decoders:
        axes = [spread[name] for name in decoder.columns if name in spread]
        whole = [
            next((v for v, held in axis.categories_of.items() if len(held) == len(axis.original)), None)
            for axis in axes
        ]
        if len(axes) == len(decoder.columns) and None not in whole and any(len(axis.released) > 1 for axis in axes):
            labels = zip(decoder.columns, whole, strict=True)
            yield Not(And(tuple(ColumnComparison(name, "=", label) for name, label in labels)))


def _labels_without_missing(columns: Columns, name: str) -> tuple[Value, ...] | None:
    """Return the labels of a generalised column but for that of missing values; None if these have no label."""
    held = columns.spread[name].categories_of
    absent = [label for label, categories in held.items() if categories == (columns.missing.get(name),)]
    return tuple(label for label in held if label not in absent) if absent else None


def _note_on_loss(release: Release, before: Condition, after: Condition, why: str) -> str:
    """Return how many records satisfy a condition and not a narrower one, in words; "" for none."""
    whole, rest = (_count_records(release, condition) for condition in (before, after))
    records = float(whole.estimate.sum() - rest.estimate.sum())
    return f"left out: {_format_records(records, exact=whole.exact and rest.exact)} {why}" if records else ""


def _labels(release: Release, name: str, condition: Condition, kept: Sequence[Expression]) -> tuple[Value, ...]:
    """Return the labels of a generalised column that records have which a condition leaves."""
    groups, axis = release.columns.spread[name], release.columns.axes[name]
    everybody = narrow_condition(split((), release.columns), kept, release.columns)
    (table,) = release.tables([name], [[name]], None, everybody, target="table", level=LEVEL)
    had = {row.group[name] for row in table.rows if row.released}
    found = tuple(v for (v,), left in zip(axis.original, condition.leaves(axis), strict=True) if left and v in had)
    if groups.overlap(found):
        message = f"labels of {name!r} overlap, so that no coefficient of theirs is one of the original categories"
        hint = "request counts, shares and means, whose bounds are certain"
        raise PolicyError(Problem("RR544", message, hint=hint))
    return found
