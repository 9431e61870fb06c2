"""Loglinear models: whether randomisation preserves one, its fit to the corrected table, a valid test."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import Json
from rrpolicy.counts import Array
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.association.independence import chi_square_tail, wald
from rrpolicy.estimate.counts.condition import split
from rrpolicy.estimate.counts.overlap import refuse_overlap
from rrpolicy.estimate.invert.simplex import released_counts
from rrpolicy.estimate.results.chart_layout import PlottedQuantity
from rrpolicy.estimate.results.quantities import (
    SINGLE_QUANTITY_NAMES,
    EstimatedQuantity,
    ResultColumn,
    key_columns,
    quantity_column_names,
)
from rrpolicy.estimate.results.result import Result, json_number
from rrpolicy.estimate.results.table import Crosstab
from rrpolicy.frozen import replace
from rrpolicy.numbers import p_value_equation, plain_number

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release


_ROUNDS = 10_000
_CLOSE = 1e-12


class LoglinearFit(Struct, frozen=True):
    """A fitted table."""

    fitted: Array  # expected counts under the model
    chi2: float
    g2: float
    df: int
    converged: bool  # whether the margins agree to 1e-12 of the total


def fit(table: Array, terms: Sequence[Sequence[int]]) -> LoglinearFit:
    """Fit by iterative proportional fitting (Deming and Stephan 1940): the maximum likelihood table of the model.

    The fitted table has the table's margins over the dimensions of each highest-order term.
    """
    total = float(table.sum())
    fitted = np.full(table.shape, total / table.size)
    others = [tuple(i for i in range(table.ndim) if i not in term) for term in terms]
    margins = [table.sum(axis=rest, keepdims=True) for rest in others]
    pairs, worst = list(zip(others, margins, strict=True)), np.inf
    for _ in range(_ROUNDS):
        for rest, margin in pairs:
            now = fitted.sum(axis=rest, keepdims=True)
            fitted = fitted * np.divide(margin, now, out=np.zeros_like(margin), where=now > 0)
        worst = max(np.abs(fitted.sum(axis=rest, keepdims=True) - margin).max() for rest, margin in pairs)
        if worst <= _CLOSE * total:
            break
    some = fitted > 0
    chi2 = float(((table - fitted)[some] ** 2 / fitted[some]).sum())
    both = (table > 0) & some
    g2 = 2 * float((table[both] * np.log(table[both] / fitted[both])).sum())
    design = design_matrix(table.shape, terms)
    return LoglinearFit(fitted, chi2, g2, table.size - design.shape[1], bool(worst <= _CLOSE * total))


def design_matrix(shape: Sequence[int], terms: Sequence[Sequence[int]]) -> Array:
    """Return (cells, parameters), of full rank: effects coded by the first category, for every term within a term."""
    within = {frozenset[int]()}
    for term in terms:
        for bits in range(1 << len(term)):
            within.add(frozenset(d for i, d in enumerate(term) if bits >> i & 1))
    blocks = []
    for chosen in sorted(within, key=lambda s: (len(s), sorted(s))):
        block: Array = np.ones((1, 1))
        for dimension, size in enumerate(shape):
            effect = np.eye(size)[:, 1:] if dimension in chosen else np.ones((size, 1))
            block = np.asarray(np.kron(block, effect), dtype=np.float64)
        blocks.append(block)
    return np.concatenate(blocks, axis=1)


def contrasts(shape: Sequence[int], terms: Sequence[Sequence[int]]) -> Array:
    """Return (df, cells) orthonormal contrasts of log counts that vanish exactly under the model."""
    X = design_matrix(shape, terms)
    Q, _ = np.linalg.qr(X, mode="complete")
    return np.asarray(Q[:, X.shape[1] :].T)


_TOKEN = re.compile(r"\s*(?:(?P<name>[^\W\d]\w*)|`(?P<quoted>[^`]+)`|(?P<operator>[+*:]))", re.UNICODE)


class Model(Struct, frozen=True):
    """A hierarchical model: it has all terms within its highest-order `terms` (the generating class)."""

    terms: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...]

    def __str__(self) -> str:
        return " + ".join("*".join(map(_quote_name, term)) for term in self.terms)


def parse_formula(text: str) -> Model:
    """Read a formula: terms joined by `+`, each of columns joined by `*` or `:`, which mean the same here (RR275)."""
    terms: list[list[str]] = [[]]
    expecting, at = True, 0
    stripped = text.rstrip()
    while at < len(stripped):
        match = _TOKEN.match(stripped, at)
        name = (match["name"] or match["quoted"]) if match else None
        if match is None or (name is None) == expecting:
            raise _syntax_error(stripped, at)
        if name is not None:
            terms[-1].append(name)
        elif match["operator"] == "+":
            terms.append([])
        expecting, at = name is None, match.end()
    if expecting:
        raise _syntax_error(stripped, at)
    return model(terms)


def model(terms: Iterable[Iterable[str]]) -> Model:
    """Return the model generated by some terms; those within another are implied by it."""
    unique = list(dict.fromkeys(tuple(dict.fromkeys(t)) for t in terms))
    sets = [frozenset(t) for t in unique]
    highest = [
        t for i, t in enumerate(unique) if not any(sets[i] < s or (sets[i] == s and j < i) for j, s in enumerate(sets))
    ]
    return Model(tuple(highest), tuple(dict.fromkeys(c for t in unique for c in t)))


def reasons_not_preserved(asked: Model, randomised: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Return the reasons why a model does not survive randomisation; empty if every table in it stays in it.

    A hierarchical model survives iff no randomised variable occurs twice among its highest-order terms: two terms that
    share a variable are independent given its true value (Guo 2010, chapter 4). Columns that were randomised together,
    in one of the `randomised` axes, are one variable.
    """
    reasons = []
    for axis in randomised:
        inside = [c for c in axis if c in asked.columns]
        terms = [t for t in asked.terms if any(c in t for c in inside)]
        names = " and ".join(map(_quote_name, inside))
        if len(terms) > 1:
            listed = ", ".join("*".join(map(_quote_name, t)) for t in terms)
            reasons.append(f"{names} is randomised and occurs in {listed}")
        elif terms and len(axis) > len(inside) and len(asked.terms) > 1:
            missing = " and ".join(_quote_name(c) for c in axis if c not in inside)
            reasons.append(f"{names} was randomised together with {missing}, which the model leaves out")
    return tuple(reasons)


