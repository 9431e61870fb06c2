"""Shares: how many of the records of a larger group lie in a smaller one, both corrected, and by the same records.

With g the weight of a record in the part and d in the whole, the share is R = sum g / sum d. Its error is that of sum
e, e = g - R d, over sum d (delta method). This table: sum e^2 less the squares of what e is expected to be given the
original record, 1 - R in the part and -R in the rest of the whole; population: that and R (1 - R) sum d, which is sum
e^2 in all, as sum e = 0, times N/(N-1). With every r in place of R the same tests whether the share is r (Fieller
1954; where nothing is randomised it is Wilson's test), and the values that are not rejected are the interval. Sums of
g d come from squares: a part lies in its whole, d - g weighs the rest, and 2 g d = d^2 + g^2 - (d - g)^2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from msgspec import Struct

from rrpolicy.canonical_json import Json, Value
from rrpolicy.counts import Array, Ints
from rrpolicy.errors import PolicyError, Problem
from rrpolicy.estimate.counts.condition import Condition, Where, read, split
from rrpolicy.estimate.counts.grouping import (
    CELLS,
    GroupAxis,
    Grouping,
    grouping,
    ungrouped_condition_axes,
    weigh_groups,
)
from rrpolicy.estimate.counts.missing import notes_on_condition
from rrpolicy.estimate.counts.overlap import LabelOverlap
from rrpolicy.estimate.counts.scan import Number, count
from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.estimate.expression import columns_of
from rrpolicy.estimate.results.estimates import Estimates, Inference, assemble
from rrpolicy.estimate.results.flags import AS_RELEASED
from rrpolicy.estimate.results.intervals import FiellerRatios, bessel
from rrpolicy.estimate.results.quantities import Covariance
from rrpolicy.estimate.results.target import Target, check_target
from rrpolicy.estimate.sums.cube import notes_on_labels
from rrpolicy.estimate.sums.uniform_within import OptionalCells, blocks, ratio, share_bounds
from rrpolicy.estimate.weights.anatomy import AnatomyWeights
from rrpolicy.estimate.weights.base import AxisWeights, Mask, cross_products
from rrpolicy.estimate.weights.recode import refuse_biased
from rrpolicy.frozen import replace

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release


@dataclass(frozen=True, kw_only=True)
class Shares(Estimates):
    """Estimated shares; `keys` are the smaller groups.

    Attributes:
        within: the columns that form the larger groups.
        part: the condition on the records of the smaller groups; None for no condition.
    """

    schema: ClassVar[str] = "rrpolicy.share/1"

    within: tuple[str, ...]
    part: str | None

    @property
    def title(self) -> str:
        """Return the title: the part, the groups and the whole of the shares."""
        of = f" of records with {self.part}" if self.part else ""
        by, within = (f" {word} {', '.join(names)}" if names else "" for word, names in self._groups)
        return f"Estimated shares{of}{by}{within}"

    @property
    def _groups(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        return ("by", self.by), ("within", () if self.within == self.by else self.within)

    def metadata(self) -> dict[str, Json]:
        """Return the groups, and the condition on the smaller ones."""
        return {**super().metadata(), "within": list(self.within), "part": self.part}


class _Moments(Struct, frozen=True):
    """Sums over released records by cell of the grouping axes: of the part's weight, the whole's, and products.

    The weights are those of the conditions' other axes; the grouping axes' follow by contraction.
    """

    part: Array
    whole: Array
    part_part: Array
    part_whole: Array
    whole_whole: Array


def shares(
    release: Release,
    by: Sequence[str],
    within: Sequence[str],
    *,
    where: Where = None,
    part: Where = None,
    target: Target = "table",
    level: float = LEVEL,
) -> Shares:
    """Estimate the shares of larger groups that lie in smaller ones.

    If the question cuts released labels or groups, the estimate is an even spread, and low and high are certain
    (`rrpolicy.estimate.sums.uniform_within`).

    `within`: the columns of the larger groups, some of `by`. `part`: an additional condition on the records of the
    smaller groups.

    Raises:
        PolicyError: as `Release.crosstab`; RR263 if the larger groups are not formed by some of the columns; RR288 if
            the question cuts the labels of a generalised column and another column was randomised.
    """
    check_target(target, level, release.max_records)
    condition, narrower = read(where), read(part)
    release = release.for_columns([*by, *(c for e in (*condition, *narrower) for c in columns_of(e))])
    smaller, larger = split([*condition, *narrower], release.columns), split(condition, release.columns)
    names, axes = grouping(release.columns, by, smaller)
    outer = {release.columns.name(c) for c in within}
    if not outer <= set(names):
        raise PolicyError(Problem("RR263", "a share is taken within some of the columns that are grouped by"))
    inner = tuple(n for n in names if n in outer)
    groups = Grouping.over(axes, names, larger)
    groups.check_size()
    asked = [*axes, *smaller.axes]
    biased = not all(axis.unbiased for axis in asked)
    if biased and release.design is not None:
        refuse_biased(asked, "shares of people of a population")
    if any(isinstance(axis, AnatomyWeights) for axis in asked):
        found = _anatomy_shares(release, (names, smaller), (inner, larger), groups.keys)
    else:
        masks = [_masks(*of, outer, smaller, larger) for of in zip(axes, groups.groups, groups.masks, strict=True)]
        if biased:
            found = _generalised_shares(release, axes, masks, smaller, larger)
        elif release.design is not None:
            found = _population_shares(release, axes, masks, smaller, larger)
        else:
            wholes = [tuple(key[n] for n in inner) for key in groups.keys]
            found = _corrected_shares(release, axes, masks, smaller, larger, wholes)
    return assemble(
        Shares, release, groups, found, target=target, level=level, where=where,
        notes=(
            *notes_on_labels(release, groups.by, condition),
            *notes_on_condition(release, (*condition, *narrower) if isinstance(part, str) else None),
        ),
        within=inner, part=part if isinstance(part, str) else None,
    )  # fmt: skip


def _corrected_shares(  # noqa: PLR0917 what shares are made of
    release: Release,
    axes: Sequence[AxisWeights],
    masks: Sequence[tuple[Mask, Mask]],
    smaller: Condition,
    larger: Condition,
    wholes: Sequence[tuple[Value, ...]],
) -> Inference:
    """Return shares by record weights; of labels that overlap, with certain bounds in place of intervals."""
    moments = _moments(release, axes, smaller, larger)
    x = _apply_weights(moments, axes, masks)
    ratios = FiellerRatios.shares(x.part, x.whole, (x.part_part, x.part_whole, x.whole_whole), release.records)
    found = Inference.of_ratios(ratios, _covariance(ratios, moments, axes, masks, wholes, release.records))
    bounds = _label_bounds(release, axes, masks, smaller, larger)
    return found if bounds is None else _replace_by_bounds(found, bounds)


def _population_shares(
    release: Release,
    axes: Sequence[AxisWeights],
    masks: Sequence[tuple[Mask, Mask]],
    smaller: Condition,
    larger: Condition,
) -> Inference:
    """Return shares of people of the population, by the design of the sample."""
    from rrpolicy.estimate.survey.sums import INSIDE, VALUE, Survey

    assert release.design is not None
    part = Number("part", f"CASE WHEN {smaller.filter or 'true'} THEN 1 ELSE 0 END", smaller.parameters)
    every = [*axes, *(axis for axis, _ in ungrouped_condition_axes(axes, smaller))]
    survey = Survey.of(release.design, release.columns, release.data, every, larger, part)
    parts, wholes = (
        survey.indicators([(axis, mask[i]) for axis, mask in zip(axes, masks, strict=True)], condition)
        for i, condition in enumerate((smaller, larger))
    )
    of = survey.functions({VALUE: parts}), survey.functions({INSIDE: wholes})
    return Inference.of_ratios(survey.ratio(*of, (0.0, 1.0)), survey.covariance_of_ratios(*of))


def _covariance(  # noqa: PLR0917 what shares are made of
    ratio: FiellerRatios,
    x: _Moments,
    axes: Sequence[AxisWeights],
    masks: Sequence[tuple[Mask, Mask]],
    wholes: Sequence[tuple[Value, ...]],
    records: int,
) -> Covariance:
    """Return the covariance of shares: sum e_i e_j / (d_i d_j), e = g - R d.

    Of this table less what e_i e_j is expected to be given the original record: two shares of one whole have each
    -R outside of its part; of different wholes no record is in two.
    """
    parts, around = [part for part, _ in masks], [whole for _, whole in masks]

    def covariance(target: Target) -> Array:
        R, n, d = ratio.estimate, ratio.n, ratio.d
        mixed = cross_products(x.part_whole, axes, parts, around) * R
        e = cross_products(x.part_part, axes, parts) - mixed - mixed.T
        e += np.outer(R, R) * cross_products(x.whole_whole, axes, around)
        if target == "population":
            return np.asarray(bessel(records) * e / np.outer(d, d))
        same = np.array([[one == other for other in wholes] for one in wholes], dtype=bool).reshape(e.shape)
        outside = np.outer(n, R)
        own = np.diag(n) - outside - outside.T + np.outer(R, R) * d
        return np.asarray((e - np.where(same, own, 0.0)) / np.outer(d, d))

    return covariance


def _generalised_shares(
    release: Release,
    axes: Sequence[AxisWeights],
    masks: Sequence[tuple[Mask, Mask]],
    smaller: Condition,
    larger: Condition,
) -> Inference:
    """Return estimates and bounds where the groups or the conditions cut labels."""
    others = ungrouped_condition_axes(axes, smaller)
    every = [*axes, *(axis for axis, _ in others)]
    wider = [larger.masks[id(a)][1] if id(a) in larger.masks else np.ones_like(mask) for a, mask in others]
    choices = [OptionalCells.of(axis, part, whole) for axis, (part, whole) in zip(axes, masks, strict=True)]
    choices += [OptionalCells.of(a, m[:, None], w[:, None]) for (a, m), w in zip(others, wider, strict=True)]
    codes, counted = count(release.data, every, larger.filter, larger.parameters)
    n, inside = counted.astype(float), counted.astype(float)
    if (smaller.filter, smaller.parameters) != (larger.filter, larger.parameters):
        own, few = count(release.data, every, smaller.filter, smaller.parameters)
        kept = dict(zip(zip(*(c.tolist() for c in own), strict=True), few.tolist(), strict=True))
        cells = list(zip(*(c.tolist() for c in codes), strict=True)) if codes else [()] * len(n)
        kept = kept if own else {(): float(few.sum())}
        inside = np.array([kept.get(cell, 0.0) for cell in cells], dtype=float)
    sums = [
        np.stack(
            [
                inside[at] @ c.surely_part,
                inside[at] @ c.part,
                inside[at] @ (c.surely_whole & ~c.part) + (n - inside)[at] @ c.surely_whole,
                inside[at] @ c.rest + (n - inside)[at] @ c.whole,
                inside[at] @ c.part_share,
                n[at] @ c.whole_share,
            ]
        )
        for at, c in blocks(choices, codes, len(n))
    ]
    least, most, least_rest, most_rest, part, whole = sum(sums, np.zeros((6, 1)))
    return share_bounds(least, most, least_rest, most_rest, ratio(part, whole))


def _label_bounds(
    release: Release,
    axes: Sequence[AxisWeights],
    masks: Sequence[tuple[Mask, Mask]],
    smaller: Condition,
    larger: Condition,
) -> Array | None:
    """Return (rows, 2) certain bounds of shares of the labels' categories; None if no labels overlap."""
    if any(axis.randomised for axis in (*axes, *smaller.axes)):
        return None
    codes, n = count(release.data, axes, larger.filter, larger.parameters)
    inside, of, found, suppressed = [], [], False, np.zeros(1, dtype=bool)
    for place, (axis, (part, whole)) in enumerate(zip(axes, masks, strict=True)):
        records = np.bincount(codes[place], n, axis.counted).astype(float)
        overlap = LabelOverlap.of(release.columns, axis, part, records)
        everything = np.zeros(part.shape[1], dtype=bool) if overlap is None else overlap.everything
        suppressed = (suppressed[:, None] | everything).reshape(-1)
        inside.append(axis if overlap is None else release.columns.spread[overlap.column])
        of.append((part, whole) if overlap is None else (overlap.categories(part), overlap.categories(whole)))
        found |= overlap is not None
    if not found:
        return None
    known = _generalised_shares(release, inside, of, smaller, larger)
    return np.where(suppressed[:, None], np.nan, known.ends(LEVEL, "table"))


