"""A column's encoding as category codes inside the engine: domains, bins, outside values and nulls as SQL.

A code is the position in `attribute.domain`; -1 is a value outside of it and -2 a null that the policy does not allow.
Encoding has two steps. *Keys* are computed for each record, on dictionary vectors where the engine has them; the *code*
is computed from the keys, once a group when records are grouped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time

from msgspec import Struct

from rrpolicy.canonical_json import Value, same_category
from rrpolicy.engine.column_types import MOMENTS, StoredColumn, TypeFamily
from rrpolicy.engine.quoting import identifier, literal, sql_list
from rrpolicy.errors import DataError, Problem
from rrpolicy.policy.model import Attribute
from rrpolicy.policy.tree.problems import toml_value

OUTSIDE_CODE = -1
NULL_CODE = -2
ZONED = "TIMESTAMP WITH TIME ZONE"
_EDGES = {"DATE": "2024-01-31", "TIME": "12:30:00", "": "2024-01-31T12:30:00"}
LISTED = 64
"""Domains up to this size are looked up in a list for each record; larger ones by a join after grouping."""


class AttributeEncoding(Struct, frozen=True):
    """One attribute's encoding.

    Attributes:
        keys: name -> SQL over the table's columns, for each record.
        code: SQL over the keys (and the join) giving the int32 code.
        join: SQL of a join with the domain as a table of `value` and `code`; or empty.
        joined: that table's name and contents; None without a join.
    """

    keys: Mapping[str, str]
    code: str
    join: str = ""
    joined: tuple[str, DomainComparison] | None = None


def encode(attribute: Attribute, column: StoredColumn, prefix: str) -> AttributeEncoding:
    """Return the encoding of a categorical attribute.

    `prefix` begins the names of the keys, and is unique in the statement.
    """
    if attribute.domain is None:
        raise ValueError(f"the domain of {attribute.name} is not known")
    if attribute.bins is not None:
        return AttributeEncoding({prefix: f"({_bin_code_sql(attribute, column)})::INTEGER"}, prefix)
    how = compare_with_domain(attribute, column)
    absent = category_code(attribute, attribute.nulls, NULL_CODE)
    outside = category_code(attribute, attribute.outside, OUTSIDE_CODE)
    if len(how.values) <= LISTED:
        # The null at the end of the list is found, too; a value that is not found is null, and outside.
        values, codes = [*map(literal, how.values), "NULL"], sql_list([*how.places, absent], "TINYINT")
        key = f"({codes})[list_position([{', '.join(values)}]::{how.type}[], {how.sql})]"
        return AttributeEncoding({prefix: key}, f"coalesce({prefix}, {outside})::INTEGER")
    table = f"{prefix}_domain"
    join = f"LEFT JOIN {table} ON {prefix} = {table}.value::{how.type}"
    code = f"coalesce({table}.code, CASE WHEN {prefix} IS NULL THEN {absent} ELSE {outside} END)::INTEGER"
    return AttributeEncoding({prefix: how.sql}, code, join, (table, how))


def _domain_code_sql(how: DomainComparison, found: str) -> str:
    """Return SQL of the code for a position from 1 in the list of the column's own categories."""
    if how.places == tuple(range(len(how.places))):
        return f"{found} - 1"
    return f"({sql_list(how.places, 'INTEGER')})[{found}]"


class GroupingEncoding(Struct, frozen=True):
    """An encoding for grouping only, of text with few categories: the engine then counts in an array.

    Attributes:
        key: SQL of the group's key, null for both nulls and outside values.
        known: SQL counted in addition: the values that are not null.
        code: SQL of the code over the key, that count and `n`.
        mixed: SQL that is true if a group contains both nulls and outside values, so that the code is invalid.
        bits: bits of the key in the engine's array.
    """

    key: str
    known: str
    code: str
    mixed: str
    bits: int


