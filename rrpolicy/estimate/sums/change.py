"""Change from one release to a later one: differences of counts, with the noise that two releases of a series share.

With w a person's record weight in a cell, the variance of a difference is V1 + V2 - 2 C. Releases with independent
draws have C = 0. In a series a person with the same values has the same draw, and C is the sum of Var(w) over these
people. For people whose values changed C is never negative (their weights are products over the columns, and E w^2 >=
(E w)^2). The releases do not show how many are unchanged. Where the analyst states that at least a share s of the
earlier people are, with the same composition as all people, C is at least s min(V1, V2 N1 / N2): the smaller of the
two releases' bounds for s N1 people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rrpolicy.canonical_json import Json
from rrpolicy.counts import Array
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.results.chart_layout import PlottedQuantity
from rrpolicy.estimate.results.estimates import Estimates
from rrpolicy.estimate.results.flags import MOMENT, UNFLAGGED
from rrpolicy.estimate.results.intervals import STEP, normal_ends
from rrpolicy.estimate.results.table import Crosstab
from rrpolicy.estimate.results.target import CHANGED, Target, TargetScope
from rrpolicy.estimate.weights.recode import refuse_biased
from rrpolicy.numbers import fixed_number, plain_number
from rrpolicy.plotting.chart import ChartReferenceLine

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release

_ROUNDING = 1e-9
ANEW = "the releases were drawn independently of each other, so that the variances of the two counts add up"
UNSTATED = (
    "both releases are of the series '{name}' and share their noise; how many people are unchanged was not stated, so "
    "that standard errors are those of independent draws, which is more than they are (--unchanged)"
)
STATED = (
    "both releases are of the series '{name}' and share their noise: standard errors rest on the statement that at "
    "least {share} of the {records:,} people of the earlier one are in the later one with the same values of "
    "{columns}, made up as all of them are"
)


@dataclass(frozen=True, kw_only=True)
class Changes(Estimates):
    """Estimated changes of counts, later less earlier; `keys` are the groups.

    Attributes:
        unchanged: the share of the earlier people that was stated to be unchanged; None if none was.
        before: N of the earlier release.
    """

    schema: ClassVar[str] = "rrpolicy.change/1"
    intervals: ClassVar[str] = "low and high are normal {level} intervals"

    unchanged: float | None
    before: int

    @property
    def target_scope(self) -> TargetScope:
        """Return the scope of errors and intervals: the two tables, and no population."""
        return TargetScope("table", unknown=CHANGED)

    @property
    def exact(self) -> bool:
        """Return False: a change is without error only if the analyst's statement is right."""
        return False

    @property
    def title(self) -> str:
        """Return the estimated quantity, and the groups."""
        by = f" by {', '.join(self.by)}" if self.by else ""
        return f"Estimated changes of counts{by}"

    def plotted_quantities(self) -> tuple[PlottedQuantity, ...]:
        """Return the changes, with a reference line at no change."""
        return (PlottedQuantity(self.quantity, line=ChartReferenceLine(0.0, "no change")),)

    def metadata(self) -> dict[str, Json]:
        """Return the grouping columns, and the stated share of unchanged people."""
        return {"by": list(self.by), "unchanged": self.unchanged, "records_before": self.before}


def change(  # noqa: PLR0917 those of the method
    later: Release, earlier: Release, by: Sequence[str] | str, where: str | None, level: float, unchanged: float | None
) -> Changes:
    """Estimate how counts changed; see `Release.change_since` for the arguments and errors."""
    before, after = (release.crosstab(by, where, "table", level) for release in (earlier, later))
    if (before.by, before.group_values()) != (after.by, after.group_values()):
        message = "the two releases have other categories, so that their counts are not of the same"
        raise PolicyError(Problem("RR501", message, hint="request columns whose categories are the same in both"))
    refuse_biased([axis for table in (before, after) for axis, _ in table.axes], "changes")
    series = shared_series(earlier, later)
    share = _share(unchanged, earlier.records, later.records)
    if series is not None and share is not None and where is None:
        _refuse_refuted(share, before, after)
    first, second = (table.variance()[0].reshape(-1) for table in (before, after))
    together = np.minimum(first, second * (earlier.records / later.records))
    covariance = together * (share if series is not None and share is not None else 0.0)
    errors: dict[Target, Array] = {"table": np.sqrt(first + second - 2 * covariance)}
    estimate = after.moment_estimate.reshape(-1) - before.moment_estimate.reshape(-1)
    within = np.tile([-float(earlier.records), float(later.records)], (estimate.size, 1))
    return Changes(
        target="table",
        level=level,
        records=later.records,
        where=where,
        by=after.by,
        keys=tuple(after.group_values()),
        estimate=estimate,
        errors=errors,
        range=within,
        estimator=(MOMENT,) * estimate.size,
        flags=tuple(tuple(dict.fromkeys((*a, *b))) for a, b in zip(before.flags, after.flags, strict=True)),
        ends=normal_ends(estimate, errors, within, step=STEP),
        released=np.minimum(before.support.reshape(-1), after.support.reshape(-1)),
        notes=(_noise_message(series, share, earlier.records, after), UNFLAGGED),
        max_records=max(earlier.max_records, later.max_records),
        unchanged=None if series is None else share,
        before=earlier.records,
    )


def shared_series(earlier: Release, later: Release) -> str | None:
    """Return the series that two releases share their noise in; None if they share none."""
    one, other = earlier.manifest.series, later.manifest.series
    return one.name if one is not None and other is not None and one.id == other.id else None


def _share(unchanged: float | None, before: int, after: int) -> float | None:
    if unchanged is None:
        return None
    if not 0 <= unchanged <= 1 or unchanged * before > after:
        most = min(1.0, after / before)
        message = (
            f"{plain_number(unchanged)} is not a share"
            if not 0 <= unchanged <= 1
            else f"{plain_number(unchanged)} of {before:,} people cannot be unchanged among {after:,}"
        )
        raise PolicyError(Problem("RR501", message, expected=f"a share from 0 to {plain_number(most)}"))
    return unchanged


def _refuse_refuted(share: float, before: Crosstab, after: Crosstab) -> None:
    """Refuse a share that the releases refute: in a series, an unchanged person has the same released values."""
    common = float(np.minimum(before.released, after.released).sum())
    if share * before.records > common + _ROUNDING * before.records:
        message = (
            f"{plain_number(share)} of {before.records:,} people cannot be unchanged: a series releases equal "
            f"values equally, and"
            f" {fixed_number(common)} records at most are the same in both releases"
        )
        raise PolicyError(
            Problem("RR501", message, expected=f"a share from 0 to {plain_number(common / before.records)}")
        )


def _noise_message(series: str | None, share: float | None, records: int, table: Crosstab) -> str:
    if series is None:
        return ANEW
    if share is None:
        return UNSTATED.format(name=series)
    columns = ", ".join(f"'{name}'" for name in table.by) or "the requested statistic"
    return STATED.format(name=series, share=plain_number(share), records=records, columns=columns)
