"""The unit of protection of a draft: the key of people or households that the columns of a table suggest.

A key that repeats is the unit with all its records. Where a person's key and a household's are there, a person chooses:
what a household shares, its members' records give away together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from rrpolicy.drafting.profile import ColumnProfile
from rrpolicy.drafting.role_guessing import SINGLE_SHARE, Guess, date_role
from rrpolicy.escaping.printable import visible
from rrpolicy.frozen import replace
from rrpolicy.policy.model import MAX_UNIT_RECORDS, ROW_UNIT
from rrpolicy.policy.tree.problems import toml_value
from rrpolicy.source.group_keys import has_sizes_of_groups, may_be_group_by_values, relate_to_key
from rrpolicy.source.names import PERSON_WORDS, contains_word, is_household_name

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Snapshot

_MOST_ORDERS = 3
"""Maximum number of keys in whose order groups are looked for."""


class GroupColumn(Struct, frozen=True):
    """A column that looks like the key of people or households and repeats.

    Attributes:
        groups: number of different values.
        most: maximum number of records of a value.
        order: the key with which its values go; "" if its name, or its role, shows that it is a key.
        household: whether it looks like the key of households, not of people.
    """

    name: str
    groups: int
    most: int
    order: str = ""
    household: bool = False

    @property
    def meaning(self) -> str:
        """Return what a value stands for, with its number of records."""
        person = contains_word(self.name, PERSON_WORDS)
        whom = "a household" if self.household else "a person" if person else "a person or household"
        return f"{whom}, up to {self.most:,} records"


def group_columns(
    snapshot: Snapshot, profiles: Mapping[str, ColumnProfile], guesses: Mapping[str, Guess]
) -> tuple[GroupColumn, ...]:
    """Return the columns that look like keys of people or households and repeat, by their number of values.

    Of columns found by their values alone, only that with the most values.
    """
    keyed = [_keyed_group(column) for name, column in profiles.items() if _is_repeated_key(column, guesses[name])]
    evident = [
        found
        for name, column in profiles.items()
        if name not in {group.name for group in keyed} and _may_be_group(column, guesses[name])
        for found in _evident_group(snapshot, column, _orders(profiles, guesses))
    ]
    evident.sort(key=lambda group: -group.groups)
    return tuple(sorted([*keyed, *evident[:1]], key=lambda group: -group.groups))


def _keyed_group(column: ColumnProfile) -> GroupColumn:
    return GroupColumn(column.name, column.distinct, column.most, household=is_household_name(column.name))


def _is_repeated_key(column: ColumnProfile, found: Guess) -> bool:
    """Return whether a column is a key by its role or its name, and repeats; a few duplicates are mistakes."""
    if column.nulls or column.distinct <= 1 or column.singles >= (1 - SINGLE_SHARE) * column.known:
        return False
    if found.role == "identifier" and found.tells_people:
        return 1 < column.most <= MAX_UNIT_RECORDS
    household = found.role == "excluded" and is_household_name(column.name)
    return (found.shared is not None or household) and _has_sizes(column, keyed=True)


def _has_sizes(column: ColumnProfile, *, keyed: bool) -> bool:
    return has_sizes_of_groups(column.name, column.distinct, column.records, column.most, keyed=keyed)


def _may_be_group(column: ColumnProfile, found: Guess) -> bool:
    return (
        found.role == "excluded"
        and "design" not in found.keys
        and not column.nulls
        and may_be_group_by_values(column.name, column.kind)
        and _has_sizes(column, keyed=False)
        and date_role(column) is None
    )


def _orders(profiles: Mapping[str, ColumnProfile], guesses: Mapping[str, Guess]) -> Sequence[str]:
    """Return keys without repetition, in whose order the values of a group follow one another; row numbers last."""
    unique = [n for n, c in profiles.items() if guesses[n].role == "identifier" and c.distinct == c.records]
    return sorted(unique, key=lambda name: profiles[name].row_number)[:_MOST_ORDERS]


def _evident_group(snapshot: Snapshot, column: ColumnProfile, orders: Sequence[str]) -> Iterator[GroupColumn]:
    for key in orders:
        if relate_to_key(snapshot, key, column.name, column.distinct).evident:
            yield GroupColumn(column.name, column.distinct, column.most, key, household=True)
            return


def with_groups(guesses: Mapping[str, Guess], groups: Sequence[GroupColumn]) -> dict[str, Guess]:
    """Return the guesses with the columns that group records: never released, each with the reason."""
    found = dict(guesses)
    for group in groups:
        own = guesses[group.name]
        told = f"{group.groups:,} values, each in up to {group.most:,} records"
        if own.role == "identifier":
            remarks = tuple(remark.partition(": ")[0] + ": see `unit` above" for remark in own.remarks)
            found[group.name] = replace(own, remarks=remarks)
        elif group.order:
            why = f"they go with '{group.order}', as the key of households does: see `unit` above"
            found[group.name] = replace(own, comment=f"{told}; {why}", keys={}, remarks=())
        else:
            why = "by its name it may identify people or households: see `unit` above"
            found[group.name] = replace(own, role="excluded", comment=f"{told}; {why}", keys={}, remarks=())
    return found


def unit_lines(
    guesses: Mapping[str, Guess], profiles: Mapping[str, ColumnProfile], groups: Sequence[GroupColumn]
) -> Iterator[str]:
    """Yield the lines of [source] on the unit of protection: a column that repeats, a choice to make, or a hint."""
    repeated = {group.name for group in groups}
    identifiers = [name for name, found in guesses.items() if found.role == "identifier"]
    single = [name for name in identifiers if guesses[name].tells_people and name not in repeated]
    people = [group for group in groups if contains_word(group.name, PERSON_WORDS)]
    if people and not any(contains_word(name, PERSON_WORDS) for name in single):
        single = []  # numbers of visits, or of samples
    if not groups:
        yield from _unrepeated_lines(identifiers, single, profiles)
    elif len(groups) == 1 and not single:
        (group,) = groups
        otherwise = f"if it is neither, {toml_value(ROW_UNIT)} or another column"
        yield f"unit = {toml_value(group.name)} # {group.groups:,} values; {group.meaning}; {otherwise}"
        yield f"max_records = {group.most} # derived from the data; a guarantee holds for a unit with all its records"
    else:
        options = [f"{name} (a person, one record each)" for name in single]
        options += [f"{group.name} ({group.meaning})" for group in groups]
        choice = toml_value(f"fill in: {' or '.join(options)}")
        yield f"unit = {choice} # whom each guarantee protects, with all records"
        for group in groups:
            whose = f"for {toml_value(group.name)}, derived from the data: {group.groups:,} values"
            yield f"# max_records = {group.most} # {visible(whose)}"


def _unrepeated_lines(
    identifiers: Sequence[str], people: Sequence[str], profiles: Mapping[str, ColumnProfile]
) -> Iterator[str]:
    """Yield the lines where no key repeats, but for a few duplicates."""
    if len(people) > 1:
        others = visible(", ".join(people[1:]))
        yield f"# unit = {toml_value(people[0])} # or {others}: which identifies people; else none of them is tested"
    elif people and len(identifiers) > 1:
        most = profiles[people[0]].most
        records = "one record" if most == 1 else f"{most:,} records"
        yield f"unit = {toml_value(people[0])} # identifies people: more than {records} of each is refused"
        if 1 < most <= MAX_UNIT_RECORDS:
            yield f"max_records = {most} # derived from the data; without the duplicates, take it out"
