"""How two columns go together: measures of the corrected two-way table, with standard errors and intervals.

se^2 = gradient' Sigma gradient with Sigma the covariance of the moment estimate of the counts (delta method; Guo 2010,
chapter 3). Where a cell or margin that a measure needs is not positive, the maximum likelihood table takes the place of
the moment estimate, without a standard error. Intervals do not rest on these errors: they are the values of the measure
over all tables that a score test does not reject (`rrpolicy.estimate.association.region`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rrpolicy.canonical_json import Json, Value
from rrpolicy.counts import Array
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.shell import shell_quoted
from rrpolicy.estimate.association.deflation import deflate_coupled_table, deflate_table
from rrpolicy.estimate.association.measure_ranges import range_over_region
from rrpolicy.estimate.association.measures import MEASURES, AssociationMeasure, MeasureKind, drop_empty_categories
from rrpolicy.estimate.association.region import score_region
from rrpolicy.estimate.association.two_way_table import TwoWayTable, two_way_table
from rrpolicy.estimate.counts.overlap import refuse_overlap
from rrpolicy.estimate.results.chart_layout import PlottedQuantity
from rrpolicy.estimate.results.estimates import Estimates
from rrpolicy.estimate.results.flags import (
    DEFLATED,
    LARGE,
    LINEARISED,
    MAXIMUM_LIKELIHOOD,
    MOMENT,
    NOT_ESTIMABLE,
    POPULATION_VARIANCE,
)
from rrpolicy.estimate.results.intervals import Ends, normal_ends, table_variance
from rrpolicy.estimate.results.target import Target
from rrpolicy.estimate.weights.base import Mask, MatrixWeights, RetentionWeights
from rrpolicy.frozen_dataclass import frozen
from rrpolicy.plotting.chart import ChartReferenceLine

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release
    from rrpolicy.estimate.results.table import Crosstab

ALIASES: Mapping[str, str] = {
    "i": "mutual_information",
    "lift": "interest",
    "uncertainty_coefficient": "u",
    "odds": "odds_ratio",
    "j": "j_measure",
    "piatetsky_shapiro": "ps",
    "v": "cramers_v",
    "cramer's_v": "cramers_v",
    "cramér's_v": "cramers_v",
}


@frozen(slots=False, kw_only=True)
class Association(Estimates):
    """Measures of association of two columns; `keys` name the measure.

    Attributes:
        row: the column in the rows.
        column: the column in the columns.
        present: the categories that count as present in a 2 x 2 table; None if there is none.
    """

    schema: ClassVar[str] = "rrpolicy.association/1"

    row: str
    column: str
    present: tuple[tuple[Value, ...], tuple[Value, ...]] | None = field(default=None)

    @property
    def same_unit(self) -> bool:
        """Return False: each measure has a unit of its own."""
        return False

    @property
    def title(self) -> str:
        """Return what is measured, and what counts as present."""
        if self.present is None:
            return f"Association of {self.row} (rows) and {self.column} (columns)"
        row, column = (" or ".join(map(str, p)) for p in self.present)
        return f"Association of {self.row} (row, present: {row}) and {self.column} (column, present: {column})"

    def all_notes(self) -> tuple[str, ...]:
        """Return the notes, first of the measures that have a direction, which it is."""
        names = [str(key["measure"]) for key in self.keys]
        told: dict[str, list[str]] = {}
        for name in names:
            direction = MEASURES[name].title.partition(": ")[2] if name in MEASURES else ""
            told.setdefault(direction, []).append(name)
        either = told.pop("", [])
        said = [f"{', '.join(of)}: {direction}" for direction, of in told.items()]
        said += ["the other measures are the same either way"] if said and either else []
        return (*said, *super().all_notes())

    def plotted_quantities(self) -> tuple[PlottedQuantity, ...]:
        """Return the measures, those of a kind on one axis."""
        kinds: dict[MeasureKind, list[int]] = {}
        for i, key in enumerate(self.keys):
            kinds.setdefault(MEASURES[str(key["measure"])].kind, []).append(i)
        return tuple(
            PlottedQuantity(
                self.quantity,
                f"{kind.title}, on a logarithmic axis" if kind.factors else kind.title,
                tuple(rows),
                None if kind.independent is None else ChartReferenceLine(kind.independent, "independence"),
                factors=kind.factors,
            )
            for kind, rows in kinds.items()
        )

    def metadata(self) -> dict[str, Json]:
        """Return the columns, and what counts as present in each."""
        present: Json = None if self.present is None else [list(values) for values in self.present]
        return {**super().metadata(), "row": self.row, "column": self.column, "present": present}

    def __getitem__(self, measure: str) -> float:
        """Return one estimate by the name of its measure."""
        return float(self.estimate[[k["measure"] for k in self.keys].index(find_measure(measure).name)])


def association(
    release: Release,
    row: str,
    column: str,
    *,
    measures: Sequence[AssociationMeasure] | None,
    where: str | None,
    present: tuple[Sequence[Value], Sequence[Value]] | None,
    target: Target,
    level: float,
    deflate: bool = False,
) -> Association:
    """Estimate measures of association; `Release.association` says how.

    Raises:
        PolicyError: RR273 if a measure is not defined for this table; RR278 if it cannot be deflated; RR288 where
            labels overlap.
    """
    refuse_overlap(release, [row, column], where, "an association")
    asked = release.crosstab([row, column], where, target, level)
    whole = two_way_table(asked)
    table, chosen = dichotomise(whole, present)
    chosen_measures = select_measures(measures, table)
    likely: list[Array] = []

    def likeliest() -> Array:
        if not likely:
            again = two_way_table(release.crosstab([row, column], where, target, level, estimator="em"))
            likely.append(dichotomise(again, present)[0].estimate)
        return likely[0]

    if deflate:
        shrunk = dichotomise(_deflate_estimate(asked, whole), present)[0].estimate
        rows = [_measure_of_deflated_table(m, shrunk) for m in chosen_measures]
    else:
        rows = [_estimate_measure(m, table, target, likeliest) for m in chosen_measures]
    estimate = np.array([r.value for r in rows])
    errors: dict[Target, Array] = {t: np.array([r.errors[t] for r in rows]) for t in ("table", "population")}
    within = np.array([[m.low, m.high] for m in chosen_measures])
    everybody = where is None
    tested = (
        _score_test_intervals(table, chosen_measures, estimate, within, asked.records, everybody=everybody)
        if asked.sample is None
        else None
    )
    untested = LARGE if asked.sample is None else LINEARISED
    return Association(
        **asked.scope,
        by=("measure",),
        keys=tuple({"measure": m.name} for m in chosen_measures),
        estimate=estimate,
        errors=errors,
        range=within,
        estimator=tuple(r.estimator for r in rows),
        flags=tuple(r.flags if tested else (*r.flags, untested) for r in rows),
        ends=tested or normal_ends(estimate, errors, within, asked.sample),
        row=asked.by[0],
        column=asked.by[1],
        present=chosen,
    )


def find_measure(name: str) -> AssociationMeasure:
    """Return a measure by its name or another name of it; the case of letters does not matter.

    Raises:
        PolicyError: RR273 if there is none.
    """
    folded = name.casefold().replace("-", "_").replace(" ", "_")
    found = ALIASES.get(folded, folded)
    if found not in MEASURES:
        raise PolicyError(Problem("RR273", f"no such measure: {name!r}", hint=f"measures are {', '.join(MEASURES)}"))
    return MEASURES[found]


@frozen
class _MeasureEstimate:
    value: float
    errors: Mapping[Target, float]
    estimator: str
    flags: tuple[str, ...]


_NOISE = 1e-12
_NO_ERRORS: Mapping[Target, float] = {"table": np.nan, "population": np.nan}


def _score_test_intervals(
    table: TwoWayTable,
    measures: Sequence[AssociationMeasure],
    estimate: Array,
    within: Array,
    records: int,
    *,
    everybody: bool,
) -> Ends | None:
    """Return intervals by score tests; None where the error is not known at other tables than the estimate."""
    products = table.products()
    if products is None:
        return None
    cross = table.covariance["table"] + np.diag(table.estimate.reshape(-1))
    low, high = within.T

    @cache
    def ends(level: float, target: Target) -> Array:
        region = score_region(
            table.estimate, products, cross,
            known=table.exact_zero, records=float(records), everybody=everybody, population=target == "population",
        )  # fmt: skip
        found = range_over_region(region, measures, level)
        # a point estimate stands in its interval, and neither leaves what is possible
        least, most = np.fmin(found[:, 0], estimate), np.fmax(found[:, 1], estimate)
        # where no table of the region defines a measure nothing speaks against any value
        least, most = np.where(np.isnan(least), low, least), np.where(np.isnan(most), high, most)
        return np.asarray(np.clip(np.stack([least, most], axis=1), low[:, None], high[:, None]))

    return ends


def _estimate_measure(
    measure: AssociationMeasure, table: TwoWayTable, target: Target, likeliest: Callable[[], Array]
) -> _MeasureEstimate:
    with np.errstate(all="ignore"):
        value, gradient = measure.of(table.estimate)
    flat = np.where(table.exact_zero, 0.0, gradient).reshape(-1)
    # with cells below 0 a denominator can vanish where all margins are positive
    if is_defined(measure, table.estimate, table.exact_zero) and np.isfinite([value, *flat]).all():
        of_this, sampled = (flat @ table.covariance[t] @ flat for t in ("table", "population"))
        size = flat**2 @ np.abs(np.diag(table.covariance["population"]))
        sampled = np.where(np.abs(sampled) <= _NOISE * size, 0.0, sampled)
        variance, stand_in = table_variance(of_this, np.zeros(()), sampled, at=(of_this, size), rounding=_NOISE)
        errors: dict[Target, float] = {"table": float(np.sqrt(variance)), "population": float(np.sqrt(sampled))}
        flags = (POPULATION_VARIANCE,) if stand_in and target == "table" else ()
        return _MeasureEstimate(float(value), errors, MOMENT, flags)
    proper = _maximum_likelihood_table(measure, likeliest)
    if proper is not None:
        with np.errstate(all="ignore"):
            value = measure.of(proper)[0]
        return _MeasureEstimate(float(value), _NO_ERRORS, MAXIMUM_LIKELIHOOD, ())
    return _MeasureEstimate(np.nan, _NO_ERRORS, NOT_ESTIMABLE, ())


def _deflate_estimate(asked: Crosstab, table: TwoWayTable) -> TwoWayTable:
    """Return a table without the association that randomisation alone puts into it.

    Raises:
        PolicyError: RR278 with a condition, and of two columns that one set hides.
    """
    if asked.where is not None:
        hint = "leave the condition out, or `deflate`"
        raise PolicyError(Problem("RR278", "a table under a condition is not deflated", hint=hint))
    counted, axes = asked.released, table.axes
    if len(axes) > 1:
        shares = deflate_table(counted, *axes)
    elif isinstance(axes[0][0], (RetentionWeights, MatrixWeights)):
        shares = deflate_coupled_table(counted.reshape(-1), axes[0], (len(table.rows), len(table.columns)))
    else:
        message = "two columns that are hidden in one set are not deflated"
        raise PolicyError(Problem("RR278", message, hint="leave `deflate` out"))
    return replace(table, estimate=shares * asked.records)


def _measure_of_deflated_table(measure: AssociationMeasure, table: Array) -> _MeasureEstimate:
    """Return a measure of a deflated table; of one that needs its cells, with those below 0 as 0."""
    value = value_of(measure, table if measure.needs == "margins" else np.maximum(table, 0.0))
    known = bool(np.isfinite(value))
    return _MeasureEstimate(value, _NO_ERRORS, DEFLATED if known else NOT_ESTIMABLE, (DEFLATED,) if known else ())


def value_of(measure: AssociationMeasure, table: Array) -> float:
    """Return a measure of a table, of r x c without empty categories; NaN where it is not defined."""
    if measure.shape == "rxc":
        table = drop_empty_categories(table)
        possible = min(table.shape, default=0) > 1
    else:
        possible = is_defined(measure, table, np.zeros(table.shape, dtype=bool))
    with np.errstate(all="ignore"):
        return float(measure.of(table)[0]) if possible else float("nan")


def _maximum_likelihood_table(measure: AssociationMeasure, likeliest: Callable[[], Array]) -> Array | None:
    """Return the maximum likelihood table, without empty categories, if the measure is defined there; 0 log 0 is 0."""
    try:
        x = likeliest()
    except PolicyError:
        return None
    if measure.shape == "rxc":
        x = x[x.sum(axis=1) > 0][:, x.sum(axis=0) > 0]
        return x if min(x.shape) > 1 else None
    return x if is_defined(measure, x, np.zeros(x.shape, dtype=bool)) else None


def is_defined(measure: AssociationMeasure, x: Array, allowed_zero: Mask) -> bool:
    """Return whether a measure is defined at a table."""
    margins = min(float(x.sum(axis=0).min()), float(x.sum(axis=1).min()))
    if margins <= 0 or min(x.shape) < 2:  # noqa: PLR2004 - a single category goes with nothing
        return False
    return measure.needs == "margins" or bool(((x > 0) | (allowed_zero & (x == 0))).all())


def select_measures(measures: Sequence[AssociationMeasure] | None, table: TwoWayTable) -> list[AssociationMeasure]:
    """Return the measures that are asked for, or all that are defined for the shape of a table (RR273)."""
    square = table.estimate.shape == (2, 2)
    if measures is None:
        return [m for m in MEASURES.values() if square or m.shape == "rxc"]
    for measure in measures:
        if measure.shape == "2x2" and not square:
            rows, columns = table.estimate.shape
            raise PolicyError(
                Problem(
                    "RR273",
                    f"{measure.name!r} is a measure of two categories by two, and this table has {rows} by {columns}",
                    hint=_presence_hint(table),
                )
            )
    return list(measures)


def _presence_hint(table: TwoWayTable) -> str:
    """Return how to say which categories count as present, in Python and in a shell, with the table's own."""
    row, column = ([label for label in labels if label is not None][-1] for labels in (table.rows, table.columns))
    shell = f"--row-present {shell_quoted(str(row))} --column-present {shell_quoted(str(column))}"
    return (
        f"say which categories count as present: in Python, `present=([{row!r}], [{column!r}])`; in a shell, `{shell}`"
    )


def dichotomise(
    table: TwoWayTable, present: tuple[Sequence[Value], Sequence[Value]] | None
) -> tuple[TwoWayTable, tuple[tuple[Value, ...], tuple[Value, ...]] | None]:
    """Return a table by what counts as present, and what does; the table itself where nothing is to (RR273)."""
    if present is None:
        if table.estimate.shape != (2, 2):
            table = table.occupied()
        if table.estimate.shape != (2, 2):
            return table, None
        return table, ((table.rows[1],), (table.columns[1],))
    chosen = []
    for labels, given in zip((table.rows, table.columns), present, strict=True):
        values = (given,) if isinstance(given, (str, int, float)) else tuple(given)
        unknown = [v for v in values if v not in labels]
        if unknown or len(set(values)) == len(labels) or not values:
            shown = ", ".join(map(repr, unknown)) or "none or all of the categories"
            hint = f"some of {', '.join(map(repr, labels))}, but not all"
            raise PolicyError(Problem("RR273", f"{shown} cannot count as present", hint=hint))
        chosen.append(values)
    return table.collapsed(chosen[0], chosen[1]), (chosen[0], chosen[1])
