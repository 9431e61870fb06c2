"""What an analyst may expect of shares: half widths of intervals, from the published channel and N alone."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING

from rrpolicy.finding import Standing
from rrpolicy.report import AccuracyRow
from rrpolicy.report_blocks import figure
from rrpolicy.reports.public.counting_method import CountingMethod, column_precision
from rrpolicy.reports.wording import columns_phrase

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release

SHARES = (0.1, 0.5)
TOLD: Mapping[CountingMethod, str] = {
    CountingMethod.EXACT: "Shares are exact.",
    CountingMethod.NUMBERS: "Values are exact.",
    CountingMethod.LABELS: "Shares of labels are exact; of the categories inside a label only bounds are known.",
    CountingMethod.ESTIMATES: "Estimated, with a 95 % interval.",
    CountingMethod.SETS: "Estimated, with a 95 % interval.",
    CountingMethod.GROUPS: "Shares by itself are exact; together with other columns only bounds are known.",
    CountingMethod.WITHHELD: "Nothing can be estimated.",
    CountingMethod.NOTHING: "Nothing can be estimated.",
}
_TWO = Context(prec=2, rounding=ROUND_CEILING)


def accuracy(release: Release, countings: Mapping[str, CountingMethod]) -> tuple[AccuracyRow, ...]:
    """Return what may be expected of shares: a row for each column with intervals, then those without, by what holds.

    Args:
        release: opened; its data are not read.
        countings: of its columns.
    """
    measured = {name: row for name, how in countings.items() if (row := _accuracy_row(release, name, how)) is not None}
    alike: dict[str, list[str]] = {}
    for name, how in countings.items():
        if name not in measured:
            alike.setdefault(TOLD[how], []).append(name)
    rest = (AccuracyRow(columns_phrase(names), told, None, None, None) for told, names in alike.items())
    return (*measured.values(), *rest)


def _accuracy_row(release: Release, name: str, how: CountingMethod) -> AccuracyRow | None:
    axis = release.columns.axes.get(name)
    if how not in {CountingMethod.ESTIMATES, CountingMethod.SETS} or axis is None or not release.records:
        return None
    found = column_precision(axis, name)
    if found is None:
        return None
    tenth, half = (half_width_points(found.half_width(share, release.records)) for share in SHARES)
    standing = Standing.EXACT if found.exact else Standing.UPPER_BOUND
    return AccuracyRow(columns_phrase([name]), TOLD[how], tenth, half, standing.value)


def half_width_points(half_width: float) -> str:
    """Return a half width in percentage points: two significant digits, rounded up."""
    return f"± {figure(float(_TWO.create_decimal(Decimal(100 * half_width))))} points"
