"""Guesses of a column's role from its name and values; a column without a clear role is excluded.

Numbers and dates are cut into bins at quantiles, rounded to numbers that a person would choose. Neighbours are merged
by their order alone: two, then four, then eight of them, until two or three groups are left.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from typing import Any, TypeAlias

from msgspec import Struct, field

from rrpolicy.canonical_json import Value
from rrpolicy.drafting.detection import date_format, means_missing
from rrpolicy.drafting.profile import MAX_DRAFT_CATEGORIES, ColumnProfile, QuantileCut
from rrpolicy.engine.column_types import TypeFamily
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.frozen import replace
from rrpolicy.policy.file import moment_text
from rrpolicy.policy.model import MAX_UNIT_RECORDS, PLAIN, Reading, intervals
from rrpolicy.policy.tree.problems import toml_value
from rrpolicy.source.group_keys import has_sizes_of_groups
from rrpolicy.source.names import (
    INDEX_COLUMN,
    LINKING_WORDS,
    SENSITIVE_WORDS,
    UNIT_WORDS,
    contains_word,
    is_person_identifier_name,
)

PARTS = 5
NEAR = 0.05
"""Maximum share by which a cut may miss its quantile to be a round number."""


LARGEST = 10**15
"""Numbers above which whole numbers are written with an exponent."""


def bin_edges_toml(column: ColumnProfile) -> list[str]:
    """Return edges of about five bins as TOML, open at both ends, so that they do not disclose the extremes.

    The column has finite numbers or dates, at least two values.
    """
    cuts = [c for c in column.cuts if not isinstance(c.value, float) or math.isfinite(c.value)]
    inner = dict.fromkeys(
        cut for part in range(1, PARTS) for cut in _round_cut_points(cuts, column.known, part / PARTS)
    )
    if not inner and len(cuts) > 1:
        middle = min(range(1, len(cuts)), key=lambda i: abs(cuts[i].below / column.known - 1 / 2))
        inner = {_roundest_value(cuts[middle - 1].value, cuts[middle].value, cuts[middle].value): None}
    positive = not isinstance(column.low, date) and column.low >= 0 and 0 not in inner
    return ["0" if positive else "-inf", *map(_edge_toml, inner), "inf"]


def _round_cut_points(cuts: Sequence[QuantileCut], records: int, share: float) -> Iterator[Any]:
    """Yield a round value with about that share of the records below it; nothing if too many have one value."""
    near = [i for i in range(1, len(cuts)) if abs(cuts[i].below / records - share) <= NEAR]
    if near:
        best = min(near, key=lambda i: abs(cuts[i].below / records - share))
        yield _roundest_value(cuts[near[0] - 1].value, cuts[near[-1]].value, cuts[best].value)


def _roundest_value(above: Any, most: Any, aim: Any) -> Any:
    if isinstance(most, date):
        after, until, near = (d.date() if isinstance(d, datetime) else d for d in (above, most, aim))
        first, last = after.year * 12 + after.month - 1, until.year * 12 + until.month - 1
        for months in (120, 60, 12, 3, 1):
            counted = range(-(-first // months) * months, last + 1, months)
            starts = [s for m in counted if after < (s := date(m // 12, m % 12 + 1, 1)) <= until]
            if starts:
                return _as_comparable_day(min(starts, key=lambda s: abs(s - near)), most)
        return _as_comparable_day(until, most) if until > after else most
    above, most, aim = float(above), float(most), float(aim)
    power = math.floor(math.log10(max(abs(above), abs(most)))) + 1
    while True:
        for unit in (5, 2, 1):
            found = [
                k
                for k in _candidate_multiples(above, most, aim, unit, power)
                if above < _scaled_multiple(k, unit, power) <= most
            ]
            if found:
                return _scaled_multiple(
                    min(found, key=lambda k: abs(_scaled_multiple(k, unit, power) - aim)), unit, power
                )
        power -= 1


def _candidate_multiples(above: float, most: float, aim: float, unit: int, power: int) -> tuple[int, ...]:
    """Return the multiples of a step that may be the nearest to the aim inside of an interval."""
    step = unit * 10.0**power
    near = aim / step
    return math.floor(near), math.ceil(near), math.floor(above / step) + 1, math.floor(most / step)


def _scaled_multiple(k: int, unit: int, power: int) -> float:
    return float(f"{k * unit}e{power}")


def _as_comparable_day(day: date, moment: date) -> date:
    """Return a day in the type that it is compared with: a date, or the first moment of it."""
    return datetime(day.year, day.month, day.day) if isinstance(moment, datetime) else day  # noqa: DTZ001


def _edge_toml(edge: Any) -> str:
    if isinstance(edge, date):
        return edge.isoformat()
    return str(int(edge)) if edge == int(edge) and abs(edge) < LARGEST else repr(edge)


Merged: TypeAlias = Iterator[Mapping[str, Sequence[Value]]]
"""Levels of a hierarchy: group -> its members on the level below."""


def merged_bins(bounds: Sequence[float | date]) -> Merged:
    """Yield the levels that merge neighbouring bins into intervals.

    `bounds` are the edges of the bins, as read from TOML.
    """
    ends = [moment_text(e) if isinstance(e, date) else float(e) for e in bounds]
    return _merge_levels(len(ends) - 1, lambda starts: intervals([*(ends[start] for start in starts), ends[-1]]))


def merged_values(values: Sequence[Value]) -> Merged:
    """Yield the levels that merge neighbouring values into groups such as `16 to 19`."""

    def labels(starts: Sequence[int]) -> Sequence[Value]:
        if len(starts) == len(values):
            return values
        ends = (*starts[1:], len(values))
        return [f"{values[start]} to {values[end - 1]}" for start, end in zip(starts, ends, strict=True)]

    return _merge_levels(len(values), labels)


def _merge_levels(parts: int, labels: Callable[[Sequence[int]], Sequence[Value]]) -> Merged:
    """Yield levels of two groups of the level below each, three in the last one of an odd number.

    `labels` names groups by the positions of their first parts.
    """
    starts = [*range(parts)]
    below = labels(starts)
    while len(starts) > 3:  # noqa: PLR2004 fewer make one group
        groups = len(starts) // 2
        starts = starts[: 2 * groups : 2]
        above = labels(starts)
        yield {str(name): below[2 * i : 2 * i + 2 if i < groups - 1 else None] for i, name in enumerate(above)}
        below = above


MOST_NUMBERS, MOST_WHOLE = 12, 30
"""Maximum number of different numbers, and of whole ones, up to which a column is drafted by values, not by bins."""
SINGLE_SHARE = 0.05
"""A column is near unique if more than this share of its records have a unique value."""
_ID = "id ids uuid guid key ssn iban name firstname surname lastname email mail phone tel address row rownum index"
_NUMBERED = "id ids uuid guid ssn iban"
"""Words in names of columns that identify people, however often their values repeat."""
_WEIGHT = "weight weights weighting wt wts wgt wgts pweight pweights hweight designweight wtmec wtint"
_STRATUM = "strata stratum stratid sdmvstra"
_CLUSTER = "psu psus psuid sdmvpsu cluster clusters"
WRITTEN_INDEX = "the index that pandas wrote with the columns"


class Guess(Struct, frozen=True):
    """Draft for a column.

    Attributes:
        comment: reason.
        keys: keys in addition to the role if the column is released, as TOML.
        remarks: remarks on unusual values.
        tells_people: whether it may identify people, not records alone.
        otherwise: the role that would release a column that the draft excludes.
        shared: number of different values and the maximum number of records per value, for a column that is named
            like an identifier of people but has repeated values; None for any other column.
    """

    role: str
    comment: str
    keys: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    tells_people: bool = False
    otherwise: str = "quasi-identifier"
    shared: tuple[int, int] | None = None

    @property
    def released(self) -> bool:
        """Whether the draft releases the column."""
        return self.role in {"quasi-identifier", "sensitive"}


def guess(column: ColumnProfile, reading: Reading = PLAIN) -> Guess:
    """Return the draft for a column."""
    found = _guess_single_column(column, reading)
    keyed = column.family in {TypeFamily.INTEGER, TypeFamily.TEXT} and is_person_identifier_name(column.name)
    repeats = column.distinct > 1 and _repeat_count(column) >= column.distinct and _has_unit_sizes(column)
    if not (keyed and repeats) or (
        found.released and not contains_word(column.name, UNIT_WORDS)
    ):  # `region_id` is a place
        return found
    shared = (column.distinct, column.most)
    if found.role == "identifier":
        return replace(found, shared=shared)
    told = f"{column.distinct:,} values that repeat; by its name it may identify people: see `unit` above"
    return replace(found, role="excluded", comment=told, keys={}, shared=shared)


def _has_unit_sizes(column: ColumnProfile) -> bool:
    return has_sizes_of_groups(column.name, column.distinct, column.known, column.most, keyed=True)


def _guess_single_column(column: ColumnProfile, reading: Reading) -> Guess:
    remarks = tuple(_value_remarks(column, reading.codes(column.name)))
    coded = {"missing": toml_array(reading.of[column.name])} if column.name in reading.of else {}
    design = _design_guess(column)
    if design is not None:
        return replace(design, remarks=remarks)
    unfit = (
        ("excluded", WRITTEN_INDEX)
        if INDEX_COLUMN.fullmatch(column.name)
        else date_role(column) or _unreleasable_role(column)
    )
    if unfit is not None and unfit[0] == "identifier":
        people = not column.row_number or contains_word(column.name, _NUMBERED)
        return Guess(*unfit, remarks=tuple(_identifier_problems(column)), tells_people=people)
    if unfit is not None:
        return Guess(*unfit, remarks=remarks)
    keys, named = {**_category_keys(column), **coded}, _role_by_name(column.name)
    if named is not None and column.common:
        rare = column.distinct - len(column.common) if "outside" in keys else 0
        rest = f"; {rare:,} values of few records, or long, are `outside`" if rare else ""
        return Guess(named, f"by its name; {'bins' if 'bins' in keys else 'domain'} from the data{rest}", keys, remarks)
    if "domain" in keys and column.family is TypeFamily.TEXT:
        keys = {**keys, "domain": f'"fill in: its {column.distinct:,} values that may be shown, or observed"'}
        keys.pop("outside", None)
    why = "and its name does not show their meaning" if named is None else "each of few records, or long"
    return Guess("excluded", f"{column.distinct:,} different values, {why}", keys, remarks)


def _design_guess(column: ColumnProfile) -> Guess | None:
    """Return the draft for a column of a survey's design, by its name; None for any other.

    It is excluded: a weight contains information on its person, and the sampler knows how much.
    """
    known = {"assume_unlinkable": '"fill in: why nobody finds a person by it"'}
    sized = column.family in {TypeFamily.INTEGER, TypeFamily.REAL} and column.distinct > 1 and column.low >= 0
    if sized and not column.nulls and contains_word(column.name, _WEIGHT):
        keys = {"design": '"weight"', **known}
        told = (
            "by its name a survey weight (if it is a body weight, remove `design`); with the role excluded, "
            '`design = "weight"` uses it without releasing it'
        )
        return Guess("excluded", told, keys, otherwise="insensitive")
    part = (
        "stratum"
        if contains_word(column.name, _STRATUM)
        else "cluster"
        if contains_word(column.name, _CLUSTER)
        else None
    )
    if part is None or column.family is TypeFamily.OTHER or column.distinct <= 1:
        return None
    told = f"by its name a {part} of a survey, without which analysts do not know the errors of the sample"
    return Guess("excluded", told, {"design": f'"{part}"', **known}, otherwise="insensitive")


def _unreleasable_role(column: ColumnProfile) -> tuple[str, str] | None:
    """Return the role of a column that cannot be released unmodified, with the reason; None for any other."""
    if column.family is TypeFamily.OTHER or column.kind == "TIME":
        return (
            "excluded",
            f"{toml_value(column.kind)[1:-1]}: cut it into text, such as the year, in a view to release it",
        )
    if column.distinct <= 1:
        lacking = ", and missing values: declare a `domain` with `nulls`" if column.nulls else ""
        return "excluded", f"one value only{lacking or ': it reveals nothing'}"
    if column.row_number:
        return "identifier", "a row number: whole numbers without a gap, one a record"
    called = contains_word(column.name, _ID)
    # Whole numbers with some repetitions are as often amounts, such as expenses, as identifiers of people.
    tells = column.family is TypeFamily.TEXT or (
        column.family is TypeFamily.INTEGER and (called or not _repeat_count(column))
    )
    unique = tells and column.singles >= (1 - SINGLE_SHARE) * column.known
    named = called and column.singles > SINGLE_SHARE * column.records
    if unique or named or (contains_word(column.name, _NUMBERED) and column.distinct > MAX_DRAFT_CATEGORIES):
        return "identifier", "nearly every record has its own value" if unique else "by its name"
    if column.distinct > MAX_DRAFT_CATEGORIES and column.family is TypeFamily.TEXT:
        told = f"{column.distinct:,} different values: to release it, list the common ones as `domain`, with `outside`"
        return "excluded", told
    return None


def date_role(column: ColumnProfile) -> tuple[str, str] | None:
    """Return the role of texts or whole numbers that are dates, and SQL that casts them; None for other columns."""
    if column.family not in {TypeFamily.TEXT, TypeFamily.INTEGER} or column.distinct <= 1:
        return None
    spelling = date_format([str(value) for value in (*column.values, *column.last)])
    if spelling is None:
        return None
    text = identifier(column.name) + ("" if column.family is TypeFamily.TEXT else "::VARCHAR")
    cast = f"strptime({text}, {literal(spelling)})" + ("" if "%H" in spelling else "::DATE")
    told = f"contains dates as text, not of type DATE: for bins of them, write the table again with {cast}"
    return "excluded", f"{told}; `rrpolicy explain RR312` shows how"


def _category_keys(column: ColumnProfile) -> dict[str, str]:
    many = {TypeFamily.MOMENT: MAX_DRAFT_CATEGORIES, TypeFamily.INTEGER: MOST_WHOLE}.get(column.family, MOST_NUMBERS)
    if column.family in {TypeFamily.TEXT, TypeFamily.BOOLEAN} or column.distinct <= many:
        ordered = column.family is TypeFamily.INTEGER and column.distinct > MOST_NUMBERS  # fewer may be codes
        rest = (
            {}
            if len(column.common) == len(column.values)
            else {"outside": toml_value(_unused_category_name(column, "other"))}
        )
        own = {"domain": toml_array(column.common), **rest, **_null_category_keys(column)}
        return {**own, **({"scale": '"ordinal"'} if ordered else {})}
    return {"bins": f"[{', '.join(bin_edges_toml(column))}]", **_null_category_keys(column), "scale": '"ordinal"'}


def with_hierarchy(found: Guess) -> Mapping[str, str]:
    """Return the keys of an ordered column with a hierarchy that merges neighbours; else its existing keys."""
    keys = found.keys
    role = found.otherwise if found.role == "excluded" else found.role
    if "scale" not in keys or role != "quasi-identifier":
        return keys
    read = tomllib.loads("\n".join(f"{key} = {keys[key]}" for key in ("domain", "bins", "nulls") if key in keys))
    own = [name for key, name in read.items() if key == "nulls"]
    labels = merged_bins(read["bins"]) if "bins" in read else merged_values(read["domain"])
    levels = [
        "{ " + ", ".join(f"{toml_value(group)} = {toml_array(members)}" for group, members in level.items()) + " }"
        for level in ({**level, **{name: [name] for name in own}} for level in labels)
    ]
    return {**keys, "hierarchy": f"[{', '.join(levels)}]"} if levels else keys


def _repeat_count(column: ColumnProfile) -> int:
    return column.known - column.distinct


def _identifier_problems(column: ColumnProfile) -> Iterator[str]:
    """Yield the reasons why an identifier identifies neither every record's unit nor every record."""
    if repeated := _repeat_count(column):
        yield (
            f"{repeated:,} of {column.records:,} records repeat the value of another one: remove duplicates, or "
            + (
                f"write `max_records = {column.most}` under [source] if a person may have so many records"
                if column.most <= MAX_UNIT_RECORDS
                else "give it the role excluded if it does not identify people"
            )
        )
    if column.nulls:
        yield f"{column.nulls:,} of {column.records:,} records have no value"


