"""The unit of protection that a guarantee covers: an attacker links all its records with each other.

References:
    Ikarashi, Kikuchi, Chida, Takahashi 2014, for units of one record. Records are randomised independently, so the
    channel of a unit of m records is the m-fold product of that of one.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from rrpolicy.finding import Basis, Companion, Measure
from rrpolicy.policy.model import ROW_UNIT, Requirement
from rrpolicy.privacy.epsilon.scope_loss import k_of_cross_ratio

if TYPE_CHECKING:
    from rrpolicy.source.protocol import Original

MAX_RECORDS_NAME = "records of one unit"
UNTESTED_UNITS_NOTE = "Whether a person has one record or several was not tested."
"""Follows the number of records if no column was counted that identifies people."""
ROWS_NOTE = "Each guarantee is of rows, not of people: the policy declares that each row is protected by itself."
"""Follows the number of records if the policy protects rows, and begins the assumption of every finding."""
UNDECIDED = "how many records a person has"
"""Undecided in a verification without the table, or without a column that identifies people."""


UNIT_WAYS = f'name it as unit under [source], or declare unit = "{ROW_UNIT}" if each row is to be protected by itself'
"""The two ways to decide it."""


def count_unit_sizes(requirement: Requirement, original: Original | int) -> Mapping[int, int] | None:
    """Return the number of units by number of records; None if unknown. At most one record: records are units."""
    if requirement.max_records == 1:
        return {1: original if isinstance(original, int) else original.records}
    units = None if isinstance(original, int) else original.units
    return None if units is None else units.sizes


def k_of_units(cross: Fraction, sizes: Mapping[int, int]) -> Fraction:
    """Return k of the unit that is linked best: min over s of 1 + (M_s - 1) cross^s.

    An attacker sees which records belong to each other. Of M_s units with s records, one hides among those M_s, and the
    smallest cross ratio of s records is that of one record to the power s. `sizes`: s -> M_s.
    """
    return min((k_of_cross_ratio(cross**size, units) for size, units in sizes.items()), default=Fraction(1))


def records_assumption(max_records: int, *, of_rows: bool = False) -> str:
    """Return the assumption on the records of a person that every finding has; `of_rows`: rows are protected.

    `unit_check_method` reports, in audit/ alone, whether it was tested: a release is the same from records and from
    counts.
    """
    if of_rows:
        return (
            f"{ROWS_NOTE} If a person contributes m rows, epsilon for the person is up to m times larger, and the k "
            "guarantee does not apply to the person."
        )
    if max_records > 1:
        return (
            f"Each person, or other unit of protection, has at most {max_records} records (stated by the publisher). "
            "The attacker knows which records belong to one person."
        )
    return (
        "Each person, or other unit of protection, has one record (stated by the publisher). If a person contributes m "
        "records, epsilon is up to m times larger, and the k guarantee does not apply."
    )


def unit_check_method(*, tested: bool) -> str:
    """Return whether the table was tested for the number of records that a person may have."""
    how = "was tested on the table" if tested else "was not tested"
    return f"{UNDECIDED.capitalize()} {how}."


def largest_unit(original: Original | int) -> tuple[Companion, ...]:
    """Return the most records of any unit, where they were counted."""
    units = None if isinstance(original, int) else original.units
    if units is None or isinstance(original, int):
        return ()
    meaning = (
        f"the most records of any unit of protection; '{original.policy.unit}' distinguishes units, and none lacks it"
    )
    return (Companion(MAX_RECORDS_NAME, Measure(float(max(units.sizes, default=0))), Basis.ORIGINAL, meaning),)
