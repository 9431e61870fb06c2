"""A release in an analyst's hands: names, axes, and queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeAlias, TypeVar

import numpy as np

from rrpolicy.annotations import check_method_arguments
from rrpolicy.canonical_json import Value
from rrpolicy.counts import Array
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.columns import Columns
from rrpolicy.estimate.counts.condition import Condition, split
from rrpolicy.estimate.counts.grouping import count_of_records, ungrouped_condition_axes, weigh_groups
from rrpolicy.estimate.counts.missing import notes_on_condition
from rrpolicy.estimate.counts.scan import DataFile, count, manifest_mismatch_error
from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.estimate.invert.estimator import ESTIMATORS, Estimators, Inversion, counts_by
from rrpolicy.estimate.results.flags import MOMENT
from rrpolicy.estimate.results.table import BIASED_ESTIMATOR_METHOD, Crosstab
from rrpolicy.estimate.results.target import WEIGHTS_INSIDE, Target
from rrpolicy.estimate.weights.base import AxisWeights
from rrpolicy.estimate.weights.recode import refuse_biased
from rrpolicy.frozen import replace
from rrpolicy.manifest.manifest import Manifest

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from rrpolicy.estimate.association.association import Association
    from rrpolicy.estimate.association.independence import Independence
    from rrpolicy.estimate.association.loglinear import Loglinear
    from rrpolicy.estimate.bootstrap import Bootstrapped
    from rrpolicy.estimate.comparison.pairwise import Pairwise
    from rrpolicy.estimate.models.regression import Regression
    from rrpolicy.estimate.query.join import Given
    from rrpolicy.estimate.results.answer import Answer
    from rrpolicy.estimate.results.result import Result
    from rrpolicy.estimate.rules.rules import NamedRules, Rules
    from rrpolicy.estimate.sums.category_values import Limits
    from rrpolicy.estimate.sums.change import Changes
    from rrpolicy.estimate.sums.cube import Cube
    from rrpolicy.estimate.sums.means import Means, Totals
    from rrpolicy.estimate.sums.replicates import Replicates
    from rrpolicy.estimate.sums.shares import Shares
    from rrpolicy.estimate.survey.design import Alone, Design
    from rrpolicy.estimate.uncorrected.release_validity import Holds


def refuse_design(release: Release, what: str) -> None:
    """Refuse a statistic that is known for a simple random sample alone.

    Args:
        release: the release.
        what: the statistic in words.

    Raises:
        PolicyError: RR548.
    """
    if release.design is not None:
        message = f"{what} knows no design of a survey: its errors would be those of a simple random sample"
        expected = "counts, shares, means, totals, measures of association or models"
        hint = "`release.without_design()`, or --design none, estimates this table, unweighted"
        raise PolicyError(Problem("RR548", message, expected=expected, hint=hint))


_LISTED = (
    'one of a plugin is known once you list it: --plugin DISTRIBUTION, or open_release(..., plugins=["DISTRIBUTION"])'
)


_QuestionParams = ParamSpec("_QuestionParams")
_ResultT = TypeVar("_ResultT", bound="Result")
_Question: TypeAlias = "Callable[Concatenate[Release, _QuestionParams], _ResultT]"


def _note_missing_weights(question: _Question[_QuestionParams, _ResultT]) -> _Question[_QuestionParams, _ResultT]:
    """Decorator: mark results as not representative of the population if the survey's weights were withheld."""

    @wraps(question)
    def asked(release: Release, /, *args: _QuestionParams.args, **keys: _QuestionParams.kwargs) -> _ResultT:
        if not release.weights_inside:
            return question(release, *args, **keys)
        found = question(replace(release, withheld_design=None), *args, **keys)
        release.resolve_target(found.target)
        return replace(found, weights_inside=True)

    return asked


def _note_missing_values(question: _Question[_QuestionParams, _ResultT]) -> _Question[_QuestionParams, _ResultT]:
    """Decorator: note how many records a condition leaves out because they have no value of a compared column."""

    @wraps(question)
    def asked(release: Release, /, *args: _QuestionParams.args, **keys: _QuestionParams.kwargs) -> _ResultT:
        found = question(release, *args, **keys)
        notes = tuple(note for note in notes_on_condition(release, found.where) if note not in found.notes)
        return replace(found, notes=(*found.notes, *notes)) if notes else found

    return asked


