"""How a column becomes category codes inside the engine: domains, bins, outside values and nulls as SQL.

A code is the position in `attribute.domain`; -1 stands for a value outside of it and -2 for a null that the policy does
not allow. Encoding has two steps. *Keys* are computed for each record, on dictionary vectors where the engine has them;
the *code* is computed from the keys, once a group when records are grouped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time

from rrpolicy.canonical_json import Value, same_category
from rrpolicy.engine.column_types import MOMENTS, Family, Stored
from rrpolicy.engine.quoting import identifier, listed, literal
from rrpolicy.errors import DataError, Problem
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.policy.model import Attribute
from rrpolicy.policy.tree.spelling import spelled

OUTSIDE = -1
NULL = -2
ZONED = "TIMESTAMP WITH TIME ZONE"
_EDGES = {"DATE": "2024-01-31", "TIME": "12:30:00", "": "2024-01-31T12:30:00"}
LISTED = 64
"""Domains up to this size are looked up in a list for each record; larger ones by a join after grouping."""


@frozen
class Encoded:
    """One attribute's encoding.

    Attributes:
        keys: name -> SQL over the table's columns, for each record.
        code: SQL over the keys (and the join) giving the int32 code.
        join: SQL of a join with the domain as a table of `value` and `code`; or empty.
        joined: that table's name and what it holds; None without a join.
    """

    keys: Mapping[str, str]
    code: str
    join: str = ""
    joined: tuple[str, Comparison] | None = None


def encode(attribute: Attribute, column: Stored, prefix: str) -> Encoded:
    """Return the encoding of a categorical attribute.

    Args:
        attribute: with its domain.
        column: the table's column.
        prefix: what the names of the keys begin with; unique in the statement.

    Raises:
        DataError: RR312 if the column's type cannot hold the domain's values or be binned.
    """
    if attribute.domain is None:
        raise ValueError(f"the domain of {attribute.name} is not known")
    if attribute.bins is not None:
        return Encoded({prefix: f"({_binned(attribute, column)})::INTEGER"}, prefix)
    how = comparison(attribute, column)
    absent = code_of(attribute, attribute.nulls, NULL)
    outside = code_of(attribute, attribute.outside, OUTSIDE)
    if len(how.values) <= LISTED:
        # The null at the end of the list is found, too; what is not found is null, and outside.
        values, codes = [*map(literal, how.values), "NULL"], listed([*how.places, absent], "TINYINT")
        key = f"({codes})[list_position([{', '.join(values)}]::{how.type}[], {how.sql})]"
        return Encoded({prefix: key}, f"coalesce({prefix}, {outside})::INTEGER")
    table = f"{prefix}_domain"
    join = f"LEFT JOIN {table} ON {prefix} = {table}.value::{how.type}"
    code = f"coalesce({table}.code, CASE WHEN {prefix} IS NULL THEN {absent} ELSE {outside} END)::INTEGER"
    return Encoded({prefix: how.sql}, code, join, (table, how))


def _place(how: Comparison, found: str) -> str:
    """Return SQL of the code for a position from 1 in the list of the column's own categories."""
    if how.places == tuple(range(len(how.places))):
        return f"{found} - 1"
    return f"({listed(how.places, 'INTEGER')})[{found}]"


@frozen
class Swift:
    """An encoding for grouping only, of text with few categories: the engine then counts in an array.

    Attributes:
        key: SQL of the group's key, null for nulls and outside values alike.
        known: SQL to count beside it: the values that are not null.
        code: SQL of the code over the key, that count and `n`.
        mixed: SQL that is true where a group holds both nulls and outside values, so that the code does not stand.
        bits: of the key in the engine's array.
    """

    key: str
    known: str
    code: str
    mixed: str
    bits: int


