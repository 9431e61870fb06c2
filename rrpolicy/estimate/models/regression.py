"""Regression on a release: coefficients with errors, what they predict, and how much covariates matter on average."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rrpolicy.canonical_json import Json, Value
from rrpolicy.engine.quoting import identifier, literal
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.printable import quoted_list
from rrpolicy.escaping.shell import shell_quoted
from rrpolicy.estimate.counts.grouping import group_values
from rrpolicy.estimate.counts.missing import complete_records
from rrpolicy.estimate.models.design import MISSING, CovariateDesign, Formula, covariates, is_numeric, read_formula
from rrpolicy.estimate.models.family import FAMILIES, Multinomial
from rrpolicy.estimate.models.likelihood import fit_likelihood
from rrpolicy.estimate.models.score_test import ScoreTest, is_testable, score_sets
from rrpolicy.estimate.models.scores import Scores, solve_score
from rrpolicy.estimate.results.estimates import Estimates
from rrpolicy.estimate.results.flags import LIKELIHOOD, MOMENT, POPULATION_VARIANCE, UNFLAGGED
from rrpolicy.estimate.results.intervals import Ends, normal_ends, p_values, reach_of
from rrpolicy.estimate.results.quantities import EstimatedQuantity, ResultColumn
from rrpolicy.estimate.weights.recode import refuse_biased
from rrpolicy.frozen_dataclass import frozen

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from rrpolicy.counts import Array
    from rrpolicy.estimate.models.scores import RegressionFit
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.target import Target
    from rrpolicy.estimate.weights.base import Mask


_LINEAR = 'the outcome has two values: the family "binomial" models the logarithm of its odds, this model its mean'
_CERTAIN = "nothing was drawn: these are this table's own coefficients, without an error that they could be tested by"
MOST_ENTRIES = 50_000_000
"""Cells times coefficients that are held."""
_STEP = 1e-4
_NORMAL = "intervals are estimates with standard errors to each side, and z is how many of them an estimate is from 0"
_TWO = 2
_LISTED = 20


@frozen(slots=False, kw_only=True)
class Regression(Estimates):
    """Coefficients of a regression model, a row a term; of several equations, all terms of one after the other.

    Attributes:
        formula: as it was asked.
        family: of the outcome.
        success: the categories of the outcome that count as yes; () where it is a number, or has equations of its own.
        design: what each original cell has in the equations.
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
    _fit: RegressionFit = field(repr=False)
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
        """Return the coefficients, then how far from 0 each is; certain ones are not tested."""
        z, p = self._tested()
        return (
            *super().contents(),
            ResultColumn("z", tuple(z.tolist()), key=False, printed=not self._certain),
            ResultColumn("p_value", tuple(p.tolist()), key=False, printed=not self._certain, p_values=True),
        )

    def all_notes(self) -> tuple[str, ...]:
        """Return the notes, and what is said of a straight line fitted to a share, of no tests, of normal intervals."""
        two = self.family == "gaussian" and self._values == _TWO
        normal = not self._certain and not is_testable(self._fit)
        said = ((_LINEAR, two), (_CERTAIN, self._certain), (_NORMAL, normal))
        return (*(text for text, holds in said if holds), *super().all_notes())

    @property
    def _certain(self) -> bool:
        return self.target == "table" and self.quantity.exact

    def _tested(self) -> tuple[Array, Array]:
        """Return how many standard errors each coefficient is from 0, and p-values; NaN of one without an error."""
        errors = self.se()
        if is_testable(self._fit):
            z = ScoreTest(self._fit, self.target, errors).distances()
        else:
            z = np.divide(self.estimate, errors, out=np.full(len(errors), np.nan), where=errors > 0)
        degrees = math.inf if self.sample is None else self.sample.degrees_for(self.target)
        return z, p_values(z, np.ones(len(z)), degrees)

    def __getitem__(self, term: str) -> float:
        """Return a coefficient by its term, of a model with one equation."""
        return float(self.estimate[[k["term"] for k in self.keys].index(term)])

    @property
    def _beta(self) -> Array:
        return self.estimate.reshape(-1, len(self.design.terms))

    def predict(self, rows: Sequence[Mapping[str, Value]]) -> Effects:
        """Return what the model expects of the outcome for covariates; intervals are those of the link, turned back.

        Args:
            rows: the covariates, by the names of the formula.

        Raises:
            PolicyError: RR542 if a row lacks a covariate, or has a category that the release does not.
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
        return self._with("Predictions", keys, mean.reshape(-1), errors, ends, stand_in)

    def margins(self) -> Effects:
        """Return average marginal effects: what the outcome's expectation changes by, on average over all records.

        Of a number, by its slope; of categories, and of numbers that are taken for such, for each against the first.
        The records' covariates are those that the release lets estimate, and what that adds to the error is in it.
        """
        changes: list[tuple[str, Value, Array, Array]] = []
        for name, domain in self._domains().items():
            changes += self._changes(name, domain)
        counts, records = self._fit.counts, float(self._fit.counts.sum())
        own = np.concatenate([change for _, _, change, _ in changes], axis=1).T
        mean = own @ counts / records
        gradients = np.concatenate([np.tensordot(counts, g, axes=1) for _, _, _, g in changes]) / records
        errors, stand_in = self._fit.errors(gradients, (own - mean[:, None]) / records)
        keys = tuple({**self._named(e), "of": n, "change": told} for n, told, _, _ in changes for e in self.equations)
        within = np.array([[-np.inf, np.inf]])
        return self._with(
            "Average marginal effects", keys, mean, errors, normal_ends(mean, errors, within, self.sample), stand_in
        )

    def _changes(self, name: str, domain: Sequence[Value]) -> list[tuple[str, Value, Array, Array]]:
        """Return what changes of one covariate do: its name, to what, and the differences with their gradients."""
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
        found = {}
        for name in self.design.frame.columns:
            column = self.design.frame[name]
            kept = column.cat.categories if hasattr(column, "cat") else column.unique()
            found[str(name)] = tuple(kept.tolist())
        return found

    def _named(self, equation: Value) -> dict[str, Value]:
        return {"outcome": equation} if len(self.equations) > 1 else {}

    def _with(  # noqa: PLR0917 the columns of a result
        self,
        title: str,
        keys: tuple[Mapping[str, Value], ...],
        estimate: Array,
        errors: Mapping[Target, Array],
        ends: Ends,
        stand_in: Mask,
    ) -> Effects:
        marked = tuple(flag for flag in self.flags[0] if flag == LIKELIHOOD)
        flagged = tuple(
            (*marked, POPULATION_VARIANCE) if s and self.target == "table" else marked for s in stand_in.tolist()
        )
        return Effects(
            **self.scope,
            by=tuple(keys[0]) if keys else (),
            keys=keys,
            estimate=estimate,
            errors=errors,
            range=np.tile([[-np.inf, np.inf]], (len(estimate), 1)),
            estimator=(self.estimator[0],) * len(estimate),
            flags=flagged,
            ends=ends,
            what=f"{title} of {self.formula} ({self.family})",
        )


@frozen(slots=False, kw_only=True)
class Effects(Estimates):
    """What follows from a regression model: predictions, or marginal effects.

    Attributes:
        what: in words.
    """

    schema: ClassVar[str] = "rrpolicy.effects/1"
    same_unit: ClassVar[bool] = False
    intervals: ClassVar[str] = "low to high: {level} intervals"

    what: str

    @property
    def title(self) -> str:
        """Return what the rows are."""
        return self.what


def regression(  # noqa: PLR0917 what a regression is asked
    release: Release,
    formula: str,
    family: str,
    success: Sequence[Value] | None,
    where: str | None,
    target: Target,
    level: float,
) -> Regression:
    """Fit a model; `Release.glm` says how.

    Raises:
        PolicyError: RR540-RR544; else as `Release.crosstab`.
    """
    if family not in FAMILIES:
        raise PolicyError(Problem("RR541", f"no such family: {family!r}", expected=", ".join(FAMILIES)))
    asked = read_formula(formula)
    columns = {name: _column(release, name, formula) for name in (asked.outcome, *asked.covariates)}
    _refuse_uncategorised(release, columns.values())
    if asked.outcome in asked.covariates:
        raise PolicyError(Problem("RR541", f"{asked.outcome!r} is outcome and covariate"))
    of = tuple(columns.values())
    kept = complete_records(release, of, where)
    (table,) = release.tables(of, [of], where, kept.condition, target=target, level=level)
    refuse_biased([axis for axis, _ in table.axes], "a regression")
    cells = [{name: cell[columns[name]] for name in columns} for cell in group_values(table.by, table.groups)]
    told = {
        name: tuple(dict.fromkeys(cell[name] for cell in cells)) for name in columns
    }  # labels, where values have some
    _refuse_coarse(asked, told)
    design = CovariateDesign.of(asked, cells, {name: told[name] for name in asked.covariates})
    outcome, equations, yes = _outcome(
        asked, [cell[asked.outcome] for cell in cells], told[asked.outcome], family, success
    )
    if design.matrix.size * len(equations) > MOST_ENTRIES:
        hint = "leave covariates out, or bin them"
        raise PolicyError(
            Problem("RR268", f"{len(cells):,} cells times {design.matrix.shape[1]:,} terms are too many", hint=hint)
        )
    kind = FAMILIES[family]
    counts = table.moment_estimate.reshape(-1)
    root = solve_score(counts, design.matrix, outcome, kind)
    found: RegressionFit | None = None if root is None else Scores(root, table)
    if found is None and table.sample is None and not kept.condition.masks:
        told_by = {tuple(cell[name] for name in asked.covariates): None for cell in cells}
        number = {told: place for place, told in enumerate(told_by)}
        combination = np.array([number[tuple(cell[name] for name in asked.covariates)] for cell in cells])
        found = fit_likelihood(table, columns[asked.outcome], combination, design.matrix, outcome, kind)
    if found is None:
        hint = "take terms out or put categories together; shares and means by group ask less of the release"
        message = "this release does not determine the coefficients: neither scores nor likelihood have a solution"
        raise PolicyError(Problem("RR544", message, hint=hint))
    errors, stand_in = found.errors(np.eye(found.beta.size))
    estimator = MOMENT if root is not None else LIKELIHOOD
    marked = () if root is not None else (LIKELIHOOD,)
    estimate = found.beta.reshape(-1)
    flags = tuple((*marked, POPULATION_VARIANCE) if s and target == "table" else marked for s in stand_in.tolist())
    within = np.tile([[-np.inf, np.inf]], (len(estimate), 1))
    several = len(equations) > 1
    keys = tuple({**({"outcome": e} if several else {}), "term": t} for e in equations for t in design.terms)
    return Regression(
        **table.scope,
        by=(("outcome", "term") if several else ("term",)),
        keys=keys,
        estimate=estimate,
        errors=errors,
        range=within,
        estimator=(estimator,) * len(estimate),
        flags=flags,
        ends=score_sets(found, errors, table.sample)
        if is_testable(found)
        else normal_ends(estimate, errors, within, table.sample),
        notes=(*kept.notes, UNFLAGGED),
        formula=" ".join(formula.split()),
        family=family,
        success=yes,
        equations=equations,
        design=design,
        _fit=found,
        _values=len(told[asked.outcome]),
    )


def _column(release: Release, name: str, formula: str) -> str:
    """Return a column's exact name.

    Raises:
        PolicyError: RR262 if there is none; a name that formulas cut into words has to stand in backticks.
    """
    try:
        return release.columns.name(name)
    except PolicyError as error:
        cut = next((c for c in release.columns.columns if not c.isidentifier() and c in formula and name in c), None)
        if cut is None:
            raise
        hint = f"in a formula it has to stand in backticks: `{cut}`"
        raise PolicyError(Problem("RR262", f"{cut!r} is no word that a formula takes for a name", hint=hint)) from error


def _refuse_uncategorised(release: Release, columns: Iterable[str]) -> None:
    """Refuse columns without categories: the model is of a table of counts.

    Raises:
        PolicyError: RR263.
    """
    carried = [n for n in columns if n in release.columns.columns and release.columns.columns[n].kind == "carried"]
    if carried:
        many = "is" if len(carried) == 1 else "are"
        message = f"{quoted_list(carried)} {many} released without a list of categories"
        hint = (
            "a model takes columns with categories: the publisher gives them in the policy, as a `domain` or `bins`; "
            "means and sums by groups are estimated of such a column as it is"
        )
        raise PolicyError(Problem("RR263", message, expected="columns with categories", hint=hint))


def _refuse_coarse(asked: Formula, told: Mapping[str, Sequence[Value]]) -> None:
    """Refuse covariates that explain nothing.

    Raises:
        PolicyError: RR544.
    """
    for name in asked.covariates:
        if len(told[name]) == 1:
            message = f"{name!r} has one category in this release, {told[name][0]!r}, and explains nothing"
            raise PolicyError(Problem("RR544", message, hint="take it out of the formula"))


def _outcome(
    asked: Formula, values: Sequence[Value], domain: Sequence[Value], family: str, success: Sequence[Value] | None
) -> tuple[Array, tuple[Value, ...], tuple[Value, ...]]:
    """Return (cells, equations) the outcome, what the equations are of, and which categories count as yes.

    Raises:
        PolicyError: RR543 if the family is not one for such an outcome.
    """
    name = asked.outcome
    if family != "binomial" and success is not None:
        raise PolicyError(Problem("RR543", f"`success` is for the family 'binomial', not {family!r}"))
    if isinstance(FAMILIES[family], Multinomial):
        if len(domain) < 3:  # noqa: PLR2004 two categories are yes and no
            raise PolicyError(Problem("RR543", f"{name!r} has {len(domain)} categories", hint=_family_hint("binomial")))
        others = tuple(domain[1:])
        return np.array([[v == other for other in others] for v in values], dtype=np.float64), others, ()
    if family == "binomial":
        yes = tuple(success) if success is not None else tuple(domain[1:]) if len(domain) == 2 else ()  # noqa: PLR2004
        if not yes or len(set(yes)) == len(domain) or not set(yes) <= set(domain):
            listed = ", ".join([*map(repr, domain[:_LISTED]), *(["…"] if len(domain) > _LISTED else [])])
            given = ", ".join(map(repr, yes)) or "none"
            message = (
                f"of {name!r}, {given} cannot count as yes"
                if success is not None
                else (f"which categories of {name!r} count as yes is not said")
            )
            two = domain[-2:]
            shell = " ".join(f"--success {shell_quoted(str(v))}" for v in two)
            hint = f"in Python, `success={list(two)!r}`; in a shell, `{shell}`"
            raise PolicyError(Problem("RR543", message, expected=f"some of {listed}", hint=hint))
        return np.array([[v in yes] for v in values], dtype=np.float64), (name,), yes
    least = FAMILIES[family].least
    if not is_numeric(domain) or any(float(v) < least for v in domain):
        expected = "numbers" if np.isinf(least) else f"numbers from {least:g} on"
        message = f"the categories of {name!r} are not what the family {family!r} is of"
        words = [v for v in domain if not is_numeric([v])]
        if len(words) == len(domain) or not words:
            hint = _family_hint("binomial", "multinomial")
            raise PolicyError(Problem("RR543", message, expected=expected, hint=hint))
        message = f"{message}: {' and '.join(map(repr, words))} {'is no number' if len(words) == 1 else 'are none'}"
        hint = f"a condition leaves out the records: `{identifier(name)} NOT IN ({', '.join(map(literal, words))})`"
        raise PolicyError(Problem("RR543", message, expected=expected, hint=hint))
    return np.array([[float(v)] for v in values]), (name,), ()


def _fits_domain(value: Value | None, domain: Sequence[Value]) -> bool:
    if is_numeric(domain):
        return value is not None and is_numeric([value])
    return (MISSING if value is None else str(value)) in domain


def _family_hint(*names: str) -> str:
    """Return how to ask for one of some families, in Python and in a shell."""
    python, shell = " or ".join(f'"{name}"' for name in names), " or ".join(f"`--family {name}`" for name in names)
    return f"in Python, `family=` {python}; in a shell, {shell}"
