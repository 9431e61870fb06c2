"""Violations of a policy by a table: columns that it does not name, types, values, nulls, too many categories.

Messages contain the number of records and the column, never a value.
"""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rrpolicy.canonical_json import Value
from rrpolicy.declarations import MAX_WEIGHT, category_weight
from rrpolicy.engine.column_types import TypeFamily, family
from rrpolicy.errors import DataError, Problem
from rrpolicy.frozen import replace
from rrpolicy.numbers import percent, plain_number
from rrpolicy.policy.attributes import MAX_CATEGORIES
from rrpolicy.policy.hierarchy import restrict_levels
from rrpolicy.policy.model import Attribute, Bins, Policy
from rrpolicy.policy.tree.problems import toml_value
from rrpolicy.source.duckdb.encoding import NULL_CODE, OUTSIDE_CODE
from rrpolicy.source.names import INDEX_COLUMN

if TYPE_CHECKING:
    from rrpolicy.counts import Counts
    from rrpolicy.source.protocol import Snapshot

SINGLE_SHARE = 0.05
"""The largest share of records with a unique value in a carried column or an observed domain."""
FEW_SINGLES = 100
"""The number of unique values permitted in an observed domain of however small a table."""


def check_columns(policy: Policy, columns: Mapping[str, str]) -> Iterator[Problem]:
    """Yield a problem for every column that the policy does not name, and for every attribute without a column."""
    unnamed = [name for name in columns if name not in policy.attributes]
    extra = [] if policy.source.other_columns != "refused" else [n for n in unnamed if not INDEX_COLUMN.fullmatch(n)]
    missing = [a for a in policy.attributes.values() if a.name not in columns]
    if policy.source.multiplicity is not None:  # dropped columns need not be counted
        missing = [a for a in missing if not a.role.dropped]
    counts = _count_column_hint(policy, extra, columns)
    for name in extra:
        close = difflib.get_close_matches(name, [a.name for a in missing], n=1, cutoff=0.5)
        message = f"the table has a column {name!r} that the policy does not name"
        hint = (
            f"did you mean it by '{close[0]}'?"
            if close
            else 'give it a role; `{ role = "excluded" }` keeps it out of the release, and '
            f'`other_columns = "excluded"` under [source] every column that is not named{counts}'
        )
        yield Problem("RR310", message, policy.place("attributes"), "a role for every column of the table", hint)
    for attribute in missing:
        close = difflib.get_close_matches(attribute.name, unnamed, n=1, cutoff=0.5)
        yield Problem(
            "RR311",
            f"the table has no column '{attribute.name}'",
            attribute.place,
            "a column of this name, case-sensitive",
            f"did you mean {close[0]!r}?" if close else "take the attribute out, or open another table",
        )


def _count_column_hint(policy: Policy, extra: Sequence[str], columns: Mapping[str, str]) -> str:
    """Return a hint how to name a column that may count records; "" if it is one of several, or no number."""
    if policy.source.multiplicity is not None or len(extra) != 1 or family(columns[extra[0]]) is not TypeFamily.INTEGER:
        return ""
    (name,) = extra
    return (
        f"; if it contains the number of records of each row, `multiplicity = {toml_value(name)}` under [source], or "
        f"counts:{name}: before the table's own name"
    )


def check_size(policy: Policy, records: int) -> Iterator[Problem]:
    """Yield a problem if the table is empty or smaller than `min_rows`."""
    least = policy.source.min_rows
    if records == 0:
        yield Problem("RR317", "the table has no records", policy.place("source.uri"), "at least one record")
    elif least is not None and records < least:
        message = f"the table has {records:,} records, fewer than min_rows"
        hint = "a partial table is a common cause; lower `min_rows` only if the table is meant to be this small"
        yield Problem("RR318", message, policy.place("source.min_rows"), f"at least {least:,} records", hint)


def resolve_domain(attribute: Attribute, snapshot: Snapshot) -> Attribute:
    """Return an attribute with its observed domain filled in, sorted, the category of nulls last."""
    values = snapshot.distinct(attribute, MAX_CATEGORIES)
    known = tuple(v for v in values if v is not None)
    problems = [*_observed_domain_problems(attribute, values)]
    if None in values and attribute.nulls is None:
        problems.append(_null_problem(attribute, None))
    if problems:
        raise DataError(problems)
    if attribute.nulls is not None and attribute.nulls not in known:
        if str(attribute.nulls) in {str(v) for v in known}:
            message = f"a value of '{attribute.name}' is spelled like the category of its nulls"
            raise DataError(Problem("RR320", message, attribute.place, "a name for nulls that no value has"))
        known = (*known, attribute.nulls)
    if not known:
        raise DataError(Problem("RR317", f"'{attribute.name}' has no values", attribute.place, "at least one value"))
    return replace(attribute, domain=known, hierarchy=_observed_hierarchy(attribute, known))