def swift(attribute: Attribute, column: Stored, prefix: str) -> Swift | None:
    """Return the swift encoding of an attribute, None if it has none; arguments and errors as `encode`."""
    if attribute.bins is not None or attribute.domain is None:
        return None
    how = comparison(attribute, column)
    if how.type != "VARCHAR" or not 0 < len(how.values) <= LISTED:
        return None
    absent, outside = code_of(attribute, attribute.nulls, NULL), code_of(attribute, attribute.outside, OUTSIDE)
    known = f"{prefix}_known"
    code = (
        f"CASE WHEN {prefix} IS NOT NULL THEN {_place(how, f'(enum_code({prefix})::INTEGER + 1)')}"
        f" WHEN {known} = 0 THEN {absent} ELSE {outside} END"
    )
    return Swift(
        f"TRY_CAST({how.sql} AS ENUM({', '.join(map(literal, how.values))}))",
        f"count({how.sql})",
        f"({code})::INTEGER",
        f"({prefix} IS NULL AND {known} > 0 AND {known} < n)",
        (len(how.values) + 1).bit_length(),
    )


def position(domain: tuple[Value, ...], value: Value) -> int:
    """Return where a category stands in a domain; true is not taken for 1.

    Raises:
        ValueError: if it is not in the domain.
    """
    for place, category in enumerate(domain):
        if same_category(category, value):
            return place
    raise ValueError("not a category of the domain")


def code_of(attribute: Attribute, category: Value | None, otherwise: int) -> int:
    """Return the code of the category that nulls or outside values map to."""
    return otherwise if category is None or attribute.domain is None else position(attribute.domain, category)


@frozen
class Comparison:
    """How a column is held against its domain.

    Attributes:
        places: the codes of the categories that the column itself can hold.
        values: those categories.
        type: the engine type to compare in.
        sql: the column in that type.
    """

    places: tuple[int, ...]
    values: tuple[Value, ...]
    type: str
    sql: str


def comparison(attribute: Attribute, column: Stored) -> Comparison:
    """Return how the column is compared with the domain.

    The categories named by `nulls` and `outside` need not be of the column's type.

    Raises:
        DataError: RR312 if another category is of a type that the column cannot hold.
    """
    domain = attribute.domain or ()
    meant = [v for v in domain if v not in (attribute.nulls, attribute.outside)]
    kind, sql = "VARCHAR", column.text
    if column.family is Family.TEXT or (column.spelled and _textual(meant, column)):
        fits = [isinstance(v, str) for v in domain]
    elif column.family is Family.BOOLEAN:
        fits = [isinstance(v, bool) for v in domain]
        kind, sql = "BOOLEAN", column.typed
    elif column.family in {Family.INTEGER, Family.REAL}:
        fits = [not isinstance(v, (bool, str)) for v in domain]
        kind, sql = _numeric(column, [v for v, fit in zip(domain, fits, strict=True) if fit])
    elif column.family is Family.MOMENT:
        instants = [parsed(v, column.type) for v in domain]
        fits = [instant is not None for instant in instants]
        if len(set(instants) - {None}) < sum(fits):
            raise _twice(attribute, column)
        kind, sql = column.type, column.typed
    else:
        raise type_error(attribute, column, meant[0] if meant else "")
    for value, fit in zip(domain, fits, strict=True):
        if not fit and value not in (attribute.nulls, attribute.outside):
            raise type_error(attribute, column, value)
    pairs = [(place, value) for place, (value, fit) in enumerate(zip(domain, fits, strict=True)) if fit]
    return Comparison(tuple(p for p, _ in pairs), tuple(v for _, v in pairs), kind, sql)


def _textual(meant: Sequence[Value], column: Stored) -> bool:
    """Return whether categories are held against the text of a CSV column: as text, unless all are dates or times."""
    texts = bool(meant) and all(isinstance(v, str) for v in meant)
    moments = column.family is Family.MOMENT and all(parsed(v, column.type) is not None for v in meant)
    return texts and not moments


