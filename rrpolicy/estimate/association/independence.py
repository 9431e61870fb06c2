"""Tests of independence: of the released table unmodified, or of the corrected one by the law of its covariance.

Independent columns that are randomised apart stay independent, so Pearson's test on the release keeps its level and
only loses power (van den Hout and van der Heijden 2002; Guo 2010, chapter 4). The statistic of a corrected table, or
of a sample that is not a simple random one, has another law. Referred to the chi-square law, that of a corrected
table rejects about half the time at independence. A score test, with the covariance that the table would have under
independence, keeps its level where expected cells are small. Wald's, with that of the table itself, rejects too often
there (up to half the time), and Pearson's with Rao and Scott's correction somewhat too often.

Pearson's statistic is distributed as sum_k delta_k Z_k^2, Z_k standard normal, and the delta are the eigenvalues of
(C' D^-1 C)^-1 C' D^-1 V D^-1 C, times n: V the covariance of shares, D shares on the diagonal, C a basis of what
is orthogonal to rows and columns (Rao, Scott 1984, section 2). With their sum s and the sum q of their squares, the
statistic over s is referred to F with s^2/q and `degrees` s^2/q degrees of freedom, the second-order correction
with the law of Thomas and Rao (1987). n cancels.

References:
    Rao 1948, "Large sample tests of statistical hypotheses concerning several parameters", for the score test.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import Json
from rrpolicy.counts import Array
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.formulas import Handling
from rrpolicy.escaping.printable import visible
from rrpolicy.estimate.association.measures import chi2
from rrpolicy.estimate.association.two_way_table import TwoWayTable, two_way_table
from rrpolicy.estimate.counts.condition import split
from rrpolicy.estimate.counts.grouping import grouping
from rrpolicy.estimate.counts.overlap import refuse_overlap
from rrpolicy.estimate.invert.simplex import released_counts
from rrpolicy.estimate.results.html import fragment, rows
from rrpolicy.estimate.results.intervals import bessel
from rrpolicy.estimate.results.result import json_number
from rrpolicy.estimate.results.target import Sample, refuse_repeated_units
from rrpolicy.estimate.weights.recode import refuse_biased
from rrpolicy.frozen import replace
from rrpolicy.numbers import p_value, p_value_equation, plain_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from rrpolicy.estimate.counts.condition import Condition
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.weights.base import AxisWeights

RELEASED = "Pearson's chi-square on the released table (level kept, power lost)"
WALD = "Wald, by the covariance of the corrected table"
RAO_SCOTT = "Pearson's chi-square of the corrected table, second-order correction of Rao and Scott, by the law of F"
SCORE = "score test, by the covariance that the corrected table has under independence"
METHODS = ("released", "score", "wald", "rao-scott")
SINGULAR = "the covariance is singular: too few records in some categories"
FEW = "fewer than 5 released records in some cells: the test distribution is approximate"
_EXPECTED = 5.0
_ROUNDING = 1e-9
_SINGULAR = 1e-10
_SINGLE_CLUSTER = 1e-13
_WORDS = {"score": SCORE, "wald": WALD, "rao-scott": RAO_SCOTT}


class Statistic(Struct, frozen=True):
    """A statistic with its law: chi-square with df degrees of freedom, or F with df and `df_error`; NaN if singular."""

    value: float
    df: float
    p_value: float
    df_error: float | None = None


def chi_square_tail(statistic: float, df: int) -> float:
    """Return the probability that a chi-square variable with df degrees of freedom is larger."""
    from scipy.special import chdtrc

    return float(chdtrc(df, max(statistic, 0.0)))


def wald(h: Array, covariance: Array) -> Statistic:
    """Return h' C^-1 h for (df,) estimates h that are 0 under the hypothesis, smooth functions of corrected counts."""
    scale = np.sqrt(np.abs(np.diag(covariance)))
    if h.size == 0 or bool((scale == 0).any()):
        return Statistic(np.nan, h.size, np.nan)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    if values[0] <= _SINGULAR:
        return Statistic(np.nan, h.size, np.nan)
    statistic = float((((h / scale) @ vectors) ** 2 / values).sum())
    return Statistic(statistic, h.size, chi_square_tail(statistic, h.size))


