"""Whose records these are: how many units of protection (people, households) a table has, with how many records each.

Every guarantee speaks of a unit, and a unit is one record unless the policy admits more. Where a column tells the units
apart, the table is held against that: how many distinct values it has in how many records.

To refuse a table for it tells nothing of anybody. The refusal depends on the data; but what is promised compares tables
in which every unit has as many records as before and one unit's values are others. If one of two such tables passes, so
does the other: the identifiers of both are the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING

from rrpolicy.errors import DataError, Problem
from rrpolicy.frozen import frozen
from rrpolicy.policy.model import Role
from rrpolicy.policy.tree.spelling import spelled

if TYPE_CHECKING:
    from rrpolicy.policy.model import Policy
    from rrpolicy.source.protocol import Snapshot


UNTOLD = "untested-units"
"""The name of the remark that units were not told apart."""


@frozen
class Units:
    """How many units have how many records.

    Attributes:
        sizes: number of records -> number of units that have so many; both above 0.
        missing: records of which it is not known whose they are (null, or NaN).
        type: engine type of the column that tells them apart; "" if that is not known.
    """

    sizes: Mapping[int, int]
    missing: int = 0
    type: str = field(default="", compare=False)

    @classmethod
    def together(cls, parts: Iterable[Units]) -> Units:
        """Return the units of all parts of a table, of which none shares a unit with another."""
        sizes: Counter[int] = Counter()
        missing = 0
        for part in parts:
            sizes.update(part.sizes)
            missing += part.missing
        return cls(dict(sizes), missing)

    def beyond(self, most: int) -> int:
        """Return how many records exceed `most` a unit."""
        return sum((size - most) * units for size, units in self.sizes.items() if size > most)


def untold(policy: Policy) -> str | None:
    """Return what to do where several identifiers leave open which of them tells people apart; else None."""
    identifiers = [a.name for a in policy.with_role(Role.IDENTIFIER)]
    if policy.unit is not None or len(identifiers) < 2:  # noqa: PLR2004
        return None
    listed = ", ".join(f"'{name}'" for name in identifiers)
    stated = " or ".join(f"unit = {spelled(name)}" for name in identifiers if not numbers_rows(name))
    proposed = (
        f"Name under [source] the one that all records of a person share, {stated}; a number of rows is none"
        if stated
        else "Their names are those of numbers of rows: add the column that all records of a person share, as `unit`"
    )
    return (
        f"{listed} are identifiers, and the policy does not say which of them identifies people: that a person has one "
        f"record is not tested. {proposed}"
    )


def numbers_rows(name: str) -> bool:
    """Return whether a column's name is that of a number of rows."""
    return words_of(name)[-1:] in _ROWS


def identifies_people(name: str) -> bool:
    """Return whether a column's name is that of an identifier of people, households or other units."""
    words = words_of(name)
    return not numbers_rows(name) and (words in _WHOLE or words[-1:] in _KEYS)


def words_of(name: str) -> list[str]:
    """Return the words of a column's name in lower case, without its digits."""
    return [part.lower() for part in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


_ROWS = [
    [w] for w in ("row", "rows", "rownum", "rowid", "rownumber", "recno", "recordno", "index", "idx", "line", "seq")
]
_WHOLE = [[w] for w in ("hh", "household", "person", "patient", "subject", "respondent", "participant", "client")]
_KEYS = [[w] for w in ("pid", "pids", "hhid", "hhids", "hhnr", "id", "ids", "key", "uuid", "guid", "ssn")]


def units_of(policy: Policy, snapshot: Snapshot) -> Units | None:
    """Count the units of a table and refuse it if one has more records than the policy admits.

    Args:
        policy: its `unit` is the column that is counted.
        snapshot: the table.

    Returns:
        None if the policy names no column by which units are told, or the engine does not count them, or the counts
        lack that column: whether a unit has no more records than is stated is then undecided.

    Raises:
        DataError: RR323 if a unit has too many records, RR324 if it is not known of some records whose they are, RR325
            if the table has no such column, RR349 if counts lack it in a series. No value is told.
    """
    name, count = policy.unit, getattr(snapshot, "units", None)
    if name is None or count is None:
        return None
    attribute = policy.attributes.get(name)
    place = policy.place("source.unit") or (attribute.place if attribute else None)
    if name not in snapshot.columns() and policy.source.multiplicity is not None:
        if policy.release.series is None:
            return None
        message = f"a series draws by the lasting numbers of each person, and the counts do not tell '{name}'"
        hint = f"give the table of records, or count by '{name}' as well"
        raise DataError(Problem("RR349", message, place, "whose each record is", hint))
    if name not in snapshot.columns():
        message = f"`unit` names '{name}', and the table has no column of this name"
        raise DataError(Problem("RR325", message, place, "a column of the table, upper and lower case told apart"))
    found: Units = replace(count(name), type=snapshot.columns()[name])
    if found.missing:
        message = f"{_have(found.missing)} no '{name}', by which units of protection are told apart"
        hint = "mend the table, or let `[source] unit` name a column that every record has"
        raise DataError(Problem("RR324", message, place, "no nulls (or NaN)", hint))
    most = policy.source.max_records
    if beyond := found.beyond(most):
        largest = max(found.sizes)
        message = (
            f"'{name}' tells {sum(found.sizes.values()):,} units apart in {snapshot.records():,} records: {beyond:,} "
            f"{'exceeds' if beyond == 1 else 'exceed'} {most} a unit"
        )
        hint = (
            "remove the duplicates; or, if a person rightly has several records, admit them with `[source] max_records "
            f"= {largest}`; if the column does not identify people, give it the role excluded"
        )
        raise DataError(
            Problem("RR323", message, place, f"at most {most} {'record' if most == 1 else 'records'}", hint)
        )
    return found


def _have(records: int) -> str:
    return "1 record has" if records == 1 else f"{records:,} records have"
