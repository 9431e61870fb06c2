"""Association of two columns: measures of the corrected two-way table, with standard errors and intervals.

se^2 = gradient' Sigma gradient with Sigma the covariance of the moment estimate of the counts (delta method; Guo 2010,
chapter 3). Where a cell or margin that a measure needs is not positive, the maximum likelihood table replaces the
moment estimate, without a standard error. Intervals do not rest on these errors: they are the values of the measure
over all tables that a score test does not reject (`rrpolicy.estimate.association.measure_ranges`).

Counts that are spread evenly inside released groups have a description and certain bounds. The table is the even
spread of generalised labels over their categories, or of dealt values over the records of their group (Xiao, Tao
2006, section 5). It is the mean over all assignments of values to records. Measures are taken there. Spreading draws
them towards independence; no sampling law gives the distance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import Json, Value
from rrpolicy.counts import Array
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.escaping.printable import shell_quoted
from rrpolicy.estimate.association.deflation import deflate_coupled_table, deflate_table
from rrpolicy.estimate.association.measure_ranges import range_over_region, score_region
from rrpolicy.estimate.association.measures import MEASURES, AssociationMeasure, MeasureKind
from rrpolicy.estimate.association.two_way_table import TwoWayTable, two_way_table
from rrpolicy.estimate.counts.condition import split
from rrpolicy.estimate.counts.overlap import refuse_overlap
from rrpolicy.estimate.expression import Member
from rrpolicy.estimate.results.chart_layout import PlottedQuantity
from rrpolicy.estimate.results.estimates import Estimates, Inference, result_of
from rrpolicy.estimate.results.flags import (
    DEFLATED,
    LARGE,
    LINEARISED,
    MAXIMUM_LIKELIHOOD,
    MOMENT,
    NOT_ESTIMABLE,
    POPULATION_VARIANCE,
    SPREAD,
)
from rrpolicy.estimate.results.intervals import Ends, normal_ends, table_variance
from rrpolicy.estimate.results.target import Target
from rrpolicy.estimate.weights.base import MatrixWeights, RetentionWeights
from rrpolicy.frozen import replace
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
_NOISE = 1e-12


@dataclass(frozen=True, kw_only=True)
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
        """Return False: each measure has its own unit."""
        return False

    @property
    def title(self) -> str:
        """Return the columns, and the categories that count as present."""
        if self.present is None:
            return f"Association of {self.row} (rows) and {self.column} (columns)"
        row, column = (" or ".join(map(str, p)) for p in self.present)
        return f"Association of {self.row} (row, present: {row}) and {self.column} (column, present: {column})"

    def all_notes(self) -> tuple[str, ...]:
        """Return the notes, first the direction of the measures that have one."""
        directed: dict[str, list[str]] = {}
        for name in (str(key["measure"]) for key in self.keys):
            directed.setdefault(MEASURES[name].title.partition(": ")[2] if name in MEASURES else "", []).append(name)
        either = directed.pop("", [])
        notes = [f"{', '.join(names)}: {direction}" for direction, names in directed.items()]
        notes += ["the other measures are the same either way"] if notes and either else []
        return (*notes, *super().all_notes())

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
        """Return the columns, and the categories that count as present in each."""
        present: Json = None if self.present is None else [list(values) for values in self.present]
        return {**super().metadata(), "row": self.row, "column": self.column, "present": present}

    def __getitem__(self, measure: str) -> float:
        """Return one estimate by the name of its measure."""
        return float(self.estimate[[k["measure"] for k in self.keys].index(find_measure(measure).name)])


def find_measure(name: str) -> AssociationMeasure:
    """Return a measure by its name or an alias, in any case of letters (RR273 if the name is unknown)."""
    folded = name.casefold().replace("-", "_").replace(" ", "_")
    found = ALIASES.get(folded, folded)
    if found not in MEASURES:
        raise PolicyError(Problem("RR273", f"no such measure: {name!r}", hint=f"measures are {', '.join(MEASURES)}"))
    return MEASURES[found]


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
    """Estimate measures of association, as `Release.association` describes."""
    refuse_overlap(release, [row, column], where, "an association")
    counts = release.crosstab([row, column], where, target, level)
    whole = two_way_table(counts)
    table, chosen = dichotomise(whole, present)
    measured = select_measures(measures, table)

    @cache
    def likeliest() -> Array:
        again = two_way_table(release.crosstab([row, column], where, target, level, estimator="em"))
        return dichotomise(again, present)[0].estimate

    if deflate:
        shrunk = dichotomise(_deflate_estimate(counts, whole), present)[0].estimate
        rows = [_deflated_value(m, shrunk) for m in measured]
    else:
        rows = [_estimate_measure(m, table, likeliest) for m in measured]
    estimate, within = np.array([r.value for r in rows]), _ranges(measured)
    errors: dict[Target, Array] = {
        "table": np.array([r.table_error for r in rows]),
        "population": np.array([r.population_error for r in rows]),
    }
    simple = counts.sample is None
    tested = _score_test_intervals(table, measured, estimate, within, counts) if simple else None
    deflated, stand_in = np.array([r.estimator == DEFLATED for r in rows]), np.array([r.stand_in for r in rows])
    found = Inference(
        estimate=estimate,
        errors=errors,
        within=within,
        ends=tested or normal_ends(estimate, errors, within, counts.sample),
        estimator=tuple(r.estimator for r in rows),
        doubts=lambda _, target: (
            (POPULATION_VARIANCE, stand_in & (target == "table")),
            (DEFLATED, deflated),
            (LARGE if simple else LINEARISED, np.full(len(rows), tested is None)),
        ),
    )
    return _result(counts, measured, chosen, found)


def spread_association(
    release: Release,
    counts: Crosstab,
    measures: Sequence[AssociationMeasure] | None,
    present: tuple[Sequence[Value], Sequence[Value]] | None,
) -> Association:
    """Return measures of a table of spread counts, of a release that is counted inside labels (RR273).

    Bounds are certain for two categories by two whose margins are exact, as those of dealt values are. One number is
    open, how many records have both, and the bounds of its count (Fréchet 1940, summed over groups) are tight. With
    fixed margins every measure either rises or falls with it, or does so on each side of independence, where it is
    least. So its values at both ends, and at independence if that lies between, bound it.
    """
    table, chosen = dichotomise(two_way_table(counts, known=False), present)
    measured = select_measures(measures, table)
    estimate = np.array([measure.value_at(table.estimate) for measure in measured])
    unknown = np.full(len(measured), np.nan)
    extremes = None if chosen is None else _extremes(release, counts, chosen)
    within = _ranges(measured)

    def ends(_: float, target: Target) -> Array:
        if extremes is None or target != "table":
            return np.full(within.shape, np.nan)
        with np.errstate(all="ignore"):
            values = [measure.of(extremes)[0] for measure in measured]
        bounds = [(v.min(), v.max()) for v in values]  # NaN where a measure is not defined: then its range
        least, most = (np.array(side) for side in zip(*bounds, strict=True))
        return np.stack([np.fmax(within[:, 0], least), np.fmin(within[:, 1], most)], axis=1)

    found = Inference(
        estimate=estimate,
        errors={"table": unknown, "population": unknown},
        within=within,
        ends=ends,
        estimator=tuple(SPREAD if np.isfinite(v) else NOT_ESTIMABLE for v in estimate),
        doubts=lambda _level, _target: ((SPREAD, np.full(len(measured), fill_value=True)),),
        notes=(),
    )
    return _result(counts, measured, chosen, found)


def _result(
    counts: Crosstab,
    measured: Sequence[AssociationMeasure],
    present: tuple[tuple[Value, ...], tuple[Value, ...]] | None,
    found: Inference,
) -> Association:
    keys = tuple({"measure": m.name} for m in measured)
    row, column = counts.by
    return result_of(Association, counts.scope, ("measure",), keys, found, row=row, column=column, present=present)


def _ranges(measured: Sequence[AssociationMeasure]) -> Array:
    return np.array([[m.low, m.high] for m in measured], dtype=float)


class _MeasureEstimate(Struct, frozen=True):
    value: float
    estimator: str
    table_error: float = np.nan
    population_error: float = np.nan
    stand_in: bool = False


def _estimate_measure(
    measure: AssociationMeasure, table: TwoWayTable, likeliest: Callable[[], Array]
) -> _MeasureEstimate:
    """Return the moment estimate where it is defined, or else that of the maximum likelihood table; 0 log 0 is 0."""
    with np.errstate(all="ignore"):
        value, gradient = measure.of(table.estimate)
    flat = np.where(table.exact_zero, 0.0, gradient).reshape(-1)
    # with cells below 0 a denominator can vanish where all margins are positive
    if measure.defined_at(table.estimate, table.exact_zero) and np.isfinite([value, *flat]).all():
        drawn, sampled = (flat @ table.covariance[t] @ flat for t in ("table", "population"))
        size = flat**2 @ np.abs(np.diag(table.covariance["population"]))
        sampled = np.where(np.abs(sampled) <= _NOISE * size, 0.0, sampled)
        variance, stand_in = table_variance(drawn, np.zeros(()), sampled, at=(drawn, size), rounding=_NOISE)
        errors = float(np.sqrt(variance)), float(np.sqrt(sampled))
        return _MeasureEstimate(float(value), MOMENT, *errors, stand_in=bool(stand_in))
    try:
        likely = measure.value_at(likeliest())
    except PolicyError:  # EM is not defined for a column
        likely = np.nan
    return _MeasureEstimate(likely, NOT_ESTIMABLE if np.isnan(likely) else MAXIMUM_LIKELIHOOD)


def _deflated_value(measure: AssociationMeasure, table: Array) -> _MeasureEstimate:
    """Return a measure of a deflated table; if it needs the cells, those below 0 count as 0."""
    value = measure.value_at(table if measure.needs == "margins" else np.maximum(table, 0.0))
    return _MeasureEstimate(value, DEFLATED if np.isfinite(value) else NOT_ESTIMABLE)


def _score_test_intervals(
    table: TwoWayTable, measures: Sequence[AssociationMeasure], estimate: Array, within: Array, counts: Crosstab
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
            known=table.exact_zero, records=float(counts.records), everybody=counts.where is None,
            population=target == "population",
        )  # fmt: skip
        found = range_over_region(region, measures, level)
        # a point estimate lies in its interval, and both lie inside the possible range
        least, most = np.fmin(found[:, 0], estimate), np.fmax(found[:, 1], estimate)
        # where no table of the region defines a measure, no value is rejected
        least, most = np.where(np.isnan(least), low, least), np.where(np.isnan(most), high, most)
        return np.asarray(np.clip(np.stack([least, most], axis=1), low[:, None], high[:, None]))

    return ends


def _deflate_estimate(counts: Crosstab, table: TwoWayTable) -> TwoWayTable:
    """Return a table without the association that randomisation alone puts into it (RR278 if that is unknown)."""
    if counts.where is not None:
        hint = "leave the condition out, or `deflate`"
        raise PolicyError(Problem("RR278", "a table under a condition is not deflated", hint=hint))
    axes = table.axes
    if len(axes) > 1:
        shares = deflate_table(counts.released, *axes)
    elif isinstance(axes[0][0], (RetentionWeights, MatrixWeights)):
        shares = deflate_coupled_table(counts.released.reshape(-1), axes[0], (len(table.rows), len(table.columns)))
    else:
        message = "two columns that are hidden in one set are not deflated"
        raise PolicyError(Problem("RR278", message, hint="leave `deflate` out"))
    return replace(table, estimate=shares * counts.records)


def _extremes(release: Release, counts: Crosstab, present: tuple[tuple[Value, ...], tuple[Value, ...]]) -> Array | None:
    """Return (k, 2, 2) tables whose measures bound those of the true one; None if a margin is not known."""
    if counts.where is not None:
        return None
    members = [Member(name, tuple(values)) for name, values in zip(counts.by, present, strict=True)]

    def bounds(*parts: Member) -> tuple[float, float]:
        condition = split(parts, release.columns)
        (count,) = release.tables((), [()], None, condition, target="table", level=counts.level)
        low, high = count.conf_int(target="table")[0]
        return float(low), float(high)

    (row, most_row), (column, most_column) = map(bounds, members)
    if row != most_row or column != most_column:
        return None
    low, high = bounds(*members)
    low, high = max(low, row + column - counts.records, 0.0), min(high, row, column)
    independent = row * column / counts.records
    both = [low, high, *([independent] if low < independent < high else [])]
    return np.array([[[counts.records - row - column + x, column - x], [row - x, x]] for x in both])


def select_measures(measures: Sequence[AssociationMeasure] | None, table: TwoWayTable) -> list[AssociationMeasure]:
    """Return the required measures, or all that are defined for the shape of a table (RR273)."""
    square = table.estimate.shape == (2, 2)
    if measures is None:
        return [m for m in MEASURES.values() if square or m.shape == "rxc"]
    for measure in measures:
        if measure.shape == "2x2" and not square:
            rows, columns = table.estimate.shape
            message = f"{measure.name!r} is a measure of two categories by two, and this table has {rows} by {columns}"
            row, column = ([v for v in labels if v is not None][-1] for labels in (table.rows, table.columns))
            shell = f"--row-present {shell_quoted(str(row))} --column-present {shell_quoted(str(column))}"
            python = f"`present=([{row!r}], [{column!r}])`"
            hint = f"state which categories count as present: in Python, {python}; in a shell, `{shell}`"
            raise PolicyError(Problem("RR273", message, hint=hint))
    return list(measures)


def dichotomise(
    table: TwoWayTable, present: tuple[Sequence[Value], Sequence[Value]] | None
) -> tuple[TwoWayTable, tuple[tuple[Value, ...], tuple[Value, ...]] | None]:
    """Dichotomise the table; return it and the chosen categories. Unchanged if none was required (RR273)."""
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
