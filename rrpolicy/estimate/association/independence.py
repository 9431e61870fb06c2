"""Testing independence: on the released table as it is, or on the corrected one by the law that its covariance gives.

Independent columns that are randomised apart stay independent, so Pearson's test on the release keeps its level and
only loses power (van den Hout and van der Heijden 2002; Guo 2010, chapter 4). The statistic of a corrected table, or of
a sample that is no simple random one, has another law: referred to the chi-square law, that of a corrected table
rejects about half the time at independence. A score test, with the covariance that the table would have under
independence, keeps its level where expected cells are small; Wald's, with that of the table itself, rejects too often
there (up to half the time), and Pearson's with Rao and Scott's correction somewhat too often.

References:
    Rao 1948, "Large sample tests of statistical hypotheses concerning several parameters", for the score test.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical_json import Json
from rrpolicy.counts import Array
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.formulas import Handling
from rrpolicy.escaping.printable import visible
from rrpolicy.estimate.association.chi_square import chi_square_tail, rao_scott, wald
from rrpolicy.estimate.association.measures import chi2
from rrpolicy.estimate.association.two_way_table import TwoWayTable, two_way_table
from rrpolicy.estimate.counts.condition import split
from rrpolicy.estimate.counts.grouping import grouping
from rrpolicy.estimate.counts.overlap import refuse_overlap
from rrpolicy.estimate.counts.scan import count
from rrpolicy.estimate.invert.simplex import dense
from rrpolicy.estimate.results.html import fragment, rows
from rrpolicy.estimate.results.intervals import bessel, describe_p, format_p
from rrpolicy.estimate.results.result import json_number
from rrpolicy.estimate.results.target import Sample, refuse_repeated_units
from rrpolicy.estimate.weights.recode import refuse_biased
from rrpolicy.frozen_dataclass import frozen

if TYPE_CHECKING:
    import pandas as pd

    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.table import Crosstab

RELEASED = "Pearson's chi-square on the released table (level kept, power lost)"
WALD = "Wald, by the covariance of the corrected table"
RAO_SCOTT = "Pearson's chi-square of the corrected table, second-order correction of Rao and Scott, by the law of F"
SCORE = "score test, by the covariance that the corrected table has under independence"
METHODS = ("released", "score", "wald", "rao-scott")
SINGULAR = "the covariance is singular: too few records speak for some categories"
FEW = "fewer than 5 released records speak for some cells: the law is approximate"
_EXPECTED = 5.0
_ROUNDING = 1e-9


@frozen(slots=False)
class Independence:
    """A test of independence in the population; no `Result`, as a test has neither an estimate nor an interval.

    Attributes:
        row: the column in the rows.
        column: the column in the columns.
        where: the condition, as asked.
        method: how it was tested.
        statistic: NaN if the data do not allow the test.
        df: degrees of freedom; of F, those of the numerator.
        p_value: by the chi-square law, or by that of F.
        remark: what makes the law unreliable here; "" for nothing.
        df_error: degrees of freedom of the denominator of F; None of the chi-square law.
        sample: how the records were sampled, where the release, or the analyst, says so.
    """

    row: str
    column: str
    where: str | None
    method: str
    statistic: float
    df: float
    p_value: float
    remark: str = ""
    df_error: float | None = None
    sample: Sample | None = None

    def to_dict(self) -> dict[str, Json]:
        """Return plain data; numbers that are not there are null."""
        return {
            "schema": "rrpolicy.independence/1",
            "row": self.row,
            "column": self.column,
            "where": self.where,
            "method": self.method,
            "statistic": json_number(self.statistic),
            "df": json_number(self.df),
            "df_error": None if self.df_error is None else json_number(self.df_error),
            "p_value": json_number(self.p_value),
            "remark": self.remark,
            **({} if self.sample is None else {"design": self.sample.description}),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one row of a pandas frame."""
        import pandas as pd

        return pd.DataFrame([self.to_dict()]).drop(columns="schema")

    def to_csv(self, *, formulas: Handling = "escape") -> str:
        """Return one row of CSV with a header; `formulas` as for other results."""
        from rrpolicy.estimate.results.text import csv

        return csv({name: [value] for name, value in self.to_dict().items() if name != "schema"}, formulas)

    def summary(self) -> str:
        """Return the test as text."""
        found = "no test"
        if math.isfinite(self.statistic):
            found = f"statistic {self.statistic:.4g}, {self.freedom} degrees of freedom, {describe_p(self.p_value)}"
        return "\n".join([self.title, self.method, found, *self.foot])

    @property
    def freedom(self) -> str:
        """Return the degrees of freedom in words."""
        return f"{self.df:.4g}" if self.df_error is None else f"{self.df:.4g} and {self.df_error:.4g}"

    @property
    def foot(self) -> tuple[str, ...]:
        """Return what must be known to read the test: the design of the sample, and what makes the law unreliable."""
        sampled = () if self.sample is None else (visible(self.sample.description), *map(visible, self.sample.notes))
        return (*sampled, *([self.remark] if self.remark else []))

    @property
    def title(self) -> str:
        """Return what is tested."""
        where = f" where {self.where}" if self.where else ""
        return visible(
            f"Independence of {self.row} and {self.column}{where} in the population, which the table is a sample of"
        )

    def _repr_html_(self) -> str:
        """Return the test as HTML, for notebooks."""
        names = ("statistic", "degrees of freedom", "p")
        values = (f"{self.statistic:.4g}", self.freedom, format_p(self.p_value))
        table = rows(names, [values]) if math.isfinite(self.statistic) else ""
        return fragment([self.title, self.method], table, [*([] if table else ["no test"]), *self.foot])


