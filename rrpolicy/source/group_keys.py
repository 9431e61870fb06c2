"""Keys of groups of people, such as households: columns whose equal values link the records of several people.

A group's key is known by its name, or by its relation to a person's key: it is the beginning of it (as household 17 of
person 1703), or the groups follow one another in its order. Each is a sign and no proof: people decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct

from rrpolicy.declarations import Role
from rrpolicy.engine.column_types import TypeFamily, family
from rrpolicy.policy.model import MAX_UNIT_RECORDS
from rrpolicy.source.names import (
    LINKING_WORDS,
    PERSON_WORDS,
    SENSITIVE_WORDS,
    contains_word,
    is_household_name,
    is_row_number_name,
)
from rrpolicy.source.units import is_person_key, unit_of_people

if TYPE_CHECKING:
    from rrpolicy.policy.model import Attribute, Policy
    from rrpolicy.source.protocol import Original, Snapshot
    from rrpolicy.source.units import Units

MOST_REPEATS = 30
"""The most records of a value: on average of a key by name, of any value of a key without such a name."""
_LEAST_REPEATS = 1.05
"""A column that repeats less on average, and has no name of a key, is a key with a few duplicates or an amount."""
_MANY = 50
"""A column of at most so many values may be in order by chance, such as the years of a sorted table."""
_DENSE = 2
"""Numbers that count groups have a range of at most so many times their number; sorted amounts have gaps."""
_MOST_VALUES = 200_000_000
"""Values of a table up to which columns without the name of a key are counted, each in a pass."""
_POWERS = (10, 100, 1000, 10_000)


@runtime_checkable
class _PinnedTable(Protocol):
    """An original that counts shared values and has a snapshot of its table."""

    snapshot: Snapshot

    def shared(self, column: str) -> Units | None: ...


def has_sizes_of_groups(name: str, values: int, records: int, most: int, *, keyed: bool) -> bool:
    """Return whether values repeat as often as keys of people and households do.

    `keyed`: the column has the name of a key; that of a person may repeat more often on average.
    """
    if not keyed:
        return 1 < most <= MOST_REPEATS and records >= _LEAST_REPEATS * values
    usual = records <= MOST_REPEATS * values or contains_word(name, PERSON_WORDS)
    return 1 < most <= MAX_UNIT_RECORDS and usual


def may_be_group_by_values(name: str, kind: str) -> bool:
    """Return whether a column without the name of a key may be one by its values: no amount, place or property."""
    return family(kind) in {TypeFamily.INTEGER, TypeFamily.TEXT} and not (
        contains_word(name, SENSITIVE_WORDS) or contains_word(name, LINKING_WORDS) or is_row_number_name(name)
    )


class KeyRelation(Struct, frozen=True):
    """Relation of a column to a key.

    Attributes:
        keys: number of different values of the key.
        constant: whether all records of a value of the key have the same value of the column.
        evident: whether the column is the beginning of the key, or its values follow one another in its order.
    """

    keys: int
    constant: bool
    evident: bool


def relate_to_key(snapshot: Snapshot, key: str, column: str, values: int) -> KeyRelation:
    """Relate a column with a number of different values to a key, in one pass in its order; neither has nulls."""
    state = _Pass(values)
    for batch in snapshot.tally([], [key, column]):
        state.take(batch.column(0), batch.column(1))
    return KeyRelation(state.keys.changes, state.pairs == state.keys.changes, state.begins_key() or state.in_order())


class _Sequence:
    """A column of values that pass in an order: runs of equal ones, and whether numbers ever fall."""

    def __init__(self) -> None:
        self.changes = 0
        self.rising = True
        self.low: int | None = None
        self.high: int | None = None
        self._last: pa.Array | None = None

    def take(self, column: pa.Array) -> None:
        joined = column if self._last is None else pa.concat_arrays([self._last, column])
        before, after = joined[:-1], joined[1:]
        self.changes += (self._last is None) + (pc.sum(pc.not_equal(after, before)).as_py() or 0)
        self._last = joined[-1:]
        if pa.types.is_integer(column.type):
            self.rising &= pc.all(pc.greater_equal(after, before)).as_py() is not False
            ends = pc.min_max(column)
            low, high = ends["min"].as_py(), ends["max"].as_py()
            self.low = low if self.low is None else min(self.low, low)
            self.high = high if self.high is None else max(self.high, high)

    def range(self) -> int | None:
        """Return the number of whole numbers from the least to the largest; None for text."""
        return None if self.low is None or self.high is None else self.high - self.low + 1


class _Pass:
    """The state of a pass over the different pairs of a key and a column."""

    def __init__(self, values: int) -> None:
        self.pairs = 0
        self.keys = _Sequence()
        self.groups = _Sequence()
        self._values = values
        self._powers: tuple[int, ...] = _POWERS
        self._text = True

    def take(self, keys: pa.Array, groups: pa.Array) -> None:
        if not len(keys):
            return
        self.pairs += len(keys)
        self.keys.take(keys)
        self.groups.take(groups)
        self._powers = tuple(power for power in self._powers if _is_quotient(keys, groups, power))
        self._text = self._text and _is_beginning(keys, groups)

    def begins_key(self) -> bool:
        """Return whether each key begins with the value of the column: as text, or as digits of a number."""
        return self.pairs > 0 and (self._text or bool(self._powers))

    def in_order(self) -> bool:
        """Return whether the values look like numbers of groups in the key's order, if each has one run."""
        if self._values <= _MANY or self.groups.changes != self._values:
            return False
        numbers, rows = self.groups.range(), self.keys.range() == self.pairs
        return numbers is None or (self.groups.rising and (not rows or numbers <= _DENSE * self._values))