def _value_remarks(column: ColumnProfile, codes: Sequence[Value]) -> Iterator[str]:
    if column.alike:
        yield f"{column.alike} of its values differ from another in capitals or white space alone"
    if column.padded:
        yield f"{column.padded} of its values begin or end with white space"
    for word in (code for code in codes if isinstance(code, str) and not means_missing(code)):
        yield (
            f"{toml_value(word)} occurs among numbers and is read as missing: if it is a category, remove it from "
            f"`missing`"
            ", and write each value of the domain in quotes"
        )
    if numbers := [code for code in codes if not isinstance(code, str)]:
        yield (
            f"{' and '.join(map(toml_value, numbers))} lie apart from the other numbers and are read as codes of "
            "missing values, which is a guess: if one is a value, take it out of `missing`, and list it"
        )
    if column.distinct > 1 and column.singles > SINGLE_SHARE * column.records and not column.row_number:
        people = ": if it identifies people, it is an identifier" if column.family is TypeFamily.INTEGER else ""
        yield f"{column.singles:,} of {column.records:,} records have a value that no other record has{people}"


def _role_by_name(name: str) -> str | None:
    if contains_word(name, SENSITIVE_WORDS):
        return "sensitive"
    return "quasi-identifier" if contains_word(name, LINKING_WORDS) else None


def _null_category_keys(column: ColumnProfile) -> dict[str, str]:
    if not column.nulls:
        return {}
    return {"nulls": toml_value(_unused_category_name(column, "unknown", "missing", "no value"))}


def _unused_category_name(column: ColumnProfile, *names: str) -> str:
    taken = {str(v) for v in column.values}
    return next(n for n in (*names, *(f"{names[0]} {i}" for i in range(2, 200))) if n not in taken)


def toml_array(values: Sequence[Any]) -> str:
    """Return values as an array in TOML."""
    return "[" + ", ".join(map(toml_value, values)) + "]"