def grouping_encoding(attribute: Attribute, column: StoredColumn, prefix: str) -> GroupingEncoding | None:
    """Return an attribute's encoding for grouping, None if it has none; arguments and errors as `encode`."""
    if attribute.bins is not None or attribute.domain is None:
        return None
    how = compare_with_domain(attribute, column)
    if how.type != "VARCHAR" or not 0 < len(how.values) <= LISTED:
        return None
    absent, outside = (
        category_code(attribute, attribute.nulls, NULL_CODE),
        category_code(attribute, attribute.outside, OUTSIDE_CODE),
    )
    known = f"{prefix}_known"
    code = (
        f"CASE WHEN {prefix} IS NOT NULL THEN {_domain_code_sql(how, f'(enum_code({prefix})::INTEGER + 1)')}"
        f" WHEN {known} = 0 THEN {absent} ELSE {outside} END"
    )
    return GroupingEncoding(
        f"TRY_CAST({how.sql} AS ENUM({', '.join(map(literal, how.values))}))",
        f"count({how.sql})",
        f"({code})::INTEGER",
        f"({prefix} IS NULL AND {known} > 0 AND {known} < n)",
        (len(how.values) + 1).bit_length(),
    )


def domain_position(domain: tuple[Value, ...], value: Value) -> int:
    """Return a category's position in a domain; true differs from 1.

    Raises ValueError if it is not in the domain.
    """
    for place, category in enumerate(domain):
        if same_category(category, value):
            return place
    raise ValueError("not a category of the domain")


def category_code(attribute: Attribute, category: Value | None, otherwise: int) -> int:
    """Return the code of the category that nulls or outside values map to."""
    return otherwise if category is None or attribute.domain is None else domain_position(attribute.domain, category)


class DomainComparison(Struct, frozen=True):
    """A comparison of a column with its domain.

    Attributes:
        places: the codes of the categories that can occur in the column.
        type: the engine type to compare in.
        sql: the column in that type.
    """

    places: tuple[int, ...]
    values: tuple[Value, ...]
    type: str
    sql: str


def compare_with_domain(attribute: Attribute, column: StoredColumn) -> DomainComparison:
    """Return the comparison of a column with its domain.

    The categories named by `nulls` and `outside` need not be of the column's type.
    """
    domain = attribute.domain or ()
    meant = [v for v in domain if v not in (attribute.nulls, attribute.outside)]
    kind, sql = "VARCHAR", column.text
    if column.family is TypeFamily.TEXT or (column.spelled and _compares_as_text(meant, column)):
        fits = [isinstance(v, str) for v in domain]
    elif column.family is TypeFamily.BOOLEAN:
        fits = [isinstance(v, bool) for v in domain]
        kind, sql = "BOOLEAN", column.typed
    elif column.family in {TypeFamily.INTEGER, TypeFamily.REAL}:
        fits = [not isinstance(v, (bool, str)) for v in domain]
        kind, sql = _numeric_comparison(column, [v for v, fit in zip(domain, fits, strict=True) if fit])
    elif column.family is TypeFamily.MOMENT:
        instants = [parse_moment(v, column.type) for v in domain]
        fits = [instant is not None for instant in instants]
        if len(set(instants) - {None}) < sum(fits):
            message = f"two categories of '{attribute.name}' are one {column.type}"
            raise DataError(Problem("RR312", message, attribute.place, "a category for each date or time"))
        kind, sql = column.type, column.typed
    else:
        raise category_type_error(attribute, column, meant[0] if meant else "")
    for value, fit in zip(domain, fits, strict=True):
        if not fit and value not in (attribute.nulls, attribute.outside):
            raise category_type_error(attribute, column, value)
    pairs = [(place, value) for place, (value, fit) in enumerate(zip(domain, fits, strict=True)) if fit]
    return DomainComparison(tuple(p for p, _ in pairs), tuple(v for _, v in pairs), kind, sql)