def _quote_name(name: str) -> str:
    return name if re.fullmatch(r"[^\W\d]\w*", name) else f"`{name}`"


def _syntax_error(text: str, at: int) -> PolicyError:
    return PolicyError(
        Problem(
            "RR275",
            f"the model cannot be read from character {at + 1}: {text!r}",
            expected="columns joined by * or :, terms joined by +, such as sex*education + disease",
            hint="other names in backticks: `age group`*sex",
        )
    )


RELEASED = "likelihood ratio G2 of the model on the released table: valid because the model survives"
WALD = "Wald, log contrasts of the corrected table that vanish under the model"
NO_FREEDOM = "no test: the model has as many parameters as the table has cells"
NO_TEST = "no test: a corrected cell is not positive, or the covariance is singular"


@dataclass(frozen=True)
class Loglinear(Result):
    """A hierarchical loglinear model and its fit to the corrected table.

    Attributes:
        model: its highest-order terms.
        randomised: columns that were randomised.
        reasons: reasons for which the released data may violate a model that the original ones obey; empty if they
            cannot.
        estimator: estimator of the fitted table: moment, or EM if a corrected cell is not positive.
        fit: expected counts, chi2 and G2 of the corrected table. They do not follow the chi-square law.
        method: method of the test.
        statistic: statistic of a valid test; NaN if there is none.
        p_value: p-value by the chi-square law; NaN if there is no valid test.
        table: the corrected table.
    """

    schema: ClassVar[str] = "rrpolicy.loglinear/1"
    intervals: ClassVar[str] = Crosstab.intervals

    model: Model
    randomised: tuple[str, ...]
    reasons: tuple[str, ...]
    estimator: str
    fit: LoglinearFit = field(repr=False)
    method: str
    statistic: float
    p_value: float
    table: Crosstab = field(repr=False)

    @property
    def survives(self) -> bool:
        """Return whether every table that obeys the model still does after randomisation."""
        return not self.reasons

    @property
    def fitted(self) -> Array:
        """Return the expected counts, one dimension per column, in the order of the formula."""
        return self.fit.fitted

    @property
    def title(self) -> str:
        """Return the model."""
        return f"Loglinear model {self.model}"

    def contents(self) -> tuple[ResultColumn | EstimatedQuantity, ...]:
        """Return the columns, the corrected counts, and the fitted ones."""
        keys = key_columns(self.table.by, self.table.group_values(), (*SINGLE_QUANTITY_NAMES, "fitted"))
        return (*keys, self.table.counts, ResultColumn("fitted", tuple(self.fitted.reshape(-1).tolist()), key=False))

    def metadata(self) -> dict[str, Json]:
        """Return the model, whether it survives, its fit and its test."""
        return {
            "model": str(self.model),
            "randomised": list(self.randomised),
            "survives": self.survives,
            "reasons": list(self.reasons),
            "estimator": self.estimator,
            "df": self.fit.df,
            "corrected": {"chi2": self.fit.chi2, "g2": self.fit.g2, "converged": self.fit.converged},
            "test": {
                "method": self.method,
                "statistic": json_number(self.statistic),
                "p_value": json_number(self.p_value),
            },
        }

    def method_description(self) -> str:
        """Return the method of estimation of the corrected counts."""
        return self.table.method

    def preface(self) -> tuple[str, ...]:
        """Return whether the model survives, its fit and its test."""
        verdict = (
            "survives randomisation: the released data obey it whenever the original ones do"
            if self.survives
            else f"does not survive randomisation: {'; '.join(self.reasons)}"
        )
        found = f"statistic {plain_number(self.statistic, 4)}, {self.fit.df} degrees of freedom, "
        found += p_value_equation(self.p_value)
        fitted = f"fitted to the corrected table ({self.estimator}): chi2 {plain_number(self.fit.chi2, 4)}, "
        fitted += f"G2 {plain_number(self.fit.g2, 4)}"
        return (
            verdict,
            fitted,
            "(the law of these two is not the chi-square law)",
            self.method,
            *((found,) if np.isfinite(self.p_value) else () if self.fit.df else (NO_FREEDOM,)),
        )

    def plotted_quantities(self) -> tuple[PlottedQuantity, ...]:
        """Return the fitted counts, with the intervals of the corrected ones."""
        fitted = replace(self.table.counts, names=quantity_column_names("fitted"), estimate=self.fitted.reshape(-1))
        return (PlottedQuantity(fitted, "marks: fitted counts; bars: intervals of the corrected ones"),)


