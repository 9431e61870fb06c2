"""Labels that overlap tell nothing of how columns go together.

Where a category has several labels, such as `[0, 40)` and `[30, 40)`, or `30` and `*`, which of them a record has was
chosen by its other columns: by the box that it lies in, or because its class was suppressed. So labels of columns that
are independent depend on one another.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rrpolicy.errors import PolicyError, Problem

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release


def refuse_overlap(release: Release, columns: Iterable[str], where: str | None, what: str) -> None:
    """Refuse what is asked of columns whose labels overlap, among those that records have.

    Args:
        release: that holds them.
        columns: as they were named.
        where: the condition, as asked.
        what: for the message.

    Raises:
        PolicyError: RR288.
    """
    for name in map(release.columns.name, columns):
        groups = release.columns.spread.get(name)
        if groups is None or not groups.overlap(label for (label,) in groups.released):
            continue
        table = release.crosstab([name], where, "table")
        occurring = [row.group[name] for row in table.rows if row.estimate]
        if groups.overlap(occurring):
            message = (
                f"{what} of {name!r} cannot be told: its labels overlap, and which of them a record has was chosen by "
                "its other columns, so that labels of independent columns depend on one another"
            )
            hint = (
                "leave the column out; an association with spread=True (`rrpolicy association --spread`) describes it; "
                "counts, shares and means have bounds that are certain"
            )
            raise PolicyError(Problem("RR288", message, hint=hint))