def _observed_domain_problems(attribute: Attribute, values: Sequence[Value | None]) -> Iterator[Problem]:
    if len(values) > MAX_CATEGORIES:
        message = f"'{attribute.name}' has more than {MAX_CATEGORIES:,} distinct values"
        expected = f"an observed domain of at most {MAX_CATEGORIES:,} categories"
        hint = "coarsen it with `bins`, or a `domain` with `outside`: so many values make nearly every record unique"
        yield Problem("RR316", message, attribute.place, expected, hint)
    if any(isinstance(v, float) and math.isinf(v) for v in values):
        yield Problem(
            "RR315",
            f"'{attribute.name}' contains infinite numbers",
            attribute.place,
            "finite numbers",
            "use `bins` that end in inf, or correct the table",
        )


def _observed_hierarchy(attribute: Attribute, known: tuple[Value, ...]) -> tuple[tuple[Value, ...], ...] | None:
    """Return the hierarchy over the values that occur."""
    if attribute.hierarchy is None:
        return None
    levels = restrict_levels(attribute.hierarchy, known)
    if levels is None:
        lacking = sum(restrict_levels(attribute.hierarchy, [value]) is None for value in known)
        values = "1 value" if lacking == 1 else f"{lacking:,} values"
        message = f"the table has {values} of '{attribute.name}' that its hierarchy does not list"
        expected = "a hierarchy that has a group for every value and for the category of nulls"
        hint = "add what is missing, or declare the domain, with `outside`"
        raise DataError(Problem("RR336", message, attribute.place, expected, hint))
    return levels


def check_codes(attributes: Sequence[Attribute], tallies: Iterable[Counts]) -> Iterator[Problem]:
    """Yield a problem for every attribute with values outside its domain, or nulls, that the policy does not allow.

    `tallies` has for each attribute a table over it alone, with the codes of invalid values.
    """
    for attribute, table in zip(attributes, tallies, strict=True):
        found = {int(code): int(n) for code, n in zip(table.codes[:, 0], table.n, strict=True) if code < 0}
        if OUTSIDE_CODE in found:
            what = "bins" if attribute.bins else "domain"
            message = f"{_records_have_text(found[OUTSIDE_CODE])} a value of '{attribute.name}' outside its {what}"
            expected = "every value inside (infinite numbers are outside of finite bins and of every domain)"
            hint = f'`outside = "Other"` maps them to a category; or extend the {what}'
            yield Problem("RR313", message, attribute.place, expected, hint)
        if NULL_CODE in found:
            yield _null_problem(attribute, found[NULL_CODE])


def _null_problem(attribute: Attribute, records: int | None) -> Problem:
    several = "some records have" if records is None else _records_have_text(records)
    message = f"{several} no value of '{attribute.name}' (null, or NaN)"
    hint = (
        "correct the table; give each record without a known cluster its own cluster"
        if attribute.design == "cluster"
        else '`nulls = "Unknown"` makes them a category'
    )
    return Problem("RR314", message, attribute.place, "no nulls", hint)


def _records_have_text(records: int) -> str:
    return "1 record has" if records == 1 else f"{records:,} records have"


def check_observed(attribute: Attribute, table: Counts) -> Iterator[Problem]:
    """Yield a problem if too many values of an observed domain occur once: the list of them is published."""
    singles, records = int((table.n == 1).sum()), int(table.n.sum())
    if attribute.observed and singles > max(FEW_SINGLES, SINGLE_SHARE * records):
        message = (
            f"the domain of '{attribute.name}' is observed and would be published, and "
            f"{percent(singles / records, 0)} of the records have a value that no other record has"
        )
        hint = "coarsen it with `bins`, or a `domain` with `outside`; or exclude it"
        yield Problem("RR316", message, attribute.place, f"at most {percent(SINGLE_SHARE, 0)}", hint)


def check_nulls(attribute: Attribute, nulls: int) -> Iterator[Problem]:
    """Yield a problem if an attribute has nulls that the policy does not allow, whether it has categories or not."""
    if not attribute.categorical:
        yield from check_carried(attribute, nulls, 0)
    elif nulls and attribute.nulls is None:
        yield _null_problem(attribute, nulls)