def parsed(value: Value, kind: str) -> date | time | None:
    """Return the date or time that a category spells, as a column of an engine type holds it; None if it spells none.

    Args:
        value: the category.
        kind: DATE, TIME, TIMESTAMP, …
    """
    if not isinstance(value, str):
        return None
    try:
        if kind == "DATE":
            return date.fromisoformat(value) if len(value) == len("2020-01-01") else None
        if kind == "TIME":
            read: datetime | time = time.fromisoformat(value)
        else:
            read = datetime.fromisoformat(value)
    except ValueError:
        return None
    return read if read.tzinfo is None else None


def _twice(attribute: Attribute, column: Stored) -> DataError:
    return DataError(
        Problem(
            "RR312",
            f"two categories of '{attribute.name}' are one {column.type}",
            attribute.place,
            "a category for each date or time",
        )
    )


def _numeric(column: Stored, values: list[Value]) -> tuple[str, str]:
    """Return the type that a number column is compared in, so that equal numbers are equal, and its SQL."""
    if column.type == "FLOAT":
        return "FLOAT", column.typed
    if column.family is Family.REAL or any(isinstance(v, float) for v in values):
        return "DOUBLE", f"({column.typed})::DOUBLE"
    return "HUGEINT" if column.type in {"HUGEINT", "UBIGINT"} else "BIGINT", column.typed


def type_error(attribute: Attribute, column: Stored, value: Value) -> DataError:
    """Return RR312 for a category that the column cannot hold."""
    spoken = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}[type(value)]
    if column.family is Family.MOMENT:
        hint = "write dates and times as TOML does, such as 2026-01-31 or 2026-01-31 08:00:00"
    elif column.family is Family.OTHER:
        hint = "turn it into text in a view or in the file that the policy reads"
    elif column.odd and not isinstance(value, str):
        return DataError(text_among_numbers(attribute, column))
    else:
        hint = "write the domain in the column's type, or read the column through a view that casts it"
    return DataError(
        Problem(
            "RR312",
            f"the column of '{attribute.name}' is {column.type} ({column.family.value}), its domain holds {spoken}",
            attribute.place,
            f"categories that a {column.type} column can hold",
            hint,
        )
    )


def text_among_numbers(attribute: Attribute, column: Stored) -> Problem:
    """Return RR312 for a column whose numbers are read as text because of others that are none."""
    records = "1 record holds" if column.odd == 1 else f"{column.odd:,} records hold"
    hints = []
    if column.other_mark:
        mark, spoken = (".", "point") if column.comma else (",", "comma")
        hints.append(f'`decimal = "{mark}"` under [source.csv] if {column.other_mark:,} have a decimal {spoken}')
    if column.padded and attribute.domain:
        number = next((v for v in attribute.domain if not isinstance(v, str)), 1)
        hints.append(f'write the domain as text if these are codes that begin with a 0: domain = ["0{number}", …]')
    elif column.odd > column.other_mark:
        own = attribute.missing
        where = "or under [source]" if own is None else "which stand in place of those under [source]"
        codes = ", ".join(map(spelled, (*(own or ()), "NA")))
        hints.append(f"name the codes that stand for no value: `missing = [{codes}]` of '{attribute.name}' {where}")
    return Problem(
        "RR312",
        f"{records} text that spells no number in '{attribute.name}', so the column is text",
        attribute.place,
        "a column of numbers",
        "; ".join(hints),
    )