def _replace_by_bounds(found: Inference, bounds: Array) -> Inference:
    """Return shares by labels with certain bounds (rows, 2) in place of this table's intervals; NaN rows stay."""
    known = ~np.isnan(bounds)
    open_ends = (bounds != found.estimate[:, None]).any(axis=1) & known.all(axis=1)
    return replace(
        found,
        ends=lambda level, target: np.where((target == "table") & known, bounds, found.ends(level, target)),
        doubts=lambda level, target: (*found.doubts(level, target), (AS_RELEASED, open_ends & (target == "table"))),
    )


def _anatomy_shares(
    release: Release,
    smaller: tuple[Sequence[str], Condition],
    larger: tuple[Sequence[str], Condition],
    keys: Sequence[Mapping[str, Value]],
) -> Inference:
    """Return estimates and bounds for dealt groups: counts of the parts and of the wholes are bounded."""

    def bounds(by: Sequence[str], condition: Condition) -> Array:
        (table,) = release.tables(by, [by], None, condition, target="table", level=LEVEL)
        ends = (table.estimate, table.estimate) if table.lower_bounds is None else (table.lower_bounds, table.support)
        known = np.stack([table.estimate.reshape(-1), *(x.reshape(-1) for x in ends)], axis=1)
        place = {tuple(key[n] for n in by): row for key, row in zip(table.group_values(), known, strict=True)}
        return np.array([place.get(tuple(key[n] for n in by), np.zeros(3)) for key in keys]).reshape(-1, 3).T

    part, least, most = bounds(*smaller)
    whole, least_whole, most_whole = bounds(*larger)
    least_rest, most_rest = np.maximum(least_whole - most, 0.0), np.maximum(most_whole - least, 0.0)
    return share_bounds(least, most, least_rest, most_rest, ratio(part, whole))


