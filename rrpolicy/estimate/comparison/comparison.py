"""One question for several releases: differences, ratios and trends, with the dependence of the releases.

Errors of this table's estimates come from draws. Draws of different releases are independent, except within a series,
where equal values of a person have equal draws. The correlation of two counts is never negative (`sums.change`). That
of averages and of other quotients can be negative. If everyone's illness is reversed and its column is exact, the
share of the ill in a randomised group becomes one minus that share, with the correlation -1. Errors of the
population's estimates include the samples' as well, and people who are in two samples make the estimates dependent.
With n_ab people in both of n_a and n_b, the correlation of the samples' errors is at most n_ab / sqrt(n_a n_b) for
any estimate (Kish 1965, section 12.4). The overlap n_ab is stated, or bounded by the smaller sample. In samples with
a design a few people can weigh much, and other people of their clusters are similar: there any correlation is
possible, unless the samples are separate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, TypeAlias, get_args

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import Json
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.comparison.combined_intervals import (
    combined_interval,
    distances,
    p_value_columns,
    ratio_interval,
    refuse_spread,
    variance,
)
from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.estimate.results.chart_layout import PlottedQuantity
from rrpolicy.estimate.results.flags import UNFLAGGED
from rrpolicy.estimate.results.intervals import Ends, p_values, quantile
from rrpolicy.estimate.results.quantities import EstimatedQuantity, ResultColumn
from rrpolicy.estimate.results.result import Result
from rrpolicy.estimate.results.target import Target
from rrpolicy.estimate.sums.change import shared_series
from rrpolicy.frozen import replace
from rrpolicy.plotting.chart import ChartReferenceLine

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.estimate.release import Release

ComparisonKind: TypeAlias = Literal["difference", "ratio", "trend"]
Question: TypeAlias = "str | Callable[[Release], Result]"
_TITLES: Mapping[ComparisonKind, str] = {
    "difference": "Differences: {later} less {first}",
    "ratio": "Ratios: {later} divided by {first}",
    "trend": "Trends over {first} to {last}: least-squares slopes by time",
}
_UNTIMED = (
    "times were not stated: the releases are taken to be at 0, 1, 2 and so on, and a slope is the change by release"
)
_DRAWN = "results for this table: draws of different releases are independent"
_SERIES = (
    "releases of the series '{name}' share their noise: intervals allow for any correlation of it, for counts from 0 "
    "to 1, and are conservative"
)
_APART = "no person is in two of the releases, as was stated"
_STATED = (
    "at most {overlap:,} people are in two of the releases, as was stated: intervals allow for any dependence of theirs"
)
_UNKNOWN = (
    "how many people are in two of the releases was not stated: intervals allow for as many as there can be, and are "
    "longer than those of separate samples"
)


@dataclass(frozen=True, kw_only=True)
class EstimateComparison(Result):
    """Changes of estimates since the first of several releases.

    Attributes:
        kind: "difference", "ratio" or "trend".
        times: times of the releases, for a trend.
        overlap: the most people in two releases, as stated; None if it was not stated.
        compared: number of records of each release.
        releases: the name of each: its policy, and its label or the policy's version.
    """

    schema: ClassVar[str] = "rrpolicy.comparison/1"
    same_unit: ClassVar[bool] = False
    intervals: ClassVar[str] = (
        "low to high: {level} intervals, of the distances to the ends of each release's own; p: of a two-sided test "
        "that nothing changed, p_holm: adjusted for all rows"
    )

    kind: ComparisonKind
    times: tuple[float, ...]
    overlap: int | None
    compared: tuple[int, ...]
    releases: tuple[str, ...]
    _shown: tuple[ResultColumn | EstimatedQuantity, ...] = field(repr=False)

    @property
    def title(self) -> str:
        """Return the kind of comparison, and the records of the releases."""
        records = f"{', '.join(f'{n:,}' for n in self.compared[:-1])} and {self.compared[-1]:,}"
        first, *others = self.releases
        later = others[0] if len(others) == 1 else "each later release"
        title = _TITLES[self.kind].format(first=first, later=later, last=self.releases[-1])
        return f"{title} (releases of {records} records)"

    def contents(self) -> tuple[ResultColumn | EstimatedQuantity, ...]:
        """Return the grouping columns, then every quantity."""
        return self._shown

    def plotted_quantities(self) -> tuple[PlottedQuantity, ...]:
        """Return each quantity with the value of no change."""
        line = ChartReferenceLine(1.0, "as before") if self.kind == "ratio" else ChartReferenceLine(0.0, "no change")
        return tuple(PlottedQuantity(m, line=line) for m in self.quantities)

    def metadata(self) -> dict[str, Json]:
        """Return the releases and the options of the comparison."""
        return {
            "kind": self.kind,
            "times": list(self.times),
            "overlap": self.overlap,
            "compared": list(self.compared),
            "releases": list(self.releases),
        }


def compare_estimates(  # noqa: PLR0917 the options of a comparison
    releases: Sequence[Release],
    question: Question,
    kind: ComparisonKind,
    times: Sequence[float] | None,
    overlap: int | None,
    target: Target | None,
    level: float | None,
) -> EstimateComparison:
    """Compare the results of releases; see `rrpolicy.compare_estimates`."""
    untimed = kind == "trend" and times is None
    times = _check_times(releases, kind, times, overlap)
    answers = [r.query(question) if isinstance(question, str) else question(r) for r in releases]
    target, level = target or answers[0].target, answers[0].level if level is None else level
    for answer in answers:
        answer.target_scope.of(target, level)
    names, common, quantities, left = _common_rows(answers)
    links = _Links.of(releases, overlap)
    degrees = min(answer.sample.degrees_for(target) if answer.sample else math.inf for answer in answers)
    shown = _grouping_columns(names, common, 1 if kind == "trend" else len(releases) - 1)
    for parts in quantities:
        refuse_spread(parts, "list the bounds of each release")
        shown += _compare_quantity(parts, kind, times, links, target, degrees)
    called = _release_names(releases)
    notes = [_UNTIMED] if untimed else []
    if kind != "trend" and len(releases) > 2:  # noqa: PLR2004 the title names two
        notes.append(f"releases: {', '.join(f'{number}: {name}' for number, name in enumerate(called, 1))}")
    notes += [
        *links.notes(target),
        *([f"{left} rows that are not in all of the releases are left out"] if left else []),
    ]
    return EstimateComparison(
        where=answers[0].where,
        target=target,
        level=level,
        records=releases[-1].records,
        notes=(*notes, UNFLAGGED),
        max_records=max(release.max_records for release in releases),
        kind=kind,
        times=times,
        overlap=overlap,
        compared=tuple(release.records for release in releases),
        releases=called,
        _shown=tuple(shown),
    )


def _common_rows(
    answers: Sequence[Result],
) -> tuple[tuple[str, ...], list[tuple[Any, ...]], list[list[EstimatedQuantity]], int]:
    """Return the names of grouping columns, the rows in all results, their quantities, and how many rows are not.

    RR572 for results without the same columns, or without a common row.
    """
    hint = "request a result with the same columns and categories in all of them"
    keys, measured = [answer.row_keys() for answer in answers], [answer.quantities for answer in answers]
    if len({(names, tuple(m.name for m in own)) for (names, _), own in zip(keys, measured, strict=True)}) > 1:
        raise PolicyError(Problem("RR572", "the results of the releases have different columns", hint=hint))
    (names, first), *others = keys
    common = [row for row in first if all(row in rows for _, rows in others)]
    if not common:
        raise PolicyError(Problem("RR572", "no row occurs in the results of all releases", hint=hint))
    places = [[rows.index(row) for row in common] for _, rows in keys]
    quantities = [
        [part.select(place) for part, place in zip(parts, places, strict=True)] for parts in zip(*measured, strict=True)
    ]
    return names, common, quantities, sum(len(rows) for _, rows in keys) - len(common) * len(keys)


def _grouping_columns(
    names: Sequence[str], rows: Sequence[tuple[Any, ...]], pairs: int
) -> list[ResultColumn | EstimatedQuantity]:
    numbers = [ResultColumn("release", tuple(pair + 2 for pair in range(pairs) for _ in rows))] if pairs > 1 else []
    return [*numbers, *(ResultColumn(name, tuple(row[i] for row in rows) * pairs) for i, name in enumerate(names))]


def _release_names(releases: Sequence[Release]) -> tuple[str, ...]:
    """Return the names of releases, with their numbers where two have the same name."""
    named = [f"{r.manifest.policy.name} {r.manifest.release or r.manifest.policy.version}" for r in releases]
    if len(set(named)) == len(named):
        return tuple(named)
    return tuple(f"{name} (release {number})" for number, name in enumerate(named, 1))


def _check_times(
    releases: Sequence[Release], kind: ComparisonKind, times: Sequence[float] | None, overlap: int | None
) -> tuple[float, ...]:
    """Return the times of the releases; refuse releases that cannot be compared (RR572)."""

    def refuse(message: str, expected: str | None = None, hint: str | None = None) -> NoReturn:
        raise PolicyError(Problem("RR572", message, expected=expected, hint=hint))

    if kind not in get_args(ComparisonKind):
        refuse(f"no such comparison: {kind!r}", "difference, ratio or trend")
    if len(releases) < 2:  # noqa: PLR2004 two can be compared
        refuse(f"{len(releases)} releases: there is nothing to compare", "two or more")
    if any(a.manifest == b.manifest for a, b in combinations(releases, 2)):
        hint = "groups of one release are compared with one another by --pairwise, or release.pairwise"
        refuse("one release is named twice: it differs from itself in nothing", hint=hint)
    if overlap is not None and (overlap < 0 or overlap > min(sorted(r.records for r in releases)[-2:])):
        refuse(f"{overlap:,} people cannot be in two of the releases")
    if kind != "trend" and times is not None:
        refuse("times belong to a trend", hint='kind="trend"')
    found = tuple(float(t) for t in (times if times is not None else range(len(releases))))
    if len(found) != len(releases) or not all(map(math.isfinite, found)):
        refuse(f"{len(found)} times of {len(releases)} releases", "a number for each")
    if len(set(found)) == 1:
        refuse("the releases are all at one time", "times that differ")
    return found


class _Links(Struct, frozen=True):
    """The dependence of releases, with the stated overlap."""

    series: str | None  # the name of a series that two of them are part of
    shared: Array  # shape (releases, releases): 1 where draws are of one series, else 0
    samples: Array  # shape (releases, releases): the largest correlation of the samples' errors
    overlap: int | None

    @classmethod
    def of(cls, releases: Sequence[Release], overlap: int | None) -> _Links:
        size = len(releases)
        shared, samples, series = np.zeros((size, size)), np.zeros((size, size)), None
        for j, k in combinations(range(size), 2):
            one, other = releases[j], releases[k]
            if (name := shared_series(one, other)) is not None:
                shared[j, k] = shared[k, j] = 1.0
                series = name
            both = min(one.records, other.records, *(() if overlap is None else (overlap,)))
            samples[j, k] = samples[k, j] = both / math.sqrt(one.records * other.records)
            if overlap != 0 and (one.design or other.design):  # people of one cluster, or of large weights
                samples[j, k] = samples[k, j] = 1.0
        return cls(series, shared, samples, overlap)

    def correlations(self, parts: Sequence[EstimatedQuantity], target: Target) -> tuple[Array, Array]:
        """Return (releases, releases, rows) the least and the largest correlations of the errors."""
        errors = np.stack([part.errors[target] for part in parts])
        drawn = np.stack([np.minimum(part.errors["table"], part.errors[target]) for part in parts])
        sampled = np.zeros_like(errors)
        if target == "population":  # where its variance replaces this table's, the draw's part is not known
            sampled = np.where(drawn < errors, np.sqrt(np.maximum(errors**2 - drawn**2, 0.0)), errors)
        whole = errors[:, None] * errors[None, :]
        noise, sample = drawn[:, None] * drawn[None, :], sampled[:, None] * sampled[None, :]
        both, shared = self.samples[:, :, None] * sample, self.shared[:, :, None] * noise
        counts = all(part.whole is not None for part in parts)  # their noise never has a negative correlation
        with np.errstate(divide="ignore", invalid="ignore"):
            least, most = (np.nan_to_num(v / whole) for v in (-both - (0.0 if counts else shared), shared + both))
        return np.clip(least, -1, 1), np.clip(most, -1, 1)

    def notes(self, target: Target) -> tuple[str, ...]:
        """Return the assumptions of intervals."""
        series = (_SERIES.format(name=self.series),) if self.series is not None else ()
        if target == "table":
            return series or (_DRAWN,)
        if self.overlap is None:
            return (*series, _UNKNOWN)
        return (*series, _APART if self.overlap == 0 else _STATED.format(overlap=self.overlap))


_ComparedValues: TypeAlias = "tuple[Array, dict[Target, Array], Ends]"


def _compare_quantity(  # noqa: PLR0917 the options of a comparison
    parts: Sequence[EstimatedQuantity],
    kind: ComparisonKind,
    times: Sequence[float],
    links: _Links,
    target: Target,
    degrees: float,
) -> list[ResultColumn | EstimatedQuantity]:
    """Return one quantity compared with p-values of no change: a row each, of the second release, then the third."""
    estimates = np.stack([part.estimate for part in parts])
    if kind == "trend":
        centred, compared = np.array(times) - np.mean(times), [parts]
        weights = [centred / (centred @ centred)]
    else:
        compared = [(parts[0], part) for part in parts[1:]]
        weights = [np.eye(len(parts))[place] - np.eye(len(parts))[0] for place in range(1, len(parts))]
    change = _sums(weights, parts, estimates, links)
    p = p_values(change[0], change[1][target], degrees)  # a ratio is 1 where the difference is 0
    found, errors, ends = _ratios(parts, estimates, links) if kind == "ratio" else change
    flags = tuple(
        tuple(dict.fromkeys(flag for part in chosen for flag in part.flags[row]))
        for chosen in compared
        for row in range(estimates.shape[1])
    )
    whole = replace(parts[0], estimate=found, errors=errors, ends=ends, flags=flags, released=None, whole=None)
    return [whole, *p_value_columns(parts[0].name, p)]


def _targets(parts: Sequence[EstimatedQuantity]) -> list[Target]:
    """Return the targets that all releases have errors of: with several records per unit only this table."""
    return [target for target in parts[0].errors if all(target in part.errors for part in parts)]


def _interval_reach(
    parts: Sequence[EstimatedQuantity], estimates: Array, level: float, target: Target
) -> tuple[Array, Array]:
    own = np.stack([part.ends(level, target) for part in parts])
    return distances(estimates, own, quantile(level) * np.stack([part.errors[target] for part in parts]))


def _sums(
    weights: Sequence[Array], parts: Sequence[EstimatedQuantity], estimates: Array, links: _Links
) -> _ComparedValues:
    """Return combinations of the estimates, their standard errors and intervals."""
    errors: dict[Target, Array] = {}
    for target in _targets(parts):
        own, between = np.stack([part.errors[target] for part in parts]), links.correlations(parts, target)
        errors[target] = np.concatenate([np.sqrt(variance(c, own, *between)) for c in weights])

    def ends(level: float, target: Target) -> Array:
        reach, between = _interval_reach(parts, estimates, level, target), links.correlations(parts, target)
        return np.concatenate([combined_interval(c, estimates, reach, *between) for c in weights])

    return np.concatenate([c @ estimates for c in weights]), errors, ends


def _ratios(parts: Sequence[EstimatedQuantity], estimates: Array, links: _Links) -> _ComparedValues:
    """Return ratios to the first, their standard errors (delta method) and intervals (RR572 for negative ones)."""
    if any((part.ends(LEVEL, target)[:, 0] < 0).any() for part in parts for target in _targets(parts)):
        message = f"{parts[0].name!r} can be negative, and a ratio of such numbers has no meaning"
        raise PolicyError(Problem("RR572", message, hint='kind="difference"'))
    first, size = estimates[0], len(parts)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(first > 0, estimates[1:] / first, np.nan)
    errors: dict[Target, Array] = {}
    for target in _targets(parts):
        least, most = links.correlations(parts, target)
        rows = []
        for place in range(1, size):
            both = np.stack([parts[place].errors[target], found[place - 1] * parts[0].errors[target]])
            pair = np.ix_([place, 0], [place, 0])
            rows.append(np.sqrt(variance(np.array([1.0, -1.0]), both, least[pair], most[pair])))
        with np.errstate(divide="ignore", invalid="ignore"):
            errors[target] = np.where(np.isfinite(found), np.stack(rows) / first, np.nan).reshape(-1)

    def ends(level: float, target: Target) -> Array:
        (down, up), (least, _) = _interval_reach(parts, estimates, level, target), links.correlations(parts, target)
        each = (((down[[p, 0]], up[[p, 0]]), np.maximum(-least[p, 0], 0.0)) for p in range(1, size))
        return np.concatenate([ratio_interval(estimates[p], first, *of) for p, of in enumerate(each, start=1)])

    return found.reshape(-1), errors, ends