def loglinear(release: Release, formula: str, where: str | None) -> Loglinear:
    """Fit a model and test it, as `Release.loglinear` describes."""
    asked = model([map(release.columns.name, term) for term in parse_formula(formula).terms])
    refuse_overlap(release, asked.columns, where, "a loglinear model")
    axes = list({id(a): a for a in map(release.columns.axis, asked.columns)}.values())
    together = [axis for axis in axes if len({*axis.columns} & {*asked.columns}) > 1]
    if together:
        listed = ", ".join(map(repr, together[0].columns))
        raise PolicyError(
            Problem("RR275", f"{listed} were randomised together: a table by both columns is not available")
        )
    terms = [[asked.columns.index(c) for c in t] for t in asked.terms]
    condition = split(where, release.columns)
    reasons = reasons_not_preserved(asked, [a.columns for a in axes if a.randomised])
    if condition.masks:
        reasons += ("the condition is on a randomised column",)
    if any(a.counted != len(a.released) for a in axes):
        reasons += ("a column is released as sets of values",)
    table = release.crosstab(asked.columns, where, "population")
    positive = bool((table.moment_estimate > 0).all())
    if not positive:
        table = release.crosstab(asked.columns, where, "population", estimator="em")
    if reasons:
        method, statistic, p_value = _wald_test(table, terms) if positive else (NO_TEST, np.nan, np.nan)
    else:
        released = fit(released_counts(release.data, axes, condition.filter, condition.parameters), terms)
        p_value = chi_square_tail(released.g2, released.df) if released.df else np.nan
        method, statistic = RELEASED, released.g2
    return Loglinear(
        model=asked,
        where=where,
        target=table.target,
        level=table.level,
        records=table.records,
        randomised=tuple(c for c in asked.columns if release.columns.axes[c].randomised),
        reasons=reasons,
        estimator="moment" if positive else "EM",
        fit=fit(table.estimate, terms),
        method=method,
        statistic=statistic,
        p_value=p_value,
        table=table,
    )


def _wald_test(table: Crosstab, terms: list[list[int]]) -> tuple[str, float, float]:
    """Test L log pi = 0, L the contrasts orthogonal to the model; the covariance of log pi is D^-1 Sigma D^-1."""
    L = contrasts(table.moment_estimate.shape, terms)
    flat = table.moment_estimate.reshape(-1)
    J = L / flat
    found = wald(L @ np.log(flat), J @ table.covariance("population") @ J.T)
    return WALD if np.isfinite(found.value) else NO_TEST, found.value, found.p_value
