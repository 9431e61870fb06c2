"""Units of protection (people, households) of a table, counted by their number of records.

Every guarantee applies to a unit, and a unit is one record unless the policy permits more. If a column identifies the
units, the table is checked: the number of distinct values of the column by their number of records.

Refusing a table for it discloses nothing about a person. The refusal depends on the data; but the guarantee compares
tables in which every unit has as many records as before and one unit's values differ. If one of two such tables passes,
so does the other: the identifiers of both are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from rrpolicy.declarations import Role
from rrpolicy.errors import DataError, Problem
from rrpolicy.frozen import replace
from rrpolicy.policy.model import MAX_UNIT_RECORDS, ROW_UNIT
from rrpolicy.policy.tree.problems import toml_value
from rrpolicy.source.names import (
    LINKING_WORDS,
    UNIT_WORDS,
    contains_word,
    is_person_identifier_name,
    is_row_number_name,
)

if TYPE_CHECKING:
    from rrpolicy.policy.model import Attribute, Policy
    from rrpolicy.source.protocol import Original, Snapshot


UNTESTED_UNITS = "untested-units"
"""The name of the remark that units were not identified."""


@runtime_checkable
class _SharedValueCounter(Protocol):
    """An original that counts the records that share a value of a column, including unreleased columns."""

    def shared(self, column: str) -> Units | None: ...


@dataclass(frozen=True, slots=True)
class Units:
    """The number of units by their number of records.

    Attributes:
        sizes: number of records -> number of units that have so many; both above 0.
        missing: records of unknown units (null, or NaN).
        type: engine type of the column that identifies units; "" if unknown.
    """

    sizes: Mapping[int, int]
    missing: int = 0
    type: str = field(default="", compare=False)

    @classmethod
    def together(cls, parts: Iterable[Units]) -> Units:
        """Return the units of all parts of a table; no two parts may share a unit."""
        sizes: Counter[int] = Counter()
        missing = 0
        for part in parts:
            sizes.update(part.sizes)
            missing += part.missing
        return cls(dict(sizes), missing)

    def beyond(self, most: int) -> int:
        """Return the number of records in excess of `most` per unit."""
        return sum((size - most) * units for size, units in self.sizes.items() if size > most)


def unit_of_people(policy: Policy) -> str | None:
    """Return the column that identifies units of protection; None if there is none, or it is a number of rows."""
    return None if policy.unit is None or is_row_number_name(policy.unit) else policy.unit


def unit_choice_hint(policy: Policy) -> str | None:
    """Return a hint if several identifiers leave open which of them identifies people; else None."""
    identifiers = [a.name for a in policy.with_role(Role.IDENTIFIER)]
    if policy.unit is not None or policy.of_rows or len(identifiers) < 2:  # noqa: PLR2004
        return None
    listed = ", ".join(f"'{name}'" for name in identifiers)
    stated = " or ".join(f"unit = {toml_value(name)}" for name in identifiers if not is_row_number_name(name))
    proposed = (
        f"Declare under [source] the one that all records of a person share, {stated}; a row number does not qualify"
        if stated
        else "Their names look like row numbers: add the column that all records of a person share, as `unit`"
    )
    return (
        f"{listed} are identifiers, and the policy does not declare which of them identifies people: whether a "
        f"person has one record is not tested."
        f" {proposed}"
    )


def count_units(policy: Policy, snapshot: Snapshot) -> Units | None:
    """Count the units of a table and refuse it if one has more records than the policy permits.

    None if the policy names no column that identifies units, or the engine does not count them, or the counts lack that
    column: whether a unit has more records than stated is then undecided. No value is disclosed.
    """
    name, count = policy.unit, getattr(snapshot, "units", None)
    if name is None or count is None:
        return None
    attribute = policy.attributes.get(name)
    place = policy.place("source.unit") or (attribute.place if attribute else None)
    if name not in snapshot.columns() and policy.source.multiplicity is not None:
        if policy.release.series is None:
            return None
        message = f"a series draws with persistent numbers per person, and the counts do not contain '{name}'"
        hint = f"give the table of records, or count by '{name}' as well"
        raise DataError(Problem("RR349", message, place, "whose each record is", hint))
    if name not in snapshot.columns():
        message = f"`unit` is '{name}', and the table has no such column"
        raise DataError(Problem("RR325", message, place, "a column of the table, case-sensitive"))
    found: Units = replace(count(name), type=snapshot.columns()[name])
    if found.missing:
        message = f"{_shared_records_text(found.missing)} no '{name}', the column that identifies units of protection"
        hint = "correct the table, or let `[source] unit` name a column that every record has"
        raise DataError(Problem("RR324", message, place, "no nulls (or NaN)", hint))
    most = policy.source.max_records
    if beyond := found.beyond(most):
        largest = max(found.sizes)
        message = (
            f"'{name}' distinguishes {sum(found.sizes.values()):,} units in {snapshot.records():,} records: {beyond:,} "
            f"{'exceeds' if beyond == 1 else 'exceed'} {most} a unit"
        )
        hint = (
            f"remove the duplicates; {_admission(largest)}if the column does not identify people, {_other_unit(policy)}"
        )
        raise DataError(
            Problem("RR323", message, place, f"at most {most} {'record' if most == 1 else 'records'}", hint)
        )
    return found


def _admission(largest: int) -> str:
    """Return how to permit the records of the largest unit; "" if no policy permits so many."""
    if largest > MAX_UNIT_RECORDS:
        return ""
    return f"or, if a person rightly has several records, admit them with `[source] max_records = {largest}`; "


def _other_unit(policy: Policy) -> str:
    """Return what to do with a unit that does not identify people: name another identifier, never a number of rows."""
    others = [a.name for a in policy.with_role(Role.IDENTIFIER)]
    named = [f"`unit = {toml_value(n)}`" for n in others if n != policy.unit and not is_row_number_name(n)]
    return f"name the one that does: {' or '.join(named)}" if named else "give it the role excluded"


def require_unrepeated_people(policy: Policy, original: Original) -> None:
    """Refuse a table with a column that looks like the key of people and repeats, if no `unit` is declared.

    The columns are identifiers, and columns that are left out and have the name of a key. A unit that is a number of
    rows declares nothing; `unit = "each row"` declares that each row is protected by itself. No value is disclosed.
    """
    if not isinstance(original, _SharedValueCounter) or policy.of_rows or unit_of_people(policy) is not None:
        return
    problems = []
    for attribute in policy.attributes.values():
        if not attribute.role.dropped or attribute.name == policy.unit or not is_person_key(attribute):
            continue
        found = original.shared(attribute.name)
        most = max(found.sizes, default=0) if found is not None else 0
        if found is None or most <= 1:
            continue
        units, rows = sum(found.sizes.values()), sum(size * n for size, n in found.sizes.items())
        if rows > MAX_UNIT_RECORDS * units and not is_named_for_people(attribute):
            continue  # a few values, such as the kind of a test
        admitted = f" and `max_records = {most}`" if most <= MAX_UNIT_RECORDS else ""
        message = (
            f"'{attribute.name}' ({attribute.role.value}) repeats: {units:,} {'person' if units == 1 else 'people'} in "
            f"{rows:,} rows, if it identifies people, and the policy declares no `unit`: each guarantee would "
            f"cover a row, not a person"
        )
        hint = (
            f"write `unit = {toml_value(attribute.name)}`{admitted} under [source]; or, if another column identifies "
            f'people, name that one; or `unit = "{ROW_UNIT}"` if each row is to be protected by itself'
        )
        place = attribute.place or policy.place("source.other_columns")
        problems.append(Problem("RR329", message, place, "`unit` under [source]", hint))
    if problems:
        raise DataError(problems)


def is_named_for_people(attribute: Attribute) -> bool:
    """Return whether a column is an identifier, or its name has a word of people or households."""
    return attribute.role is Role.IDENTIFIER or contains_word(attribute.name, UNIT_WORDS)


def is_person_key(attribute: Attribute) -> bool:
    """Return whether a column is an identifier, or has the name of a key of people."""
    name = attribute.name
    named = is_person_identifier_name(name) and (
        contains_word(name, UNIT_WORDS) or not contains_word(name, LINKING_WORDS)
    )
    return attribute.role is Role.IDENTIFIER or named


def _shared_records_text(records: int) -> str:
    return "1 record has" if records == 1 else f"{records:,} records have"
