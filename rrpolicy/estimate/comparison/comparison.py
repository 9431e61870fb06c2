"""One question asked of several releases: differences, ratios and trends, with what the releases have in common.

Errors of this table's answers come from draws. Draws of different releases are independent, except within a series,
where equal values of a person are drawn alike. The correlation of two counts is never negative (`sums.change`); that of
averages and of other quotients can be: where everyone's illness is reversed and its column is exact, the share of the
ill among a randomised group becomes one less that share, with the correlation -1. Errors of the population's answers
hold the samples' as well, and of people who are in two samples the answers are dependent. With n_ab people in both of
n_a and n_b, the correlation of the samples' errors is at most n_ab / sqrt(n_a n_b), whatever is asked (Kish 1965,
section 12.4): stated, or bounded by the smaller sample. Of samples with a design a few people can weigh much, and
others of their clusters are like them: there any correlation is possible, unless the samples are separate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias, get_args

import numpy as np

from rrpolicy.canonical_json import Json
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate import LEVEL
from rrpolicy.estimate.comparison.combined_intervals import combined_interval, distances, ratio_interval, variance
from rrpolicy.estimate.results.chart_layout import PlottedQuantity
from rrpolicy.estimate.results.flags import UNFLAGGED
from rrpolicy.estimate.results.intervals import Ends, holm, p_values, quantile
from rrpolicy.estimate.results.quantities import EstimatedQuantity, ResultColumn
from rrpolicy.estimate.results.result import Result
from rrpolicy.estimate.results.target import Target
from rrpolicy.estimate.sums.change import shared_series
from rrpolicy.frozen_dataclass import frozen
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
_DRAWN = "answers of this table: draws of different releases are independent"
_SERIES = (
    "releases of the series '{name}' share their noise: intervals allow for any correlation of it, for counts from 0 "
    "to 1, and are no shorter than they may be"
)
_APART = "no person is in two of the releases, as was stated"
_STATED = (
    "at most {overlap:,} people are in two of the releases, as was stated: intervals allow for any dependence of theirs"
)
_UNKNOWN = (
    "how many people are in two of the releases was not stated: intervals allow for as many as there can be, and are "
    "longer than those of separate samples"
)


@frozen(slots=False, kw_only=True)
class EstimateComparison(Result):
    """What became of answers from the first of several releases on.

    Attributes:
        kind: "difference", "ratio" or "trend".
        times: of the releases, of a trend.
        overlap: the most people that were said to be in two releases; None if it was not said.
        compared: how many records each release has.
        releases: what each is called: its policy, and its label or the policy's version.
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
        """Return what was computed of how many releases."""
        records = f"{', '.join(f'{n:,}' for n in self.compared[:-1])} and {self.compared[-1]:,}"
        first, *others = self.releases
        later = others[0] if len(others) == 1 else "each later release"
        told = _TITLES[self.kind].format(first=first, later=later, last=self.releases[-1])
        return f"{told} (releases of {records} records)"

    def contents(self) -> tuple[ResultColumn | EstimatedQuantity, ...]:
        """Return what rows are of, then every quantity."""
        return self._shown

    def plotted_quantities(self) -> tuple[PlottedQuantity, ...]:
        """Return each quantity beside none."""
        line = ChartReferenceLine(1.0, "as before") if self.kind == "ratio" else ChartReferenceLine(0.0, "no change")
        return tuple(PlottedQuantity(m, line=line) for m in self.quantities)

    def metadata(self) -> dict[str, Json]:
        """Return what was compared."""
        return {
            "kind": self.kind,
            "times": list(self.times),
            "overlap": self.overlap,
            "compared": list(self.compared),
            "releases": list(self.releases),
        }