def independence(release: Release, row: str, column: str, where: str | None, method: str | None) -> Independence:
    """Test independence; `Release.independence` says how.

    Raises:
        PolicyError: RR276 if the test asked for is unknown or not valid, RR247 if a person may have several records,
            RR288 where labels overlap.
    """
    condition = split(where, release.columns)
    (first, second), axes = grouping(release.columns, [row, column])
    refuse_biased([*axes, *condition.axes], "independence")
    refuse_overlap(release, [row, column], where, "independence")
    names = (first, second)
    reason = (
        f"{first!r} and {second!r} were randomised together, so they are dependent in the release in any case"
        if len(axes) == 1
        else "the condition is on a randomised column, so the released rows that satisfy it are not the original ones"
        if condition.masks
        else "a column that was randomised together with another has no one-column table that keeps independence"
        if any(len(a.columns) > 1 for a in axes)
        else "a column is released as sets of values"
        if any(a.counted != len(a.released) for a in axes)
        else ""
    )
    refuse_repeated_units(release.max_records)
    if method not in {None, *METHODS}:
        expected = '"released", "score", "wald" or "rao-scott"'
        raise PolicyError(Problem("RR276", f"no such test: {method!r}", expected=expected))
    if method == "released" and reason:
        raise PolicyError(Problem("RR276", f"the released table cannot be tested: {reason}", hint='method="score"'))
    if method != "released" and (method or reason or release.design is not None):
        plain = not any(axis.randomised for axis in (*axes, *condition.axes))
        return _corrected_table_test(
            release, names, where, release.crosstab([row, column], where, "population"), method, plain
        )
    codes, n = count(release.data, axes, condition.filter, condition.parameters)
    return released_table_test(names, where, dense([len(a.released) for a in axes], codes, n))


def released_table_test(names: tuple[str, str], where: str | None, x: Array) -> Independence:
    """Test a released table as it is.

    Args:
        names: of the columns in its rows and columns.
        where: the condition, as asked.
        x: (rows, columns) released counts.
    """
    x = x[x.sum(axis=1) > 0][:, x.sum(axis=0) > 0]
    df = (x.shape[0] - 1) * (x.shape[1] - 1) if x.size else 0
    if df == 0:
        return Independence(*names, where, RELEASED, np.nan, 0, np.nan, "a column has one released value only")
    expected = np.outer(x.sum(axis=1), x.sum(axis=0)) / x.sum()
    small = int((expected < _EXPECTED).sum())
    remark = f"{small} of {x.size} cells have expected counts below 5: the law is approximate" if small else ""
    statistic = float(chi2(x)[0])
    return Independence(*names, where, RELEASED, statistic, df, chi_square_tail(statistic, df), remark)


def _corrected_table_test(  # noqa: PLR0917 what a test is made of
    release: Release, names: tuple[str, str], where: str | None, counts: Crosstab, method: str | None, plain: bool
) -> Independence:
    """Test a corrected, or weighted, table; without a method, by the score test where it is known.

    Args:
        release: opened.
        names: of the columns.
        where: the condition, as asked.
        counts: of the population.
        method: as asked.
        plain: whether nothing was randomised.
    """
    table = two_way_table(counts).occupied()
    given = None if release.design is not None else table.products()
    if method == "wald":
        return _wald_test(names, where, table)
    if method == "score" and given is None:
        message = "the covariance under independence is known of tables of up to 36 cells"
        raise PolicyError(Problem("RR276", message, hint='method="rao-scott"'))
    if given is not None and method != "rao-scott":
        return _score_test(names, where, table, given, release.records)
    degrees = max(release.records - 1, 1) if counts.sample is None else counts.sample.degrees
    return replace(_rao_scott_test(names, where, table, degrees, observed=plain), sample=counts.sample)