def _binned(attribute: Attribute, column: Stored) -> str:
    """Return SQL for the code of the bin: [a, b), the last one closed."""
    bins = attribute.bins
    assert bins is not None
    moments = any(isinstance(e, str) for e in bins.edges)
    if column.family not in ({Family.MOMENT} if moments else {Family.INTEGER, Family.REAL}) or (
        moments and any(isinstance(e, str) and parsed(e, column.type) is None for e in bins.edges)
    ):
        raise DataError(_unbinnable(attribute, column, moments=moments))
    domain = attribute.domain or ()
    codes = [position(domain, label) for label in bins.labels]
    outside = code_of(attribute, attribute.outside, OUTSIDE)
    x = column.typed if moments else f"({column.typed})::DOUBLE"
    edges = [_edge(e, column.type) for e in bins.edges]
    beyond = [f"{x} {sign} {sql}" for sign, sql in (("<", edges[0]), (">", edges[-1])) if sql]
    beyond = [f" WHEN {' OR '.join(beyond)} THEN {outside}"] if beyond else []
    absent = code_of(attribute, attribute.nulls, NULL)
    return f"CASE WHEN {x} IS NULL THEN {absent}{''.join(beyond)} ELSE {_search(x, edges[1:-1], codes)} END"


def _edge(edge: float | str, kind: str) -> str:
    """Return SQL of an edge; empty for an infinite one beside dates or times, which all lie inside."""
    if isinstance(edge, str):
        return f"{literal(edge)}::{kind}"
    return literal(float(edge)) if kind not in MOMENTS else ""


def _unbinnable(attribute: Attribute, column: Stored, *, moments: bool) -> Problem:
    if column.odd and not moments:
        return text_among_numbers(attribute, column)
    needed = "dates or times as the bins are" if moments else "numbers"
    message = f"the column of '{attribute.name}' is {column.type} ({column.family.value}), bins need {needed}"
    expected, hint = f"a column of {needed}", "read the column through a view that casts it"
    if moments and column.family is Family.MOMENT:
        message = f"an edge of '{attribute.name}' is no value of its column, which is {column.type}"
        expected, hint = "edges that the column can hold", f"write edges such as {_EDGES.get(column.type, _EDGES[''])}"
    elif moments and column.type == ZONED:
        local = f"{identifier(column.name)} AT TIME ZONE 'UTC'"
        hint = f"read it through a view, or write the table again, with the time of one zone: `{local}`"
    elif moments and column.family is Family.TEXT:
        cast = f"strptime({identifier(column.name)}, '%d.%m.%Y')::DATE"
        written = f"write the table again with `{cast}`, which reads 31.12.1999: see `rrpolicy explain RR312`"
        hint = f"give a `domain` in place of `bins`, or {written}"
    elif column.family is not Family.OTHER:
        hint = f"give a `domain` in place of `bins`, or {hint}"
    return Problem("RR312", message, attribute.place, expected, hint)


def _search(x: str, edges: list[str], codes: list[int]) -> str:
    """Return SQL of a binary search: `edges` part the codes."""
    if not edges:
        return str(codes[0])
    middle = len(edges) // 2
    below = _search(x, edges[:middle], codes[: middle + 1])
    above = _search(x, edges[middle + 1 :], codes[middle + 1 :])
    return f"CASE WHEN {x} < {edges[middle]} THEN {below} ELSE {above} END"


def released_type(attribute: Attribute, column: Stored) -> str:
    """Return the engine type of an attribute's released values; see `Snapshot.released_type`."""
    if not attribute.categorical:
        if column.family is Family.OTHER:
            raise DataError(
                Problem(
                    "RR321",
                    f"the column of '{attribute.name}' is {column.type}, which cannot be released as it is",
                    attribute.place,
                    "text, numbers, true or false, dates or times",
                    "give it a dropped role, or turn it into one of these in a view",
                )
            )
        return column.released_type
    if attribute.domain is None:
        if column.family is Family.OTHER:
            raise type_error(attribute, column, "")
        return "VARCHAR" if column.family is Family.MOMENT else column.released_type
    encode(attribute, column, "k")
    return domain_type(attribute.domain)


def domain_type(domain: tuple[Value, ...]) -> str:
    """Return the engine type that holds all categories; of several kinds, text."""
    kinds = {type(v) for v in domain}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int}:
        return "BIGINT"
    return "DOUBLE" if kinds <= {int, float} else "VARCHAR"