def compare_estimates(  # noqa: PLR0917 what a comparison is asked
    releases: Sequence[Release],
    question: Question,
    kind: ComparisonKind,
    times: Sequence[float] | None,
    overlap: int | None,
    target: Target | None,
    level: float | None,
) -> EstimateComparison:
    """Compare what releases answer; see `rrpolicy.compare_estimates`."""
    untimed = kind == "trend" and times is None
    times = _check_times(releases, kind, times, overlap)
    answers = [r.query(question) if isinstance(question, str) else question(r) for r in releases]
    target, level = target or answers[0].target, answers[0].level if level is None else level
    for answer in answers:
        answer.target_scope.of(target, level)
    keys = [answer.row_keys() for answer in answers]
    names = [tuple(m.name for m in answer.quantities) for answer in answers]
    if any(k[0] != keys[0][0] for k in keys) or any(n != names[0] for n in names):
        raise PolicyError(Problem("RR572", "the releases answer with other columns", hint=_SAME))
    common = [row for row in keys[0][1] if all(row in k[1] for k in keys[1:])]
    if not common:
        raise PolicyError(Problem("RR572", "no row of the answers is in all of the releases", hint=_SAME))
    links = _Links.of(releases, overlap)
    places = [[k[1].index(row) for row in common] for k in keys]
    quantities: list[ResultColumn | EstimatedQuantity] = []
    degrees = min(answer.sample.degrees_for(target) if answer.sample else math.inf for answer in answers)
    for i in range(len(names[0])):
        parts = [answer.quantities[i].select(place) for answer, place in zip(answers, places, strict=True)]
        if any(part.biased for part in parts):
            message = f"{names[0][i]!r} is spread inside groups: it has bounds and no errors"
            hint = "put the bounds of each release beside one another"
            raise PolicyError(Problem("RR288", message, hint=hint))
        p = _no_change_p_values(parts, kind, times, links, target, degrees)
        quantities += [
            _compare_quantity(parts, kind, times, links),
            ResultColumn(f"{names[0][i]}_p", tuple(p.tolist()), key=False, p_values=True),
            ResultColumn(f"{names[0][i]}_p_holm", tuple(holm(p).tolist()), key=False, p_values=True),
        ]
    pairs = range(1, len(releases)) if kind != "trend" else range(1)
    columns: list[ResultColumn | EstimatedQuantity] = [
        ResultColumn(name, tuple(row[i] for _ in pairs for row in common)) for i, name in enumerate(keys[0][0])
    ]
    if len(pairs) > 1:
        columns.insert(0, ResultColumn("release", tuple(p + 1 for p in pairs for _ in common)))
    left = sum(len(k[1]) for k in keys) - len(common) * len(keys)
    return EstimateComparison(
        where=answers[0].where,
        target=target,
        level=level,
        records=releases[-1].records,
        notes=(
            *_notes_on_times(kind, untimed, releases),
            *links.said(target),
            *((_LEFT.format(left=left),) if left else ()),
            UNFLAGGED,
        ),
        max_records=max(release.max_records for release in releases),
        kind=kind,
        times=times,
        overlap=overlap,
        compared=tuple(release.records for release in releases),
        releases=_names(releases),
        _shown=(*columns, *quantities),
    )


_SAME = "ask what has the same columns and categories in all of them"
_LEFT = "{left} rows that are not in all of the releases are left out"


def _names(releases: Sequence[Release]) -> tuple[str, ...]:
    """Return what releases are called, with their numbers where two are called alike."""
    named = [f"{r.manifest.policy.name} {r.manifest.release or r.manifest.policy.version}" for r in releases]
    if len(set(named)) == len(named):
        return tuple(named)
    return tuple(f"{name} (release {number})" for number, name in enumerate(named, 1))


def _notes_on_times(kind: ComparisonKind, untimed: bool, releases: Sequence[Release]) -> tuple[str, ...]:
    """Return at which times releases are taken to be that none was stated of, and which is which of more than two."""
    several = kind != "trend" and len(releases) > 2  # noqa: PLR2004 the title names two
    numbered = ", ".join(f"{number}: {name}" for number, name in enumerate(_names(releases), 1))
    return (*((_UNTIMED,) if untimed else ()), *((f"releases: {numbered}",) if several else ()))


def _check_times(
    releases: Sequence[Release], kind: ComparisonKind, times: Sequence[float] | None, overlap: int | None
) -> tuple[float, ...]:
    """Return the times of the releases.

    Raises:
        PolicyError: RR572 for what cannot be compared.
    """
    if kind not in get_args(ComparisonKind):
        raise PolicyError(Problem("RR572", f"no such comparison: {kind!r}", expected="difference, ratio or trend"))
    if len(releases) < 2:  # noqa: PLR2004 two can be compared
        raise PolicyError(
            Problem("RR572", f"{len(releases)} releases: there is nothing to compare", expected="two or more")
        )
    if any(a.manifest == b.manifest for a, b in combinations(releases, 2)):
        hint = "groups of one release are compared with one another by --pairwise, or release.pairwise"
        raise PolicyError(Problem("RR572", "one release is named twice: it differs from itself in nothing", hint=hint))
    if overlap is not None and (overlap < 0 or overlap > min(sorted(r.records for r in releases)[-2:])):
        raise PolicyError(Problem("RR572", f"{overlap:,} people cannot be in two of the releases"))
    if kind != "trend" and times is not None:
        raise PolicyError(Problem("RR572", "times belong to a trend", hint='kind="trend"'))
    told = tuple(float(t) for t in (times if times is not None else range(len(releases))))
    if len(told) != len(releases) or not all(map(math.isfinite, told)):
        raise PolicyError(
            Problem("RR572", f"{len(told)} times of {len(releases)} releases", expected="a number for each")
        )
    if len(set(told)) == 1:
        raise PolicyError(Problem("RR572", "the releases are all at one time", expected="times that differ"))
    return told


