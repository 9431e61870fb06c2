"""Numbers for categories: those that an analyst states, and the edges of bins.

An analyst states a number for each category, and its mean is that of any column of numbers. For a column that was
released in bins the mean itself lies between that of lower edges and that of upper edges, wherever in their bins the
values lie:

    low = the lower end of the interval of the mean of lower edges, high = the upper end of that of upper edges

The mean is below low only if that of lower edges is, and above high only if that of upper edges is. Each happens half
as often as an interval of the given level may fail, so that both together do at most as often. Where nothing was
drawn, low and high are certain bounds; they are reached if all values lie at one end of their bins.

References:
    Horowitz, Manski 1995, "Identification and robustness with contaminated and corrupted data", for bounds of means;
    Imbens, Manski 2004, "Confidence intervals for partially identified parameters", for intervals around them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np

from rrpolicy.canonical_json import Value, same_category
from rrpolicy.declarations import interval_edges
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.columns import Columns, category, parse_number
from rrpolicy.estimate.counts.condition import split
from rrpolicy.estimate.results.estimates import Estimates
from rrpolicy.estimate.results.flags import MIDDLE, OPEN, SPREAD, flags_of
from rrpolicy.estimate.results.target import Target
from rrpolicy.frozen import replace
from rrpolicy.numbers import exact_number

if TYPE_CHECKING:
    from rrpolicy.counts import Array
    from rrpolicy.estimate.expression import Expression
    from rrpolicy.estimate.release import Release

Limits: TypeAlias = "tuple[float | None, float | None]"
"""Where bins without an end stop, below and above; None for nowhere."""
E = TypeVar("E", bound=Estimates)

OF_STATED = "{by!r} is a number for each category of {of!r}: estimates are of these numbers, not of {of!r} itself"
OF_BINS = (
    "{of!r} was released in bins: low is by their lower edges, high by their upper edges, the estimate by their "
    "middles; a mean of numbers that you state for the bins, by values=... or a joined table, has a standard error"
)

OF_LABELS = "the bins of {of!r} are labelled by numbers: estimates are of these numbers, not of {of!r} itself"


def with_category_values(release: Release, value: str, numbers: Mapping[Value, float | None]) -> tuple[Release, str]:
    """Return a release with a column of numbers that are stated for the categories of another, and its name.

    `numbers`: of each; None for a category whose records are left out, as those of missing values are in any case.

    Raises:
        PolicyError: RR262, RR263, RR265 for a name that is not a column with categories, or not one of its
            categories; RR532 for a value that is not a number, or a category without one.
    """
    of = release.columns.name(value)
    release.columns.axis(of)
    if of in release.columns.spread and set(numbers.keys()) <= set(release.domain(of)):
        release = with_inner_categories(release, of)
    columns = release.columns
    labels = tuple(dict.fromkeys(columns.axes[of].labels_of(of)))
    given = {category(of, labels, v, ordered=False): number for v, number in numbers.items()}
    for v, number in given.items():
        _check_finite(number, f"{v!r} of {of!r} has {number!r}")
    absent = columns.numberless(of)
    lacking = [v for v in labels if v not in given and not any(same_category(v, a) for a in absent)]
    if lacking:
        raise _invalid_value_error(f"categories of {of!r} have no number: {', '.join(map(repr, lacking))}")
    told = {v: "" if (number := given.get(v)) is None else float(number) for v in labels}
    name = f"{of} (stated numbers)"
    return replace(release, columns=columns.labelled(of, {name: told})), name


def with_inner_categories(release: Release, value: str) -> Release:
    """Return the release with a column of numbers, or of bins, counted by the categories inside its labels."""
    name = release.columns.name(value)
    return replace(release, columns=release.columns.disaggregate(name)) if name in release.columns.spread else release


def notes_on_category_values(columns: Columns, name: str) -> Iterator[str]:
    """Yield notes on means and totals of a column whose categories were replaced by numbers."""
    if columns.bins(name):
        yield OF_BINS.format(of=name)
    elif columns.labelled_by_numbers(name):
        yield OF_LABELS.format(of=name)
    elif name in columns.labels:
        yield OF_STATED.format(by=name, of=columns.labels[name][0])


def bin_bounds(
    release: Release,
    value: str,
    conjuncts: Sequence[Expression],
    ask: Callable[[Release, str], E],
    limits: Limits = (None, None),
) -> E | None:
    """Return the mean or total of a column that was released in bins, with its bounds; None for any other column.

    Raises:
        PolicyError: RR532 for limits of another column, or inside of its bins; else as `ask`.
    """
    name = release.columns.name(value)
    if not release.columns.bins(name):
        if limits != (None, None):
            raise _invalid_value_error(f"{name!r} was not released in bins, so that nothing is to be limited")
        return None
    told = _edges(name, release.domain(name), limits)
    release = replace(release, columns=release.columns.labelled(name, told))
    least, most, *unending = told
    lower, upper = ask(release, least), ask(release, most)
    spread = any(SPREAD in part.estimator for part in (lower, upper))
    drawn = not spread and (lower.target != "table" or bool((lower.errors["table"] > 0).any()))
    axis = release.columns.axes[name]
    left = split(conjuncts, release.columns).leaves(axis)
    possible = [any(v == 1 and kept for v, kept in zip(axis.labels_of(side), left, strict=True)) for side in unending]

    @cache
    def held(target: Target) -> Array:
        """Return (rows, 2) whether bins without an end, below and above, may contain records."""
        found = np.tile(possible, (len(lower.keys), 1))
        for place, side in enumerate(unending):
            if possible[place] and target == "table":
                counted = ask(release, side)
                found[:, place] = (counted.errors["table"] != 0) | (counted.estimate != 0)
        return found

    def ends(level: float, target: Target) -> Array:
        known = np.stack([lower.ends(level, target)[:, 0], upper.ends(level, target)[:, 1]], axis=1)
        return np.where(held(target) & ~np.isnan(known), [-np.inf, np.inf], known)

    how, of_edges = MIDDLE if drawn else SPREAD, tuple(notes_on_category_values(release.columns, least))
    there = ~np.isnan(lower.estimate)
    out = held(lower.target).any(axis=1) & there
    low, high = ends(lower.level, "table").T
    doubts = flags_of(((how, there & (drawn | (low != high))), (OPEN, out)))
    both = zip(lower.flags, upper.flags, doubts, strict=True)
    return replace(
        lower,
        estimate=np.where(out, np.nan, (lower.estimate + upper.estimate) / 2),
        errors={
            "table": np.where((low == high) & (not drawn), 0.0, np.nan),
            "population": np.full(there.shape, np.nan),
        },
        range=np.tile([-np.inf, np.inf], (len(there), 1)),
        estimator=tuple(how if known else e for known, e in zip(there, lower.estimator, strict=True)),
        flags=tuple(tuple(dict.fromkeys(f for part in parts for f in part)) for parts in both),
        ends=ends,
        covariance=None,
        notes=(
            *notes_on_category_values(release.columns, name),
            *(note for note in lower.notes if note not in of_edges),
        ),
    )


def _edges(name: str, labels: Sequence[Value], limits: Limits) -> dict[str, dict[Value, Value]]:
    """Return columns for bins: their lower and upper edges, and which bins have no end below and above."""
    bins = {v: interval_edges(v) for v in labels}
    known = [edges for edges in bins.values() if edges is not None]
    sides = zip(limits, zip(*known, strict=True), (("below", min), ("above", max)), strict=True)
    for limit, of, (where, beyond) in sides:
        if limit is None:
            continue
        _check_finite(limit, f"{name!r} is to stop {where} at {limit!r}")
        if not any(map(math.isinf, of)):
            end = f"{name}=,LIMIT" if where == "below" else f"{name}=LIMIT,"
            message = f"every bin of {name!r} has an end {where}: no limit is needed; leave it out, as in `{end}`"
            raise _invalid_value_error(message)
        last = beyond((edge for edges in known for edge in edges if math.isfinite(edge)), default=limit)
        if beyond(limit, last) != limit:
            raise _invalid_value_error(f"bins of {name!r} go to {exact_number(last)} {where}, beyond the limit {limit}")
    least, most, below, above = (dict[Value, Value]() for _ in _COLUMNS)
    for v, edges in bins.items():
        ends = [limit if math.isinf(edge) else edge for edge, limit in zip(edges, limits, strict=True)] if edges else []
        finite = [end for end in ends if end is not None]
        least[v], most[v] = (min(finite, default=0.0), max(finite, default=0.0)) if ends else ("", "")
        below[v], above[v] = (float(end is None) for end in ends) if ends else ("", "")
    return {f"{name} ({what})": told for what, told in zip(_COLUMNS, (least, most, below, above), strict=True)}


_COLUMNS = ("lower edges", "upper edges", "no lower end", "no upper end")


def _check_finite(number: float | None, message: str) -> None:
    if number is not None and (isinstance(number, str) or parse_number(number) is None):
        raise _invalid_value_error(f"{message}, which is not a finite number")


def _invalid_value_error(message: str) -> PolicyError:
    expected = "a finite number for each category, None for those left out; of bins without an end, where they stop"
    return PolicyError(Problem("RR532", message, expected=expected))