def probe_attribute(attribute: Attribute, kind: str) -> Attribute | None:
    """Return an attribute that codes nulls (-2) and infinite numbers (-1) of a carried column; None if none can.

    Of a weight, numbers below 0, and others that no weight can be, have the code of infinite ones.
    """
    probe = replace(attribute, domain=("any",), nulls=None, outside=None, bins=None, hierarchy=None)
    if family(kind) in {TypeFamily.INTEGER, TypeFamily.REAL}:
        most = sys.float_info.max
        edges = (0.0, MAX_WEIGHT) if attribute.design == "weight" else (-most, most)
        return replace(probe, bins=Bins(edges, ("any",)))
    return replace(probe, outside="any") if kind == "VARCHAR" else None


def check_carried(attribute: Attribute, nulls: int, infinite: int) -> Iterator[Problem]:
    """Yield a problem if a carried column, or a weight that is kept inside, contains invalid values."""
    if nulls and attribute.design == "weight":
        message = f"{_records_have_text(nulls)} no value of '{attribute.name}' (null, or NaN), which is a weight"
        hint = "correct the table; a weight of 0 leaves a record out of every estimate of the population"
        yield Problem("RR314", message, attribute.place, "a weight in every record", hint)
    elif nulls and attribute.nulls is None:
        yield Problem(
            "RR314",
            f"{_records_have_text(nulls)} no value of '{attribute.name}' (null, or NaN), which is released unchanged",
            attribute.place,
            "no nulls",
            "correct the table; every record has a stratum and a cluster"
            if attribute.design
            else '`nulls = "keep"` releases them as nulls',
        )
    if infinite and attribute.design == "weight":
        yield Problem(
            "RR144",
            f"{_records_have_text(infinite)} a negative, infinite or impossibly large '{attribute.name}', which is a "
            "weight",
            attribute.place,
            f"numbers from 0 to {plain_number(MAX_WEIGHT, 0)}",
            "correct the table; a weight below 0 represents no people",
        )
    elif infinite:
        yield Problem(
            "RR315",
            f"{_records_have_text(infinite)} an infinite '{attribute.name}', which is released unchanged",
            attribute.place,
            "finite numbers",
            "correct the table, or use `bins` that end in inf",
        )


def check_weight(attribute: Attribute, kind: str) -> Iterator[Problem]:
    """Yield a problem if a weight is not a number."""
    if attribute.design != "weight":
        return
    if attribute.domain is not None:
        sizes = all(category_weight(category) is not None for category in attribute.domain)
    else:
        sizes = family(kind) in {TypeFamily.INTEGER, TypeFamily.REAL}
    if not sizes:
        message = f"'{attribute.name}' is a weight, and contains values other than numbers of at least 0"
        hint = "take `design` out, or read the column as numbers in a view of the table"
        yield Problem("RR144", message, attribute.place, "finite numbers that are not negative", hint)


def check_weight_rounding(attribute: Attribute, unlike: int) -> Iterator[Problem]:
    """Yield a problem if an engine did not round a weight that is to be rounded."""
    if unlike and attribute.rounding is not None:
        message = (
            f"{_records_have_text(unlike)} a '{attribute.name}' that is not a multiple of "
            f"{plain_number(attribute.rounding)}: the engine that read the table did not round it"
        )
        hint = "report it to the engine's authors, or round the weights in a view of the table"
        yield Problem(
            "RR148", message, attribute.place, "an engine that rounds weights as its `reading` requires", hint
        )


def check_design_units(attribute: Attribute, singles: int, records: int) -> Iterator[Problem]:
    """Yield a problem if every record is a separate stratum or cluster: the column identifies every record."""
    if attribute.design in {"stratum", "cluster"} and singles == records > 1:
        yield Problem(
            "RR319",
            f"'{attribute.name}' is a {attribute.design} with a different value in every record: it identifies every "
            "record under any assumption, and does not improve estimates",
            attribute.place,
            "a column of the sample's design, whose values several records share",
            'exclude it: `role = "excluded"`; without clusters each record is taken for a sampling unit',
        )


def check_unique_values(attribute: Attribute, singles: int, records: int) -> Iterator[Problem]:
    """Yield a problem if too many records have a value of a carried column that occurs once."""
    if attribute.assume_unlinkable is None and singles > SINGLE_SHARE * records:
        yield Problem(
            "RR319",
            f"'{attribute.name}' is released unchanged, and {percent(singles / records, 0)} of the records "
            "have a value that no other record has",
            attribute.place,
            f"at most {percent(SINGLE_SHARE, 0)}",
            "such a column finds people again: give it `bins` or a `domain`, exclude it, "
            'or state why nobody can link it: `assume_unlinkable = "reason"`',
        )