def _compares_as_text(meant: Sequence[Value], column: StoredColumn) -> bool:
    """Return whether categories are compared with a CSV column as text: always, unless all are dates or times."""
    texts = bool(meant) and all(isinstance(v, str) for v in meant)
    moments = column.family is TypeFamily.MOMENT and all(parse_moment(v, column.type) is not None for v in meant)
    return texts and not moments


def parse_moment(value: Value, kind: str) -> date | time | None:
    """Return the date or time that a category spells, as a value of an engine type; None if it spells none.

    `kind` is DATE, TIME, TIMESTAMP, ….
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


def _numeric_comparison(column: StoredColumn, values: list[Value]) -> tuple[str, str]:
    """Return the type in which a numeric column is compared, so that equal numbers are equal, and its SQL."""
    if column.type == "FLOAT":
        return "FLOAT", column.typed
    if column.family is TypeFamily.REAL or any(isinstance(v, float) for v in values):
        return "DOUBLE", f"({column.typed})::DOUBLE"
    return "HUGEINT" if column.type in {"HUGEINT", "UBIGINT"} else "BIGINT", column.typed


def category_type_error(attribute: Attribute, column: StoredColumn, value: Value) -> DataError:
    """Return RR312 for a category that cannot occur in the column."""
    spoken = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}[type(value)]
    if column.family is TypeFamily.MOMENT:
        hint = "write dates and times as TOML does, such as 2026-01-31 or 2026-01-31 08:00:00"
    elif column.family is TypeFamily.OTHER:
        hint = "turn it into text in a view or in the file that the policy reads"
    elif column.odd and not isinstance(value, str):
        return DataError(text_among_numbers_problem(attribute, column))
    else:
        hint = "write the domain in the column's type, or read the column through a view that casts it"
    message = f"the column of '{attribute.name}' is {column.type} ({column.family.value}), its domain contains {spoken}"
    expected = f"categories of the type {column.type}"
    return DataError(Problem("RR312", message, attribute.place, expected, hint))


def text_among_numbers_problem(attribute: Attribute, column: StoredColumn) -> Problem:
    """Return RR312 for a column of numbers that is read as text because some values are not numbers."""
    records = "1 record contains" if column.odd == 1 else f"{column.odd:,} records contain"
    hints = []
    if column.other_mark:
        mark, spoken = (".", "point") if column.comma else (",", "comma")
        hints.append(f'`decimal = "{mark}"` under [source.csv] if {column.other_mark:,} have a decimal {spoken}')
    if column.padded and attribute.domain:
        number = next((v for v in attribute.domain if not isinstance(v, str)), 1)
        hints.append(f'write the domain as text if these are codes that begin with a 0: domain = ["0{number}", …]')
    elif column.odd > column.other_mark:
        own = attribute.missing
        where = "or under [source]" if own is None else "which replace those under [source]"
        codes = ", ".join(map(toml_value, (*(own or ()), "NA")))
        hints.append(f"list the codes of missing values: `missing = [{codes}]` of '{attribute.name}' {where}")
    message = f"{records} text that spells no number in '{attribute.name}', so the column is text"
    return Problem("RR312", message, attribute.place, "a column of numbers", "; ".join(hints))


def _bin_code_sql(attribute: Attribute, column: StoredColumn) -> str:
    bins = attribute.bins
    assert bins is not None
    moments = any(isinstance(e, str) for e in bins.edges)
    if column.family not in ({TypeFamily.MOMENT} if moments else {TypeFamily.INTEGER, TypeFamily.REAL}) or (
        moments and any(isinstance(e, str) and parse_moment(e, column.type) is None for e in bins.edges)
    ):
        raise DataError(_binning_problem(attribute, column, moments=moments))
    domain = attribute.domain or ()
    codes = [domain_position(domain, label) for label in bins.labels]
    outside = category_code(attribute, attribute.outside, OUTSIDE_CODE)
    x = column.typed if moments else f"({column.typed})::DOUBLE"
    edges = [_edge_sql(e, column.type) for e in bins.edges]
    beyond = [f"{x} {sign} {sql}" for sign, sql in (("<", edges[0]), (">", edges[-1])) if sql]
    beyond = [f" WHEN {' OR '.join(beyond)} THEN {outside}"] if beyond else []
    absent = category_code(attribute, attribute.nulls, NULL_CODE)
    return f"CASE WHEN {x} IS NULL THEN {absent}{''.join(beyond)} ELSE {_binary_search_sql(x, edges[1:-1], codes)} END"


def _edge_sql(edge: float | str, kind: str) -> str:
    """Return SQL of an edge; empty for an infinite edge of dates or times, all of which lie inside."""
    if isinstance(edge, str):
        return f"{literal(edge)}::{kind}"
    return literal(float(edge)) if kind not in MOMENTS else ""


def _binning_problem(attribute: Attribute, column: StoredColumn, *, moments: bool) -> Problem:
    if column.odd and not moments:
        return text_among_numbers_problem(attribute, column)
    needed = "dates or times as the bins are" if moments else "numbers"
    message = f"the column of '{attribute.name}' is {column.type} ({column.family.value}), bins need {needed}"
    expected, hint = f"a column of {needed}", "read the column through a view that casts it"
    if moments and column.family is TypeFamily.MOMENT:
        message = f"an edge of '{attribute.name}' is not a value of its column, which is {column.type}"
        expected, hint = "edges of the column's type", f"write edges such as {_EDGES.get(column.type, _EDGES[''])}"
    elif moments and column.type == ZONED:
        local = f"{identifier(column.name)} AT TIME ZONE 'UTC'"
        hint = f"read it through a view, or write the table again, with the time of one zone: `{local}`"
    elif moments and column.family is TypeFamily.TEXT:
        cast = f"strptime({identifier(column.name)}, '%d.%m.%Y')::DATE"
        written = f"write the table again with `{cast}`, which reads 31.12.1999: see `rrpolicy explain RR312`"
        hint = f"give a `domain` in place of `bins`, or {written}"
    elif column.family is not TypeFamily.OTHER:
        hint = f"give a `domain` in place of `bins`, or {hint}"
    return Problem("RR312", message, attribute.place, expected, hint)


def _binary_search_sql(x: str, edges: list[str], codes: list[int]) -> str:
    if not edges:
        return str(codes[0])
    middle = len(edges) // 2
    below = _binary_search_sql(x, edges[:middle], codes[: middle + 1])
    above = _binary_search_sql(x, edges[middle + 1 :], codes[middle + 1 :])
    return f"CASE WHEN {x} < {edges[middle]} THEN {below} ELSE {above} END"


def released_column_type(attribute: Attribute, column: StoredColumn) -> str:
    """Return the engine type of an attribute's released values; see `Snapshot.released_type`."""
    if not attribute.categorical:
        if column.family is TypeFamily.OTHER:
            message = f"the column of '{attribute.name}' is {column.type}, which cannot be released unchanged"
            expected = "text, numbers, true or false, dates or times"
            hint = "give it a dropped role, or turn it into one of these in a view"
            raise DataError(Problem("RR321", message, attribute.place, expected, hint))
        return column.released_type
    if attribute.domain is None:
        if column.family is TypeFamily.OTHER:
            raise category_type_error(attribute, column, "")
        return "VARCHAR" if column.family is TypeFamily.MOMENT else column.released_type
    encode(attribute, column, "k")
    return domain_column_type(attribute.domain)


def domain_column_type(domain: tuple[Value, ...]) -> str:
    """Return the engine type of all categories; text if they are of several kinds."""
    kinds = {type(v) for v in domain}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int}:
        return "BIGINT"
    return "DOUBLE" if kinds <= {int, float} else "VARCHAR"