def _score_test(
    names: tuple[str, str], where: str | None, table: TwoWayTable, given: Array, records: int
) -> Independence:
    """Test with the covariance that the table would have under the hypothesis (Rao 1948).

    Args:
        names: of the columns.
        where: the condition, as asked.
        table: corrected.
        given: (cells, cells, cells) for each original cell the expected products of a record's weights.
        records: N.
    """
    x = table.estimate
    remark = _reason_untestable(x)
    if remark:
        return Independence(*names, where, SCORE, np.nan, 0, np.nan, remark)
    fitted = np.outer(x.sum(axis=1), x.sum(axis=0)) / x.sum()
    flat, under = x.reshape(-1), fitted.reshape(-1)
    change = np.tensordot(under - flat, given, axes=(0, 0)) - (np.outer(under, under) - np.outer(flat, flat)) / records
    J = _gradients(fitted)
    covariance = J @ (table.covariance["population"] + bessel(records) * change) @ J.T
    statistic, df, p_value = wald(_departures(x), covariance)
    return Independence(*names, where, SCORE, statistic, df, p_value, SINGULAR if np.isnan(statistic) else "")


def _wald_test(names: tuple[str, str], where: str | None, table: TwoWayTable) -> Independence:
    """Test with the covariance of the corrected table itself."""
    remark = _reason_untestable(table.estimate)
    if remark:
        return Independence(*names, where, WALD, np.nan, 0, np.nan, remark)
    J = _gradients(table.estimate)
    statistic, df, p_value = wald(_departures(table.estimate), J @ table.covariance["population"] @ J.T)
    remark = SINGULAR if np.isnan(statistic) else ""
    if not remark and bool((table.support < _EXPECTED).any()):
        remark = FEW
    return Independence(*names, where, WALD, statistic, df, p_value, remark)


def _departures(x: Array) -> Array:
    """Return pi_ij - pi_i+ pi_+j for all but the last row and column, flat: 0 under independence."""
    p = x / x.sum()
    apart = p - np.outer(p.sum(axis=1), p.sum(axis=0))
    return np.asarray(apart[:-1, :-1].reshape(-1))


def _gradients(x: Array) -> Array:
    """Return (departures, cells) the derivatives of the departures by the counts, at a table."""
    total = float(x.sum())
    p, (R, C) = x / total, x.shape
    r, c = p.sum(axis=1), p.sum(axis=0)
    rows = []
    for i in range(R - 1):
        for j in range(C - 1):
            gradient = np.zeros((R, C))
            gradient[i, j] += 1
            gradient[i, :] -= c[j]
            gradient[:, j] -= r[i]
            rows.append((gradient - (gradient * p).sum()).reshape(-1) / total)
    return np.array(rows).reshape(len(rows), R * C)


def _reason_untestable(x: Array) -> str:
    """Return why a corrected table has no test; "" if it has one."""
    if min(x.shape) < 2:  # noqa: PLR2004
        return "a column has one value only"
    least, total = min(x.sum(axis=0).min(), x.sum(axis=1).min()), float(x.sum())
    if total <= 0 or least <= _ROUNDING * total:
        return "the estimate of a category is not positive: put categories together"
    return ""


def _rao_scott_test(
    names: tuple[str, str], where: str | None, table: TwoWayTable, degrees: int, *, observed: bool
) -> Independence:
    """Test a corrected, or weighted, table; `observed` as for `rao_scott`."""
    x = table.estimate
    remark = _reason_untestable(x)
    if remark:
        return Independence(*names, where, RAO_SCOTT, np.nan, 0, np.nan, remark)
    found = rao_scott(x, table.covariance["population"], degrees, observed=observed and bool((x > 0).all()))
    few = bool((table.support < _EXPECTED).any())
    remark = SINGULAR if np.isnan(found.statistic) else FEW if few else ""
    return Independence(
        *names, where, RAO_SCOTT, found.statistic, found.df, found.p_value, remark, df_error=found.df_error
    )