@frozen(slots=False)
class _Links:
    """What releases have in common.

    Attributes:
        series: the name of a series that two of them are of; None if none are.
        shared: (releases, releases) 1 where draws are of one series, else 0.
        samples: (releases, releases) the largest correlation of the samples' errors.
        overlap: as stated.
    """

    series: str | None
    shared: Array
    samples: Array
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
        if target == "population":  # where its variance stands in for this table's, nothing is known of the draw's part
            sampled = np.where(drawn < errors, np.sqrt(np.maximum(errors**2 - drawn**2, 0.0)), errors)
        whole = errors[:, None] * errors[None, :]
        noise, sample = drawn[:, None] * drawn[None, :], sampled[:, None] * sampled[None, :]
        both, shared = self.samples[:, :, None] * sample, self.shared[:, :, None] * noise
        counts = all(part.whole is not None for part in parts)  # their noise never has a negative correlation
        with np.errstate(divide="ignore", invalid="ignore"):
            least, most = (np.nan_to_num(v / whole) for v in (-both - (0.0 if counts else shared), shared + both))
        return np.clip(least, -1, 1), np.clip(most, -1, 1)

    def said(self, target: Target) -> tuple[str, ...]:
        """Return what intervals rest on."""
        series = (_SERIES.format(name=self.series),) if self.series is not None else ()
        if target == "table":
            return series or (_DRAWN,)
        if self.overlap is None:
            return (*series, _UNKNOWN)
        return (*series, _APART if self.overlap == 0 else _STATED.format(overlap=self.overlap))


def _compare_quantity(
    parts: Sequence[EstimatedQuantity], kind: ComparisonKind, times: Sequence[float], links: _Links
) -> EstimatedQuantity:
    """Return one quantity compared: of a trend a row each, else the rows of the second release, then the third."""
    estimates = np.stack([part.estimate for part in parts])
    compared = [parts] if kind == "trend" else [(parts[0], part) for part in parts[1:]]
    flags = tuple(
        tuple(dict.fromkeys(flag for part in chosen for flag in part.flags[row]))
        for chosen in compared
        for row in range(estimates.shape[1])
    )
    found, errors, ends = (_ratios if kind == "ratio" else partial(_sums, _weights(kind, times)))(
        parts, estimates, links
    )
    return replace(parts[0], estimate=found, errors=errors, ends=ends, flags=flags, released=None, whole=None)


def _no_change_p_values(  # noqa: PLR0917 each is another thing
    parts: Sequence[EstimatedQuantity],
    kind: ComparisonKind,
    times: Sequence[float],
    links: _Links,
    target: Target,
    degrees: float,
) -> Array:
    """Return p-values of no change: a ratio is 1 where the difference is 0."""
    weights = _weights("difference" if kind == "ratio" else kind, times)
    change, errors, _ = _sums(weights, parts, np.stack([part.estimate for part in parts]), links)
    return p_values(change, errors[target], degrees)


_ComparedValues: TypeAlias = "tuple[Array, dict[Target, Array], Ends]"


def _targets(parts: Sequence[EstimatedQuantity]) -> list[Target]:
    """Return the targets that all releases have errors of: with several records a unit there is this table alone."""
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


def _weights(kind: ComparisonKind, times: Sequence[float]) -> list[Array]:
    if kind == "trend":
        centred = np.array(times) - np.mean(times)
        return [centred / (centred @ centred)]
    size = len(times)
    return [np.eye(size)[place] - np.eye(size)[0] for place in range(1, size)]


def _ratios(parts: Sequence[EstimatedQuantity], estimates: Array, links: _Links) -> _ComparedValues:
    """Return ratios to the first, their standard errors (delta method) and intervals.

    Raises:
        PolicyError: RR572 if the quantity can be negative.
    """
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
