"""Regression on a release: coefficients with errors, predictions, and average marginal effects of covariates."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, TypeAlias

import numpy as np

from rrpolicy.canonical_json import Json, Value
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.printable import quoted_list, shell_quoted
from rrpolicy.estimate.counts.grouping import group_values
from rrpolicy.estimate.counts.missing import complete_records
from rrpolicy.estimate.models.design import MISSING, CovariateDesign, Formula, covariates, is_numeric, read_formula
from rrpolicy.estimate.models.likelihood import fit_likelihood
from rrpolicy.estimate.models.score_test import ScoreTest, is_testable, score_sets
from rrpolicy.estimate.models.scores import FAMILIES, Scores, solve_score
from rrpolicy.estimate.results.estimates import Estimates, Inference, result_of
from rrpolicy.estimate.results.flags import LIKELIHOOD, MOMENT, POPULATION_VARIANCE
from rrpolicy.estimate.results.intervals import Ends, normal_ends, p_values, reach_of
from rrpolicy.estimate.results.quantities import EstimatedQuantity, ResultColumn
from rrpolicy.estimate.weights.recode import refuse_biased
from rrpolicy.numbers import plain_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from rrpolicy.counts import Array
    from rrpolicy.estimate.models.likelihood import Likelihood
    from rrpolicy.estimate.models.scores import RegressionFamily
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.table import Crosstab
    from rrpolicy.estimate.results.target import Sample, Target
    from rrpolicy.estimate.weights.base import Mask


_LINEAR = 'the outcome has two values: the family "binomial" models the logarithm of its odds, this model its mean'
_CERTAIN = "nothing was drawn: these are this table's own coefficients, without an error that they could be tested by"
MOST_ENTRIES = 50_000_000
"""The most numbers in memory: cells times coefficients."""
_STEP = 1e-4
_NORMAL = "intervals are estimates with standard errors to each side, and z is how many of them an estimate is from 0"
_TWO = 2
_LISTED = 20


@dataclass(frozen=True, kw_only=True)
class Regression(Estimates):
    """Coefficients of a regression model, a row per term; of several equations, all terms of one after the other.

    Attributes:
        formula: unchanged.
        family: family of the outcome.
        success: the categories of the outcome that count as yes; () for numbers and for several equations.
        design: the covariates of each original cell in the equations.
    """

    schema: ClassVar[str] = "rrpolicy.regression/1"
    same_unit: ClassVar[bool] = False
    intervals: ClassVar[str] = (
        "low to high: {level} interval by the corrected score test; z: the score statistic, not estimate/SE"
    )

    formula: str
    family: str
    success: tuple[Value, ...]
    equations: tuple[Value, ...]
    design: CovariateDesign = field(repr=False)
    _fit: Scores | Likelihood = field(repr=False)
    _values: int = field(repr=False)

    @property
    def title(self) -> str:
        """Return the model."""
        of = f", yes: {' or '.join(map(str, self.success))}" if self.success else ""
        return f"Regression {self.formula} ({self.family}{of}): {FAMILIES[self.family].link}"

    def metadata(self) -> dict[str, Json]:
        """Return the model."""
        return {**super().metadata(), "formula": self.formula, "family": self.family, "success": list(self.success)}

    def contents(self) -> tuple[ResultColumn | EstimatedQuantity, ...]:
        """Return the coefficients, then their distance from 0 in standard errors; certain ones are not tested."""
        errors, printed = self.se(), not self._certain
        if is_testable(self._fit):
            z = ScoreTest(self._fit, self.target, errors).distances()
        else:
            z = np.divide(self.estimate, errors, out=np.full(len(errors), np.nan), where=errors > 0)
        degrees = math.inf if self.sample is None else self.sample.degrees_for(self.target)
        p = p_values(z, np.ones(len(z)), degrees)
        return (
            *super().contents(),
            ResultColumn("z", tuple(z.tolist()), key=False, printed=printed),
            ResultColumn("p_value", tuple(p.tolist()), key=False, printed=printed, p_values=True),
        )

    def all_notes(self) -> tuple[str, ...]:
        """Return the notes: first on a straight line fitted to a share, on missing tests, on normal intervals."""
        two = self.family == "gaussian" and self._values == _TWO
        normal = not self._certain and not is_testable(self._fit)
        notes = ((_LINEAR, two), (_CERTAIN, self._certain), (_NORMAL, normal))
        return (*(text for text, holds in notes if holds), *super().all_notes())

    @property
    def _certain(self) -> bool:
        return self.target == "table" and self.quantity.exact

    def __getitem__(self, term: str) -> float:
        """Return a coefficient by its term, of a model with one equation."""
        return float(self.estimate[[k["term"] for k in self.keys].index(term)])

    @property
    def _beta(self) -> Array:
        return self.estimate.reshape(-1, len(self.design.terms))

    def predict(self, rows: Sequence[Mapping[str, Value]]) -> Effects:
        """Return the expected outcome for covariates; intervals are those of the linear predictor, transformed.

        Args:
            rows: the covariates, by the names of the formula.

        Raises:
            PolicyError: RR542 if a row lacks a covariate, or has a category that the release does not.

        Examples:
            >>> release = rrpolicy.open_release("study")
            >>> fit = release.glm("disease ~ sex", "binomial", success=["none"])
            >>> fit.predict([{"sex": "male"}]).keys
            ({'sex': 'male'},)
        """
        known = self._domains()
        for row in rows:
            wrong = next((n for n, d in known.items() if n not in row or not _fits_domain(row[n], d)), None)
            if wrong is not None:
                expected = "a number" if is_numeric(known[wrong]) else f"one of {', '.join(map(repr, known[wrong]))}"
                raise PolicyError(Problem("RR542", f"{wrong!r} is {row.get(wrong)!r}", expected=expected))
        family = FAMILIES[self.family]
        X = self.design.at(covariates(rows, known))
        eta = X @ self._beta.T
        mean, slope = family.mean(eta), family.slope(family.mean(eta))
        gradients = np.einsum("rab,rt->rabt", slope, X).reshape(mean.size, -1)
        errors, stand_in = self._fit.errors(gradients)
        alone = len(self.equations) <= 1
        on_link, _ = self._fit.errors(X) if alone else (errors, stand_in)

        def ends(level: float, target: Target) -> Array:
            if not alone:
                return normal_ends(mean.reshape(-1), errors, np.array([[0.0, 1.0]]), self.sample)(level, target)
            half = reach_of(level, target, self.sample) * on_link[target]
            sides = [family.mean(eta + side * half[:, None])[:, 0] for side in (-1, 1)]
            return np.stack(sides, axis=1)

        keys = tuple({**self._named(e), **{n: row[n] for n in known}} for row in rows for e in self.equations)
        return self._effects("Predictions", keys, mean.reshape(-1), errors, stand_in, ends)

    def margins(self) -> Effects:
        """Return average marginal effects: the change of the outcome's expectation, on average over all records.

        For a number, by its slope; for categories, and numbers that are taken for such, for each against the first. The
        records' covariates are estimated from the release, and the error includes that.

        Examples:
            >>> release = rrpolicy.open_release("study")
            >>> fit = release.glm("disease ~ sex", "binomial", success=["none"])
            >>> fit.margins().keys
            ({'of': 'sex', 'change': 'male'},)
        """
        changes: list[tuple[str, Value, Array, Array]] = []
        for name, domain in self._domains().items():
            changes += self._changes(name, domain)
        counts, records = self._fit.counts, float(self._fit.counts.sum())
        own = np.concatenate([change for _, _, change, _ in changes], axis=1).T
        mean = own @ counts / records
        gradients = np.concatenate([np.tensordot(counts, g, axes=1) for _, _, _, g in changes]) / records
        errors, stand_in = self._fit.errors(gradients, (own - mean[:, None]) / records)
        keys = tuple({**self._named(e), "of": n, "change": to} for n, to, _, _ in changes for e in self.equations)
        return self._effects("Average marginal effects", keys, mean, errors, stand_in)

    def _changes(self, name: str, domain: Sequence[Value]) -> list[tuple[str, Value, Array, Array]]:
        """Return the effects of changing one covariate: its name, the new value, the differences with gradients."""
        frame = self.design.frame
        if is_numeric(domain):
            lower, upper = (frame.assign(**{name: frame[name] + side * _STEP}) for side in (-1, 1))
            with suppress(PolicyError):  # a term that takes it for categories has no slope
                return [(name, "slope", *self._difference(lower, upper, 2 * _STEP))]
        first, *others = sorted(domain) if is_numeric(domain) else domain
        found = []
        for other in others:
            made = (covariates([{name: value}] * len(frame), {name: domain}) for value in (first, other))
            lower, upper = (frame.assign(**{name: columns[name]}) for columns in made)
            found.append((name, other, *self._difference(lower, upper, 1.0)))
        return found

    def _difference(self, lower: pd.DataFrame, upper: pd.DataFrame, width: float) -> tuple[Array, Array]:
        """Return (cells, equations) differences of expectations, and (cells, equations, parameters) their gradients."""
        family, found = FAMILIES[self.family], []
        for frame in (lower, upper):
            X = self.design.at(frame)
            mean = family.mean(X @ self._beta.T)
            slope = np.einsum("cab,ct->cabt", family.slope(mean), X).reshape(len(X), mean.shape[1], -1)
            found.append((mean, slope))
        (low, from_), (high, to) = found
        return (high - low) / width, (to - from_) / width

    def _domains(self) -> dict[str, tuple[Value, ...]]:
        columns = {str(name): self.design.frame[name] for name in self.design.frame.columns}
        return {n: tuple((c.cat.categories if hasattr(c, "cat") else c.unique()).tolist()) for n, c in columns.items()}

    def _named(self, equation: Value) -> dict[str, Value]:
        return {"outcome": equation} if len(self.equations) > 1 else {}

    def _effects(  # noqa: PLR0917 the columns of a result
        self,
        title: str,
        keys: tuple[Mapping[str, Value], ...],
        estimate: Array,
        errors: Mapping[Target, Array],
        stand_in: Mask,
        ends: Ends | None = None,
    ) -> Effects:
        found = _inference(estimate, errors, stand_in, self.estimator[0], self.sample, ends)
        what = f"{title} of {self.formula} ({self.family})"
        return result_of(Effects, self.scope, tuple(keys[0]) if keys else (), keys, found, what=what)


@dataclass(frozen=True, kw_only=True)
class Effects(Estimates):
    """Predictions or marginal effects of a regression model.

    Attributes:
        what: the kind of effect, in words.
    """

    schema: ClassVar[str] = "rrpolicy.effects/1"
    same_unit: ClassVar[bool] = False
    intervals: ClassVar[str] = "low to high: {level} intervals"

    what: str

    @property
    def title(self) -> str:
        """Return the kind of effects."""
        return self.what


def _inference(  # noqa: PLR0917 the columns of a result
    estimate: Array,
    errors: Mapping[Target, Array],
    stand_in: Mask,
    estimator: str,
    sample: Sample | None,
    ends: Ends | None = None,
) -> Inference:
    """Return estimates without limits; their intervals are normal unless others are given."""
    within = np.tile([[-np.inf, np.inf]], (len(estimate), 1))
    return Inference(
        estimate=estimate,
        errors=errors,
        within=within,
        ends=ends or normal_ends(estimate, errors, within, sample),
        estimator=(estimator,) * len(estimate),
        doubts=lambda _, target: (
            (LIKELIHOOD, np.full(len(estimate), estimator == LIKELIHOOD)),
            (POPULATION_VARIANCE, stand_in & (target == "table")),
        ),
    )


def regression(  # noqa: PLR0917 the options of a regression
    release: Release,
    formula: str,
    family: str,
    success: Sequence[Value] | None,
    where: str | None,
    target: Target,
    level: float,
) -> Regression:
    """Fit a model, as `Release.glm` describes."""
    if family not in FAMILIES:
        raise PolicyError(Problem("RR541", f"no such family: {family!r}", expected=", ".join(FAMILIES)))
    asked = read_formula(formula)
    columns = _exact_names(release, asked, formula)
    names = tuple(columns.values())
    complete = complete_records(release, names, where)
    (table,) = release.tables(names, [names], where, complete.condition, target=target, level=level)
    refuse_biased([axis for axis, _ in table.axes], "a regression")
    cells = [{name: cell[columns[name]] for name in columns} for cell in group_values(table.by, table.groups)]
    domains = {name: tuple(dict.fromkeys(cell[name] for cell in cells)) for name in columns}  # labels, if there are any
    design = CovariateDesign.of(asked, cells, {name: domains[name] for name in asked.covariates})
    values = [cell[asked.outcome] for cell in cells]
    outcome, equations, yes = _outcome(asked.outcome, values, domains[asked.outcome], family, success)
    combinations = [tuple(cell[name] for name in asked.covariates) for cell in cells]
    likely = (columns[asked.outcome], combinations) if table.sample is None and not complete.condition.masks else None
    fit = _fit(table, design.matrix, outcome, FAMILIES[family], likely)
    errors, stand_in = fit.errors(np.eye(fit.beta.size))
    estimator = MOMENT if isinstance(fit, Scores) else LIKELIHOOD
    ends = score_sets(fit, errors, table.sample) if is_testable(fit) else None
    several = len(equations) > 1
    return result_of(
        Regression,
        table.scope,
        ("outcome", "term") if several else ("term",),
        tuple({**({"outcome": e} if several else {}), "term": t} for e in equations for t in design.terms),
        _inference(fit.beta.reshape(-1), errors, stand_in, estimator, table.sample, ends),
        notes=complete.notes,
        formula=" ".join(formula.split()),
        family=family,
        success=yes,
        equations=equations,
        design=design,
        _fit=fit,
        _values=len(domains[asked.outcome]),
    )


def _fit(
    table: Crosstab, X: Array, Y: Array, family: RegressionFamily, likely: tuple[str, list[tuple[Value, ...]]] | None
) -> Scores | Likelihood:
    """Return the fit by corrected scores, or by maximum likelihood where these have no solution (RR544, RR268).

    The latter needs the outcome's column, and the covariates of each cell.
    """
    if X.size * Y.shape[1] > MOST_ENTRIES:
        message = f"{len(X):,} cells times {X.shape[1]:,} terms are too many"
        raise PolicyError(Problem("RR268", message, hint="leave covariates out, or bin them"))
    root = solve_score(table.moment_estimate.reshape(-1), X, Y, family)
    if root is not None:
        return Scores(root, table)
    if likely is not None:
        outcome, combinations = likely
        number = {combination: place for place, combination in enumerate(dict.fromkeys(combinations))}
        found = fit_likelihood(table, outcome, np.array([number[c] for c in combinations]), X, Y, family)
        if found is not None:
            return found
    hint = "remove terms or merge categories; shares and means by group need fewer records"
    message = "this release does not determine the coefficients: neither scores nor likelihood have a solution"
    raise PolicyError(Problem("RR544", message, hint=hint))


def _exact_names(release: Release, asked: Formula, formula: str) -> dict[str, str]:
    """Return the exact names of a formula's columns, all with categories: the model is of a table of counts.

    RR262 for a name that formulas cut into words and that is not in backticks; RR263, RR541.
    """
    columns = {}
    for name in (asked.outcome, *asked.covariates):
        try:
            columns[name] = release.columns.name(name)
        except PolicyError as error:
            cut = (c for c in release.columns.columns if not c.isidentifier() and c in formula and name in c)
            if (whole := next(cut, None)) is None:
                raise
            hint = f"in a formula it needs backticks: `{whole}`"
            message = f"{whole!r} is not a word that a formula takes for a name"
            raise PolicyError(Problem("RR262", message, hint=hint)) from error
    known = release.columns.columns
    carried = [n for n in columns.values() if n in known and known[n].kind == "carried"]
    if carried:
        message = f"{quoted_list(carried)} {'is' if len(carried) == 1 else 'are'} released without a list of categories"
        hint = (
            "a model takes columns with categories: the publisher gives them in the policy, as a `domain` or `bins`; "
            "means and sums by groups need no categories"
        )
        raise PolicyError(Problem("RR263", message, expected="columns with categories", hint=hint))
    if asked.outcome in asked.covariates:
        raise PolicyError(Problem("RR541", f"{asked.outcome!r} is both outcome and covariate"))
    return columns


_Outcome: TypeAlias = "tuple[Array, tuple[Value, ...], tuple[Value, ...]]"


def _outcome(
    name: str, values: Sequence[Value], domain: Sequence[Value], family: str, success: Sequence[Value] | None
) -> _Outcome:
    """Return (cells, equations) the outcome, the outcome of each equation, and the categories that mean yes (RR543)."""
    if family == "binomial":
        yes = _success(name, domain, success)
        return np.array([[v in yes] for v in values], dtype=np.float64), (name,), yes
    if success is not None:
        raise PolicyError(Problem("RR543", f"`success` is for the family 'binomial', not {family!r}"))
    if family == "multinomial":
        if len(domain) < 3:  # noqa: PLR2004 two categories are yes and no
            raise PolicyError(Problem("RR543", f"{name!r} has {len(domain)} categories", hint=_family_hint("binomial")))
        others = tuple(domain[1:])
        return np.array([[v == other for other in others] for v in values], dtype=np.float64), others, ()
    least = FAMILIES[family].least
    if is_numeric(domain) and all(float(v) >= least for v in domain):
        return np.array([[float(v)] for v in values]), (name,), ()
    expected = "numbers" if np.isinf(least) else f"numbers from {plain_number(least)} on"
    message = f"the categories of {name!r} are not what the family {family!r} is of"
    words, hint = [v for v in domain if not is_numeric([v])], _family_hint("binomial", "multinomial")
    if words and len(words) < len(domain):
        message = (
            f"{message}: {' and '.join(map(repr, words))} {'is not a number' if len(words) == 1 else 'are not numbers'}"
        )
        hint = f"a condition leaves out the records: `{identifier(name)} NOT IN ({', '.join(map(literal, words))})`"
    raise PolicyError(Problem("RR543", message, expected=expected, hint=hint))


def _success(name: str, domain: Sequence[Value], success: Sequence[Value] | None) -> tuple[Value, ...]:
    """Return the categories that count as yes: by default the second of two (RR543)."""
    default = domain[1:] if len(domain) == 2 else ()  # noqa: PLR2004
    yes = tuple(default if success is None else success)
    if yes and len(set(yes)) < len(domain) and set(yes) <= set(domain):
        return yes
    listed = ", ".join([*map(repr, domain[:_LISTED]), *(["…"] if len(domain) > _LISTED else [])])
    message = f"which categories of {name!r} count as yes is not stated"
    if success is not None:
        message = f"of {name!r}, {', '.join(map(repr, yes)) or 'none'} cannot count as yes"
    two = domain[-2:]
    shell = " ".join(f"--success {shell_quoted(str(v))}" for v in two)
    hint = f"in Python, `success={list(two)!r}`; in a shell, `{shell}`"
    raise PolicyError(Problem("RR543", message, expected=f"some of {listed}", hint=hint))


def _fits_domain(value: Value | None, domain: Sequence[Value]) -> bool:
    if is_numeric(domain):
        return value is not None and is_numeric([value])
    return (MISSING if value is None else str(value)) in domain


def _family_hint(*names: str) -> str:
    python, shell = " or ".join(f'"{name}"' for name in names), " or ".join(f"`--family {name}`" for name in names)
    return f"in Python, `family=` {python}; in a shell, {shell}"