@check_method_arguments
@dataclass(frozen=True)
class Release:
    """An opened release. Nothing is read before a query.

    Attributes:
        folder: the public/ folder.
        manifest: its release.json.
        columns: the released columns and how they are undone.
        data: the data file.
        estimators: the available estimators of tables, besides the unbiased one.
        design: design of the survey that the records come from, used for estimates of the population; None for a
            simple random sample.
        withheld_design: the design of a survey, without the weights, which the publisher withheld: it does not suffice
            for estimates of the population. None for any other release.
    """

    folder: Path
    manifest: Manifest = field(repr=False)
    columns: Columns = field(repr=False)
    data: DataFile
    estimators: Estimators = field(default_factory=lambda: ESTIMATORS, repr=False)
    design: Design | None = field(default=None, kw_only=True)
    withheld_design: Design | None = field(default=None, kw_only=True)

    @property
    def records(self) -> int:
        """Return N.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> release.records
            5000
        """
        return self.manifest.records

    @property
    def files(self) -> tuple[DataFile, ...]:
        """Return every released table."""
        return (self.data,)

    @property
    def max_records(self) -> int:
        """Return the most records that one person, or other unit of protection, may have."""
        return self.manifest.units.max_records

    @property
    def weights_inside(self) -> bool:
        """Return whether the survey's weights were withheld, so that its population cannot be estimated."""
        return self.design is None and self.withheld_design is not None

    def domain(self, column: str) -> tuple[Value, ...]:
        """Return the original categories of a released column, in domain order.

        Raises:
            PolicyError: RR262 if there is no such column, RR263 if it has no categories.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> release.domain("sex")
            ('female', 'male')
        """
        return self.columns.domain(column)

    def with_design(
        self,
        *,
        weight: str | None = None,
        strata: Sequence[str] | str = (),
        clusters: Sequence[str] | str = (),
        totals: Mapping[str, Mapping[Value, float]] | None = None,
        alone: Alone | None = None,
    ) -> Release:
        """Return the release as a sample of another design; arguments that are not given stay as in the release.

        Args:
            weight: the column with the number of people that a record represents.
            strata: columns whose combinations are the strata.
            clusters: columns whose combinations, inside a stratum, are the primary sampling units.
            totals: known numbers of people of the population, by column and category, such as
                `{"sex": {"F": 51_000, "M": 49_000}}`: estimates are calibrated to all of them together (linear
                calibration; of one column, post-stratification). The columns may have been randomised.
            alone: "refused": a stratum with one cluster is an error. "centred": its deviation is taken from the mean of
                all clusters, which makes errors larger rather than smaller.

        Raises:
            PolicyError: RR262 for a name that is not a column, RR545 for a column that cannot have the stated use,
                RR547 for totals that do not fit its categories or one another, RR549 where the publisher kept the
                weights and neither a weight nor totals are stated.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> people = release.with_design(totals={"sex": {"female": 51000, "male": 49000}})
            >>> people.resolve_target(None)
            'population'
        """
        from rrpolicy.estimate.survey.design import state_design

        known = self.design or self.withheld_design
        if self.weights_inside and weight is None and totals is None:
            raise PolicyError(WEIGHTS_INSIDE)
        return replace(self, design=state_design(self.columns, known, weight, strata, clusters, totals, alone))

    def without_design(self) -> Release:
        """Return the release as a table of records, of equal weight; of the population a simple random sample.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> people = release.with_design(totals={"sex": {"female": 51000, "male": 49000}})
            >>> people.without_design().resolve_target(None)
            'table'
        """
        return replace(self, design=None)

    def resolve_target(self, target: Target | None) -> Target:
        """Return the target of estimates: the given one, else the population if a design is known, else this table.

        Raises:
            PolicyError: RR549 for the population where the publisher kept the survey's weights.
        """
        if target == "population" and self.weights_inside:
            raise PolicyError(WEIGHTS_INSIDE)
        return target or ("table" if self.design is None else "population")

    @_note_missing_weights
    @_note_missing_values
    def crosstab(
        self,
        by: Sequence[str] | str = (),
        where: str | None = None,
        target: Target | None = None,
        level: float = LEVEL,
        *,
        estimator: str = MOMENT,
        spread: bool = False,
    ) -> Crosstab:
        """Estimate how many original records each combination of categories has; unbiased.

        One pass over the data; only the requested marginal is reconstructed, axis by axis. Generalised columns are
        counted by the labels that were released: nothing was drawn, and these counts are exact.

        Args:
            by: released names of category columns; none for a single count.
            where: a conjunction over released names, such as `age_group = '65+' AND sex IN ('F')`.
            target: "table": this table's counts, of which the release is a randomised image. "population": N times
                the shares in the population that the table is a random sample of. With a design, counts are weighted:
                "population", then the default, are people of it, with the error of the sample and of randomisation;
                "table" are sums of the original records' weights.
            level: confidence level of the intervals.
            estimator: "moment": unbiased, cells may be negative. "em": maximum likelihood among tables without
                negative cells. "projection": the nearest such table. Those of plugins go by their names. All but the
                first are biased, and sums of cells differ between queries; intervals belong to the moment estimate in
                every case.
            spread: count generalised columns by the original categories inside their labels. The estimate spreads a
                label evenly over its categories and is biased; low and high are certain.

        Raises:
            PolicyError: RR262-RR271 if a name, a value, the condition or the size is wrong, or the released values
                do not determine the count; RR278 if there is no such estimator.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> table = release.crosstab(by=["sex", "disease"], where="age_group = '65+'")
            >>> table.rows[0].group
            {'sex': 'female', 'disease': 'none'}
            >>> round(float(release.crosstab("sex").estimate.sum()), 6)  # estimates add up to the number of records
            5000.0
            >>> print(release.crosstab("sex").summary())
            Estimated counts by sex: ...
        """
        if spread:
            return self.disaggregate().crosstab(by, where, target, level, estimator=estimator)
        target = self.resolve_target(target)
        if estimator != MOMENT:
            refuse_design(self, f"the estimator {estimator!r}")
        if estimator != MOMENT and estimator not in self.estimators:
            known = ", ".join((MOMENT, *self.estimators))
            message = f"no such estimator: {estimator!r}"
            raise PolicyError(Problem("RR278", message, expected=f"one of {known}", hint=_LISTED))
        condition = split(where, self.columns)
        table = self._crosstab([by] if isinstance(by, str) else by, where, condition, target, level)
        if estimator == MOMENT:
            return table
        parts = (*(axis for axis, _ in table.axes), *condition.axes)
        refuse_biased(parts, "counts by another estimator")
        found, short = counts_by(self.estimators[estimator], Inversion(table, self.data, condition))
        told = BIASED_ESTIMATOR_METHOD.format(self.estimators[estimator].told)
        return table.constrained(found, f"{told}; {short}" if short else told)

    @_note_missing_values
    def change_since(
        self,
        earlier: Release,
        by: Sequence[str] | str = (),
        where: str | None = None,
        level: float = LEVEL,
        *,
        unchanged: float | None = None,
    ) -> Changes:
        """Estimate how counts changed since an earlier release: this table's less the earlier table's; unbiased.

        Two releases of a series randomise an unchanged person in the same way, so that their difference is more
        certain than that of independent releases. The releases do not show how many people have not changed.

        Args:
            earlier: a release with the same categories.
            by: see `crosstab`.
            where: see `crosstab`.
            level: level of the confidence intervals.
            unchanged: at least this share of the earlier release's people are in this one with the same values of the
                columns that `by` and `where` name, and are made up as all of them are. None assumes nothing, which
                gives standard errors that are too large rather than too small. Without a series it makes no difference.

        Raises:
            PolicyError: as `crosstab`; RR501 if the categories are others, or so many cannot be unchanged; RR288 if
                counts are spread inside groups.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> changes = rrpolicy.open_release("second").change_since(release, by="disease")
            >>> changes.keys[0]
            {'disease': 'none'}
        """
        from rrpolicy.estimate.sums.change import change

        refuse_design(self, "a change between tables")
        return change(self, earlier, by, where, level, unchanged)

    def disaggregate(self) -> Release:
        """Return the release with generalised columns counted by the original categories inside their labels.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> release.disaggregate().crosstab("sex").by
            ('sex',)
        """
        return replace(self, columns=self.columns.disaggregate())

    @_note_missing_weights
    @_note_missing_values
    def cube(
        self,
        by: Sequence[str],
        where: str | None = None,
        target: Target | None = None,
        level: float = LEVEL,
        *,
        spread: bool = False,
    ) -> Cube:
        """Estimate the table of every subset of some columns, the grand total included, in one pass over the data.

        Args:
            by: released names of category columns.
            where: see `crosstab`.
            target: see `crosstab`.
            level: see `crosstab`.
            spread: see `crosstab`.

        Raises:
            PolicyError: as `crosstab`; RR268 for more than 12 columns.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> [table.by for table in release.cube(["sex", "age_group"]).tables]
            [(), ('sex',), ('age_group',), ('sex', 'age_group')]
        """
        from rrpolicy.estimate.sums.cube import cube

        return cube(self.disaggregate() if spread else self, by, where, self.resolve_target(target), level)

    @_note_missing_weights
    @_note_missing_values
    def mean(
        self,
        value: str,
        by: Sequence[str] | str = (),
        where: str | None = None,
        *,
        target: Target | None = None,
        level: float = LEVEL,
        values: Mapping[Value, float | None] | None = None,
        limits: Limits = (None, None),
    ) -> Means:
        """Estimate means by groups of randomised columns: ratios of weighted sums, delta-method standard errors.

        The mean of a column that was released in bins lies between that of their lower edges and that of their upper
        edges: low and high allow for both, and for the draw; the estimate is by the middles.

        Args:
            value: a column of numbers that is released unmodified, or one whose categories are numbers, or bins of
                them.
            by: see `crosstab`.
            where: see `crosstab`.
            target: see `crosstab`.
            level: see `crosstab`.
            values: a number for each category, such as `{"[0, 35)": 20, "[35, 65)": 50, "unknown": None}`: the mean of
                these numbers, with its standard error, not that of the column. Records of a category with None, or of
                missing values, are left out.
            limits: the least and the largest number in the column, if its first or last bin has no end; None for
                unknown.

        Raises:
            PolicyError: as `crosstab`; RR274 if the column contains no numbers, or is a grouping column as well;
                RR532 for values or limits that do not fit its categories.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> means = release.mean("hours", by="sex")
            >>> means.keys
            ({'sex': 'female'}, {'sex': 'male'})
            >>> means.to_frame().columns.to_list()[:5]
            ['sex', 'estimate', 'se', 'low', 'high']
        """
        from rrpolicy.estimate.sums.means import Means, estimate_numbers

        target = self.resolve_target(target)
        return estimate_numbers(Means, self, value, by, where, target=target, level=level, values=values, limits=limits)

    @_note_missing_weights
    @_note_missing_values
    def totals(
        self,
        value: str,
        by: Sequence[str] | str = (),
        where: str | None = None,
        *,
        target: Target | None = None,
        level: float = LEVEL,
        values: Mapping[Value, float | None] | None = None,
        limits: Limits = (None, None),
    ) -> Totals:
        """Estimate totals of a column of numbers by groups: weighted sums, unbiased; intervals are normal.

        Records without a number are left out. Of bins, low and high allow for both edges, as for `mean`.

        Args:
            value: see `mean`.
            by: see `crosstab`.
            where: see `crosstab`.
            target: see `crosstab`.
            level: see `crosstab`.
            values: see `mean`.
            limits: see `mean`.

        Raises:
            PolicyError: as `mean`.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> totals = release.totals("hours", by="disease", where="sex = 'male'")
            >>> len(totals.estimate)
            7
        """
        from rrpolicy.estimate.sums.means import Totals, estimate_numbers

        target = self.resolve_target(target)
        return estimate_numbers(
            Totals, self, value, by, where, target=target, level=level, values=values, limits=limits
        )

    @_note_missing_weights
    @_note_missing_values
    def shares(
        self,
        by: Sequence[str] | str = (),
        within: Sequence[str] | str = (),
        where: str | None = None,
        *,
        part: str | None = None,
        target: Target | None = None,
        level: float = LEVEL,
    ) -> Shares:
        """Estimate shares of larger groups that lie in smaller ones: ratios of corrected counts, by the same records.

        `shares("disease", within="sex")` gives the distribution of the disease in each sex,
        `shares(within="sex", part="disease = 'flu'")` the share with flu in each sex. Intervals are Fieller's; where
        nothing was randomised they are Wilson's.

        Args:
            by: names of category columns that the smaller groups are formed by; those of `within` may be left out.
            within: names of those that the larger groups are formed by; none for all records.
            where: see `crosstab`; it applies to both groups.
            part: a condition on the records of the smaller groups alone.
            target: see `crosstab`.
            level: see `crosstab`.

        Raises:
            PolicyError: as `crosstab`; RR288 where labels of a column are cut and another one was randomised.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> shares = release.shares(by=["sex", "disease"], within="sex")
            >>> shares.keys[0]
            {'sex': 'female', 'disease': 'none'}
        """
        from rrpolicy.estimate.sums.shares import shares

        by, within = ([names] if isinstance(names, str) else list(names) for names in (by, within))
        smaller = [*(name for name in within if name not in by), *by]
        return shares(self, smaller, within, where=where, part=part, target=self.resolve_target(target), level=level)

    @_note_missing_weights
    @_note_missing_values
    def association(
        self,
        row: str,
        column: str,
        measure: str | Sequence[str] | None = None,
        where: str | None = None,
        *,
        present: tuple[Sequence[Value], Sequence[Value]] | None = None,
        target: Target | None = None,
        level: float = LEVEL,
        spread: bool = False,
        deflate: bool = False,
    ) -> Association:
        """Estimate measures of association of two columns from their corrected table.

        Args:
            row: a category column.
            column: another one.
            measure: a name or several of `rrpolicy.estimate.association.measures.MEASURES`; None for all that are
                defined here.
            where: see `crosstab`.
            present: the categories of each that count as present; makes a 2 x 2 table of any. Default for two
                categories: the second.
            target: see `crosstab`.
            level: see `crosstab`.
            spread: describe counts that are spread evenly inside released groups, of generalised and of dealt columns:
                without errors and intervals, and drawn towards independence. Every row is flagged. Of two categories
                by two whose margins are exact, as those of dealt columns are, low and high are certain bounds.
            deflate: take the point estimates without the association that the errors of randomised values put into
                a corrected table (`rrpolicy.estimate.association.deflation`): chi-square, I, M, U and V of it are
                up to several times the true ones otherwise. They are not unbiased and have no standard error;
                intervals are those of score tests, of tables of up to 36 cells, and larger ones have none.

        Raises:
            PolicyError: as `crosstab`; RR288 if counts are spread, or labels overlap, and `spread` is false; RR273 if
                a measure is unknown or not defined for this table; RR278 to deflate a table under a condition, or of
                two columns that one set hides.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> found = release.association("sex", "disease", "cramers_v")
            >>> found.keys
            ({'measure': 'cramers_v'},)
        """
        from rrpolicy.estimate.association.association import association, find_measure

        target = self.resolve_target(target)
        names = [measure] if isinstance(measure, str) else measure
        measures = None if names is None else [find_measure(name) for name in names]
        if deflate:
            refuse_design(self, "`deflate`")
        if spread:
            from rrpolicy.estimate.association.association import spread_association

            table = self.crosstab([row, column], where, target, level, spread=True)
            if table.biased:
                return spread_association(self.disaggregate(), table, measures, present)
        return association(
            self,
            row,
            column,
            measures=measures,
            where=where,
            present=present,
            target=target,
            level=level,
            deflate=deflate,
        )

    @_note_missing_weights
    @_note_missing_values
    def glm(
        self,
        formula: str,
        family: str = "gaussian",
        where: str | None = None,
        *,
        success: Sequence[Value] | None = None,
        target: Target | None = None,
        level: float = LEVEL,
    ) -> Regression:
        """Fit a regression model to the original table: linear, logistic, Poisson or multinomial, without bias.

        Outcome and covariates may have been randomised, by whatever released them: corrected scores are solved, and
        errors are those of draw and sample (`rrpolicy.estimate.models.scores`). Where corrected counts leave them
        without a solution, as strong randomisation of few records may, logistic and multinomial models are fitted by
        maximum likelihood, and marked so (`rrpolicy.estimate.models.likelihood`).

        Args:
            formula: `outcome ~ terms` in the language of formulaic, over released names. Categories that are numbers
                are covariates as they are, other ones are compared with the first of their domain.
            family: "gaussian" (least squares), "binomial" (logistic), "poisson" or "multinomial".
            where: see `crosstab`.
            success: for "binomial", the categories that count as yes; by default the second of two.
            target: "table": the coefficients that a fit to the original table gives. "population": those of the
                population that it is a random sample of; errors are then those that a fit to the original has, and
                more. With a design, the default; both are weighted.
            level: level of the intervals.

        Raises:
            PolicyError: as `crosstab`; RR540 if formulaic is not installed, RR541 for a formula or family that cannot
                be read, RR543 for an outcome that the family is not of, RR544 if the release does not determine it;
                RR288 if counts are spread inside released groups.

        Examples:
            >>> release = rrpolicy.open_release("study")
            >>> fit = release.glm("disease ~ sex", "binomial", success=["none"])
            >>> [key["term"] for key in fit.keys]
            ['Intercept', 'sex[T.male]']
        """
        from rrpolicy.estimate.models.regression import regression

        return regression(self, formula, family, success, where, self.resolve_target(target), level)

    def independence(self, row: str, column: str, where: str | None = None, method: str | None = None) -> Independence:
        """Test whether two columns are independent in the population that the table is a sample of.

        Args:
            row: a category column.
            column: another one.
            where: see `crosstab`.
            method: "released": Pearson's chi-square on the released table unmodified; its level is right, and its
                power is lower. "score": by the covariance that the corrected table has under independence, of tables
                of up to 36 cells. "wald": by that of the corrected table itself, which rejects too often where
                expected cells are small. "rao-scott": Pearson's chi-square of the corrected table, corrected by its
                covariance, which is also that of a design (Rao, Scott 1984). None: where a design is known, and of
                larger tables, the last; else the first, and the score test where it is not valid. Never on a
                corrected table by the chi-square law: that rejects half the time at independence.

        Raises:
            PolicyError: as `crosstab`; RR276 if the requested test is not valid, RR288 if labels of a column overlap,
                RR548 if it is not defined for a survey design.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> test = release.independence("sex", "disease")
            >>> test.method
            "Pearson's chi-square on the released table (level kept, power lost)"
            >>> 0 <= test.p_value <= 1
            True
        """
        from rrpolicy.estimate.association.independence import independence

        self.resolve_target("population")
        if method in {"released", "score", "wald"}:
            refuse_design(self, f"the test {method!r}")
        return independence(self, row, column, where, method)

    @_note_missing_weights
    @_note_missing_values
    def rules(
        self,
        min_support: float,
        min_confidence: float,
        columns: Sequence[str] | None = None,
        where: str | None = None,
        *,
        longest: int = 3,
        present: Sequence[Value] | None = None,
        target: Target | None = None,
        level: float = LEVEL,
    ) -> Rules:
        """Estimate association rules "categories of some columns -> a category of another".

        A rule is listed if its estimates reach the thresholds, unless the interval of the support of a part of it, one
        category or several, ends below the least support: no set of categories is more frequent than a part of it.

        Args:
            min_support: least share of records with all categories of the rule.
            min_confidence: least share with the last category among those with the others.
            columns: the columns to combine; default every category column.
            where: see `crosstab`.
            longest: most columns in a rule.
            present: categories that count as present, such as `["yes"]`: of a column that has one of them no other is
                in a rule. Default: rules are of every category.
            target: see `crosstab`.
            level: see `crosstab`.

        Raises:
            PolicyError: as `crosstab`; RR277 for thresholds that are not shares, categories that no column has, or
                too many candidates; RR288 where labels of a column overlap.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> rules = release.rules(0.3, 0.5, columns=["sex", "disease"])
            >>> rules.to_frame().columns.to_list()[:3]
            ['given', 'then', 'support']
        """
        from rrpolicy.estimate.rules.rules import rules

        refuse_design(self, "a search for association rules")
        return rules(
            self,
            min_support,
            min_confidence,
            columns,
            where=where,
            longest=longest,
            present=present,
            target=self.resolve_target(target),
            level=level,
        )

    @_note_missing_weights
    @_note_missing_values
    def rule(
        self,
        rules: str | Sequence[str],
        where: str | None = None,
        *,
        target: Target | None = None,
        level: float = LEVEL,
    ) -> NamedRules:
        """Estimate support and confidence of rules that are named, such as `sex = f, region = north -> disease = flu`.

        The intervals are valid for a rule that was named before the data were seen; those of `rules` were chosen by
        their estimates.

        Args:
            rules: one or several, as results write them: columns with categories, `->`, and what follows. Names with
                other characters are in double quotes, categories with commas or quotes in single quotes.
            where: see `crosstab`.
            target: see `crosstab`.
            level: see `crosstab`.

        Raises:
            PolicyError: RR262, RR263 for names that are not columns with categories, RR265 for a value that is not
                one of their categories, RR277 for text that is not a rule, RR288 if labels of a column overlap; else
                as `crosstab`.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> rules = release.rule("sex = female -> disease = none")
            >>> rules.items
            (((('sex', 'female'),), ('disease', 'none')),)
        """
        from rrpolicy.estimate.rules.rules import named_rules

        refuse_design(self, "a question about association rules")
        asked = [rules] if isinstance(rules, str) else rules
        return named_rules(self, asked, where=where, target=self.resolve_target(target), level=level)

    def replicates(self, by: Sequence[str] | str, where: str | None = None) -> Replicates:
        """Return the corrected table with replicate weights, from which any survey package computes right errors.

        Errors are those of the population that the table is a random sample of: of randomisation and sampling together.
        Sums and shares have those of `crosstab` and `query`; of other statistics they are the jackknife's. With a
        design each replicate leaves out one of its clusters.

        Args:
            by: released names of category columns: all that an analysis needs.
            where: see `crosstab`.

        Raises:
            PolicyError: as `crosstab`; RR247 if a unit may have several records; RR288 if counts are spread inside
                released groups; RR279 for sets; RR514 for too many cells.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> table = release.replicates(by=["sex", "region"])
            >>> len(table.weights)
            16
        """
        from rrpolicy.estimate.sums.replicates import replicates

        self.resolve_target("population")
        return replicates(self, [by] if isinstance(by, str) else by, where)

    @_note_missing_values
    def loglinear(self, formula: str, where: str | None = None) -> Loglinear:
        """Fit a hierarchical loglinear model to the corrected table, and decide whether it survives randomisation.

        Args:
            formula: such as `sex*education + disease`; names with other characters in backticks.
            where: see `crosstab`.

        Raises:
            PolicyError: as `crosstab`; RR275 if the formula cannot be read, RR288 where labels of a column overlap.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> release.loglinear("sex + disease").model.terms
            (('sex',), ('disease',))
        """
        from rrpolicy.estimate.association.loglinear import loglinear

        refuse_design(self, "a loglinear model")
        self.resolve_target("population")
        return loglinear(self, formula, where)

    def to_pandas(self) -> pd.DataFrame:
        """Return the released records as a pandas frame that knows the release: `frame.rrpolicy.crosstab("sex")`.

        Rows are the released ones, categories in the order of their domain. `frame.rrpolicy` has `crosstab`, `mean`
        and `query`, which estimate from the release and return frames; they refuse a frame from which rows were
        removed.

        Raises:
            PolicyError: RR269 if the data differ from the manifest. Of the accessor: RR516, RR517.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> frame = release.to_pandas()
            >>> len(frame)
            5000
            >>> frame.rrpolicy.crosstab("sex")["sex"].to_list()
            ['female', 'male']
        """
        from rrpolicy.estimate.frames import to_pandas

        return to_pandas(self)

    def to_polars(self) -> pl.DataFrame:
        """Return the released records as a polars frame that knows the release; see `to_pandas`.

        Whatever makes another frame of it forgets the release.

        Raises:
            PolicyError: RR518 if polars is not installed; else as `to_pandas`.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> release.to_polars().height
            5000
        """
        from rrpolicy.estimate.frames import to_polars

        return to_polars(self)

    def what_holds(self) -> Holds:
        """Return which analyses of the released data, uncorrected, stay valid, which keep order, and which do not.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> first = release.what_holds().statements[0]
            >>> first.columns, first.verdict
            (('hours',), 'valid')
        """
        from rrpolicy.estimate.uncorrected.release_validity import what_holds

        return what_holds(self)

    @_note_missing_weights
    def query(
        self,
        sql: str,
        target: Target | None = None,
        level: float = LEVEL,
        *,
        tables: Mapping[str, Given] | None = None,
        limits: Mapping[str, Limits] | None = None,
    ) -> Answer:
        """Estimate the result of `SELECT columns, aggregates FROM release WHERE … GROUP BY … HAVING …`.

        Aggregates are count(*), sum(…) and avg(…) of numbers, each with FILTER; share(); a count divided by count(*)
        or by sum(count(*)) OVER (PARTITION BY …); min(…) and max(…) where nothing was randomised, which are exact.
        GROUPING SETS, CUBE, ROLLUP, ORDER BY and LIMIT do as in DuckDB; HAVING chooses rows by estimates.

        Args:
            sql: parsed and never executed.
            target: see `crosstab`.
            level: see `crosstab`.
            tables: small tables of your own by name, with a row for each category of a released column: CSV files,
                data frames, or columns by name. `JOIN labels ON release.region = labels.code` groups by their
                columns.
            limits: limits of columns in bins under avg or sum, by name; see `mean`.

        Raises:
            PolicyError: RR272 for a part that cannot be corrected or is not supported, with the reason; RR508 for a
                table that cannot be joined; RR532 for limits that do not fit; else as `crosstab`.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> answer = release.query("SELECT sex, count(*) AS n FROM release GROUP BY sex ORDER BY sex")
            >>> answer.to_frame().columns.to_list()[:5]
            ['sex', 'n', 'n_se', 'n_low', 'n_high']
        """
        from rrpolicy.estimate.query.answer import answer

        return answer(self, sql, self.resolve_target(target), level, tables, limits)

    def bootstrap(self, question: Callable[[Release], Result], draws: int = 999, seed: int = 0) -> Bootstrapped:
        """Repeat a question on releases that are drawn from the likeliest original table, for errors and intervals.

        For estimates whose own error is not known: other estimators, deflated measures, measures of tables with cells
        below 0. For the population original tables are drawn, for this table it is kept; records are randomised again
        by the published matrices. Intervals are percentiles of the draws; where most draws lie to one side of the
        estimate, the row has a flag.

        Args:
            question: the question, such as `lambda r: r.crosstab("disease", estimator="em")`; it counts by columns
                with categories.
            draws: number of drawn releases, 50 to 100,000.
            seed: seed of the draws; the same seed gives the same result.

        Raises:
            PolicyError: RR509 for a question that cannot be bootstrapped; RR278 for a column that is not released
                through a matrix; else as the question.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> found = release.bootstrap(lambda r: r.crosstab("sex", estimator="em"), draws=50)
            >>> found.draws[0].shape  # draws, rows
            (50, 2)
        """
        from rrpolicy.estimate.bootstrap import bootstrap

        refuse_design(self, "a bootstrap of randomisation")
        return bootstrap(self, question, draws, seed)

    def pairwise(self, question: str | Callable[[Release], Result]) -> Pairwise:
        """Compare every two rows of a result: their difference, whether it is significant, and the largest row.

        The rows of one release depend on one another; the covariance that their record weights have is known exactly,
        and taken into account. Each difference has an interval, a p-value, and a p-value that is adjusted for all
        pairs (Holm 1979): if the adjusted one is small, the two differ, however many pairs were compared.

        Args:
            question: SQL as for `query`, or a function of a release, such as `lambda r: r.mean("hours",
                by="region")`; of counts, shares or means by groups, 2 to 100 rows.

        Raises:
            PolicyError: RR288 if counts are spread inside groups; RR573 for rows whose covariance is unknown, or too
                many of them; else as the question.

        Examples:
            >>> release = rrpolicy.open_release("release")
            >>> found = release.pairwise(lambda r: r.mean("hours", by="age_group"))
            >>> len(found.to_frame())
            6
        """
        from rrpolicy.estimate.comparison.pairwise import pairwise

        return pairwise(self, question)

    def tables(
        self,
        by: Sequence[str],
        subsets: Sequence[Sequence[str]],
        where: str | None,
        condition: Condition,
        *,
        target: Target,
        level: float,
    ) -> list[Crosstab]:
        """Estimate tables by subsets of some columns, in one pass; see `rrpolicy.estimate.sums.cube.tables`."""
        from rrpolicy.estimate.sums.cube import tables

        return tables(self, by, subsets, where, condition, target=target, level=level)

    def _crosstab(
        self, by: Sequence[str], where: str | None, condition: Condition, target: Target, level: float
    ) -> Crosstab:
        from rrpolicy.estimate.sums.cube import tables

        (table,) = tables(self, by, [by], where, condition, target=target, level=level)
        return table

    def lower_bounds(self, axes: Sequence[AxisWeights], condition: Condition) -> Array | None:
        """Return, by released cells of the axes, the records that are certain to satisfy a condition.

        None where all that is counted is unbiased; NaN where values besides may have been exchanged: then nothing is.
        """
        others = ungrouped_condition_axes(axes, condition)
        all_axes = (*axes, *(axis for axis, _ in others))
        if all(axis.unbiased for axis in all_axes):
            return None
        exchanged = any(axis.unbiased and axis.randomised for axis in all_axes)
        codes, n = count(self.data, [*axes, *(axis for axis, _ in others)], condition.filter, condition.parameters)
        cells = weigh_groups(axes, others, codes, len(n))
        return cells.sums(n * (cells.weight >= 1).astype(float)) * (np.nan if exchanged else 1.0)

    def for_columns(self, names: Iterable[str]) -> Release:
        """Return the release as it is read for a question that names these columns alone."""
        del names
        return self

    def weight_sums(self, axes: Sequence[AxisWeights], condition: Condition) -> tuple[Array, Array, Array]:
        """Return, by released cells of the axes, sums of w, w^2 and of records, w the weight of the condition."""
        others = ungrouped_condition_axes(axes, condition)
        codes, n = count(self.data, [*axes, *(axis for axis, _ in others)], condition.filter, condition.parameters)
        found = count_of_records(axes, codes, n)
        if not condition.filter and found != self.records:
            raise manifest_mismatch_error(f"it has {found} records, not {self.records}")
        cells = weigh_groups(axes, others, codes, len(n))
        return (cells.sums(n * cells.weight), cells.sums(n * cells.weight**2), cells.sums(n * cells.speaks))