def _is_quotient(keys: pa.Array, groups: pa.Array, power: int) -> bool:
    if not (pa.types.is_integer(keys.type) and pa.types.is_integer(groups.type)):
        return False
    wide = [column.cast(pa.int64(), safe=False) for column in (keys, groups)]
    return pc.all(pc.equal(pc.divide(wide[0], power), wide[1])).as_py() is not False


def _is_beginning(keys: pa.Array, groups: pa.Array) -> bool:
    if pa.types.is_integer(keys.type) or pa.types.is_integer(groups.type):
        return False
    return all(str(k).startswith(str(g)) for k, g in zip(keys.to_pylist(), groups.to_pylist(), strict=True))


class UnprotectedGroup(Struct, frozen=True):
    """A column that groups units of protection.

    Attributes:
        groups: number of different values.
        most: maximum number of records of a value.
    """

    name: str
    groups: int
    most: int


def unprotected_groups(policy: Policy, original: Original) -> Iterator[UnprotectedGroup]:
    """Yield the columns left out of a release that group the units it protects, so that none protects the groups.

    Of columns without the name of a key, only that with the most groups, and none in a table of very many values;
    nothing if no column identifies units.
    """
    unit = unit_of_people(policy)
    if unit is None or not isinstance(original, _PinnedTable) or unit not in original.snapshot.columns():
        return
    kinds, evident = original.snapshot.columns(), []
    small = original.snapshot.records() * len(kinds) <= _MOST_VALUES
    for attribute in policy.attributes.values():
        name = attribute.name
        keyed = is_person_key(attribute) or is_household_name(name)
        if not attribute.role.dropped or name == unit or name not in kinds or is_row_number_name(name):
            continue
        likely = keyed or (small and _may_be_key(attribute, kinds[name]))
        found = _groups_of(original, unit, name, keyed=keyed) if likely else None
        if found is None:
            continue
        if keyed:
            yield found
        else:
            evident.append(found)
    yield from sorted(evident, key=lambda group: -group.groups)[:1]


def _may_be_key(attribute: Attribute, kind: str) -> bool:
    return attribute.role is Role.EXCLUDED and attribute.design is None and may_be_group_by_values(attribute.name, kind)


def _groups_of(original: _PinnedTable, unit: str, name: str, *, keyed: bool) -> UnprotectedGroup | None:
    """Return a column as groups of units; None if it does not group them."""
    sizes = original.shared(name)
    if sizes is None or sizes.missing or not sizes.sizes:
        return None
    groups, most = sum(sizes.sizes.values()), max(sizes.sizes)
    records = sum(size * n for size, n in sizes.sizes.items())
    if not has_sizes_of_groups(name, groups, records, most, keyed=keyed):
        return None
    relation = relate_to_key(original.snapshot, unit, name, groups)
    if not relation.constant or groups >= relation.keys or not (keyed or relation.evident):
        return None
    return UnprotectedGroup(name, groups, most)