def _masks(  # noqa: PLR0917 the groups of an axis, and the two conditions
    axis: AxisWeights, group: GroupAxis, targets: Mask | None, outer: set[str], smaller: Condition, larger: Condition
) -> tuple[Mask, Mask]:
    """Return the categories in each smaller group of an axis, and in the larger one around it: (V, groups) each."""
    V = len(axis.original)
    if V * len(group.labels) > CELLS:
        raise PolicyError(Problem("RR268", f"{', '.join(map(repr, axis.columns))} has too many groups for shares"))
    own = np.eye(V, dtype=bool) if targets is None else targets
    everywhere = np.ones(V, dtype=bool)
    kept = larger.masks[id(axis)][1] if id(axis) in larger.masks else everywhere
    part = smaller.masks[id(axis)][1] if id(axis) in smaller.masks else everywhere
    shared = [c for c in group.columns if c in outer]
    whole = np.repeat(kept[:, None], own.shape[1], axis=1)
    for c in shared:
        here = axis.labels_of(c)
        there = [label[group.columns.index(c)] for label in group.labels]
        whole &= np.array([[a == b for b in there] for a in here], dtype=bool)
    return own & part[:, None], whole


def _moments(release: Release, axes: Sequence[AxisWeights], smaller: Condition, larger: Condition) -> _Moments:
    others = ungrouped_condition_axes(axes, smaller)
    wider = [(a, larger.masks[id(a)][1] if id(a) in larger.masks else np.ones_like(mask)) for a, mask in others]

    def counted(condition: Condition) -> tuple[list[Ints], Ints]:
        return count(release.data, [*axes, *(a for a, _ in others)], condition.filter, condition.parameters)

    codes, n = counted(larger)
    whole = weigh_groups(axes, wider, codes, len(n))
    sums = whole.sums(n * whole.weight), whole.sums(n * whole.weight**2)
    same = (smaller.filter, smaller.parameters) == (larger.filter, larger.parameters)
    codes, n = (codes, n) if same else counted(smaller)
    part, around = weigh_groups(axes, others, codes, len(n)), weigh_groups(axes, wider, codes, len(n)).weight
    return _Moments(
        part=part.sums(n * part.weight),
        whole=sums[0],
        part_part=part.sums(n * part.weight**2),
        part_whole=part.sums(n * part.weight * around),
        whole_whole=sums[1],
    )


def _apply_weights(x: _Moments, axes: Sequence[AxisWeights], masks: Sequence[tuple[Mask, Mask]]) -> _Moments:
    """Apply the weights of the grouping axes, one axis after the other."""
    for i, (axis, (part, whole)) in enumerate(zip(axes, masks, strict=True)):
        squares = [axis.contract(x.part_whole, i, mask, 2) for mask in (whole, part, whole & ~part)]
        x = _Moments(
            part=axis.contract(x.part, i, part, 1),
            whole=axis.contract(x.whole, i, whole, 1),
            part_part=axis.contract(x.part_part, i, part, 2),
            part_whole=(squares[0] + squares[1] - squares[2]) / 2,
            whole_whole=axis.contract(x.whole_whole, i, whole, 2),
        )
    return x