def rao_scott(table: Array, covariance: Array, degrees: float, *, observed: bool) -> Statistic:
    """Test independence in a table (rows, columns) of weighted or corrected counts, with positive margins.

    `covariance` is (cells, cells) in C order, with `degrees` degrees of freedom. D has the `observed` shares of the
    table, as in R's `svychisq`, or those that its margins give under the hypothesis, which are positive where corrected
    counts are not.
    """
    from scipy.special import fdtrc

    singular = Statistic(np.nan, np.nan, np.nan, np.nan)
    p = table / table.sum()
    fitted = np.outer(p.sum(axis=1), p.sum(axis=0))
    pearson = float(((p - fitted) ** 2 / fitted).sum())
    to_shares = (np.eye(p.size) - p.reshape(-1, 1)) / table.sum()
    V = to_shares @ covariance @ to_shares.T
    D = (p if observed else fitted).reshape(-1, 1)
    C = np.kron(*(np.eye(n)[:, 1:] - 1 / n for n in p.shape))
    try:
        effects = np.linalg.solve(C.T @ (C / D), (C / D).T @ V @ (C / D))
    except np.linalg.LinAlgError:
        return singular
    first, second = float(np.trace(effects)), float(np.trace(effects @ effects))
    rounding = float(np.trace(V)) <= _SINGLE_CLUSTER * float((p**2).sum())
    if not (first > 0 and second > 0 and degrees > 0) or rounding:
        return singular
    statistic, df = pearson / first, first**2 / second
    return Statistic(statistic, df, float(fdtrc(df, df * degrees, statistic)), df * degrees)


class Independence(Struct, frozen=True):
    """A test of independence in the population; no `Result`, as a test has neither an estimate nor an interval.

    Attributes:
        row: the column in the rows.
        column: the column in the columns.
        where: the condition, unchanged.
        method: method of the test.
        statistic: NaN if the data do not allow the test.
        df: degrees of freedom; of F, those of the numerator.
        p_value: p-value by the chi-square law, or by that of F.
        remark: the reason why the law is unreliable here; "" for none.
        df_error: degrees of freedom of the denominator of F; None for the chi-square law.
        sample: the sampling design, if the release or the analyst states one.
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
        """Return plain data; missing numbers are null."""
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
            found = f"statistic {plain_number(self.statistic, 4)}, {self.freedom} degrees of freedom, "
            found += p_value_equation(self.p_value)
        return "\n".join([self.title, self.method, found, *self.foot])

    @property
    def freedom(self) -> str:
        """Return the degrees of freedom in words."""
        return (
            plain_number(self.df, 4)
            if self.df_error is None
            else f"{plain_number(self.df, 4)} and {plain_number(self.df_error, 4)}"
        )

    @property
    def foot(self) -> tuple[str, ...]:
        """Return the notes that the test needs: the design of the sample, and why the law is unreliable."""
        sampled = () if self.sample is None else (visible(self.sample.description), *map(visible, self.sample.notes))
        return (*sampled, *([self.remark] if self.remark else []))

    @property
    def title(self) -> str:
        """Return the hypothesis."""
        where = f" where {self.where}" if self.where else ""
        return visible(
            f"Independence of {self.row} and {self.column}{where} in the population, which the table is a sample of"
        )

    def _repr_html_(self) -> str:
        names = ("statistic", "degrees of freedom", "p")
        values = (plain_number(self.statistic, 4), self.freedom, p_value(self.p_value))
        table = rows(names, [values]) if math.isfinite(self.statistic) else ""
        return fragment([self.title, self.method], table, [*([] if table else ["no test"]), *self.foot])


def independence(release: Release, row: str, column: str, where: str | None, method: str | None) -> Independence:
    """Test independence, as `Release.independence` describes."""
    condition = split(where, release.columns)
    (first, second), axes = grouping(release.columns, [row, column])
    refuse_biased([*axes, *condition.axes], "independence")
    refuse_overlap(release, [row, column], where, "independence")
    names = (first, second)
    reason = _reason_uncorrected_untestable(names, axes, condition)
    refuse_repeated_units(release.max_records)
    if method not in {None, *METHODS}:
        expected = '"released", "score", "wald" or "rao-scott"'
        raise PolicyError(Problem("RR276", f"no such test: {method!r}", expected=expected))
    if method == "released" and reason:
        raise PolicyError(Problem("RR276", f"the released table cannot be tested: {reason}", hint='method="score"'))
    if method == "released" or not (method or reason or release.design is not None):
        x = released_counts(release.data, axes, condition.filter, condition.parameters)
        return released_table_test(names, where, x)
    counts = release.crosstab([row, column], where, "population")
    table = two_way_table(counts).occupied()
    products = None if release.design is not None else table.products()
    if method == "score" and products is None:
        message = "the covariance under independence is known of tables of up to 36 cells"
        raise PolicyError(Problem("RR276", message, hint='method="rao-scott"'))
    method = method or ("rao-scott" if products is None else "score")
    found = corrected_table_test(
        names, where, table, method,
        products=products if method == "score" else None,
        records=release.records,
        degrees=max(release.records - 1, 1) if counts.sample is None else counts.sample.degrees,
        observed=not any(axis.randomised for axis in (*axes, *condition.axes)),
    )  # fmt: skip
    return replace(found, sample=counts.sample) if method == "rao-scott" else found


def _reason_uncorrected_untestable(names: tuple[str, str], axes: Sequence[AxisWeights], condition: Condition) -> str:
    if len(axes) == 1:
        return f"{names[0]!r} and {names[1]!r} were randomised together, so they are always dependent in the release"
    if condition.masks:
        return "the condition is on a randomised column, so the released rows that satisfy it are not the original ones"
    if any(len(a.columns) > 1 for a in axes):
        return "a column that was randomised together with another has no one-column table that keeps independence"
    return "a column is released as sets of values" if any(a.counted != len(a.released) for a in axes) else ""


def released_table_test(names: tuple[str, str], where: str | None, x: Array) -> Independence:
    """Test a released table (rows, columns) unmodified."""
    x = x[x.sum(axis=1) > 0][:, x.sum(axis=0) > 0]
    df = (x.shape[0] - 1) * (x.shape[1] - 1) if x.size else 0
    if df == 0:
        return Independence(*names, where, RELEASED, np.nan, 0, np.nan, "a column has one released value only")
    expected = np.outer(x.sum(axis=1), x.sum(axis=0)) / x.sum()
    small = int((expected < _EXPECTED).sum())
    remark = f"{small} of {x.size} cells have expected counts below 5: the law is approximate" if small else ""
    statistic = float(chi2(x)[0])
    return Independence(*names, where, RELEASED, statistic, df, chi_square_tail(statistic, df), remark)


def corrected_table_test(
    names: tuple[str, str],
    where: str | None,
    table: TwoWayTable,
    method: str,
    *,
    products: Array | None = None,
    records: int = 1,
    degrees: float = 1.0,
    observed: bool = False,
) -> Independence:
    """Test a corrected, or weighted, table without categories that are known to be empty.

    Args:
        names: names of the columns in its rows and columns.
        where: the condition, unchanged.
        table: its counts and covariance.
        method: "score", by the covariance under the hypothesis (Rao 1948); "wald", by that of the table; "rao-scott".
        products: for "score": (cells, cells, cells) as `TwoWayTable.products` returns them.
        records: for "score": N.
        degrees: for "rao-scott": degrees of freedom of the covariance.
        observed: for "rao-scott": whether nothing was randomised.
    """
    x, covariance = table.estimate, table.covariance["population"]
    remark = _reason_untestable(x)
    if remark:
        return Independence(*names, where, _WORDS[method], np.nan, 0, np.nan, remark)
    if method == "rao-scott":
        found = rao_scott(x, covariance, degrees, observed=observed and bool((x > 0).all()))
    else:
        at = x
        if products is not None:
            at = np.outer(x.sum(axis=1), x.sum(axis=0)) / x.sum()
            flat, under = x.reshape(-1), at.reshape(-1)
            change = np.tensordot(under - flat, products, axes=(0, 0))
            change = change - (np.outer(under, under) - np.outer(flat, flat)) / records
            covariance = covariance + bessel(records) * change
        J = _gradients(at)
        p = x / x.sum()
        # pi_ij - pi_i+ pi_+j for all but the last row and column: 0 under independence
        apart = p - np.outer(p.sum(axis=1), p.sum(axis=0))
        found = wald(np.asarray(apart[:-1, :-1].reshape(-1)), J @ covariance @ J.T)
    few = method != "score" and bool((table.support < _EXPECTED).any())
    remark = SINGULAR if np.isnan(found.value) else FEW if few else ""
    return Independence(
        *names, where, _WORDS[method], found.value, found.df, found.p_value, remark, df_error=found.df_error
    )


def _gradients(x: Array) -> Array:
    """Return ((rows - 1)(columns - 1), cells) the derivatives of pi_ij - pi_i+ pi_+j by the counts, at a table."""
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
    if min(x.shape) < 2:  # noqa: PLR2004
        return "a column has one value only"
    least, total = min(x.sum(axis=0).min(), x.sum(axis=1).min()), float(x.sum())
    if total <= 0 or least <= _ROUNDING * total:
        return "the estimate of a category is not positive: put categories together"
    return ""
