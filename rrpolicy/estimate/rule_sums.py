"""Supports and confidences of all rules over some columns, from one table of released counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rrpolicy.canonical import Value
from rrpolicy.estimate.condition import Condition
from rrpolicy.estimate.grouping import check_size, grouping, groups_of
from rrpolicy.estimate.spreading import refuse_biased
from rrpolicy.estimate.target import Target
from rrpolicy.estimate.weights import Mask
from rrpolicy.source.counts import Array

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release

_ROUNDING = 1e-9


@dataclass(frozen=True)
class RuleSet:
    """All rules "the other columns -> `then`" over some columns.

    Attributes:
        columns: one a dimension.
        labels: categories of each.
        then: the column that follows.
        support: shares, one dimension a column.
        support_se: target -> likewise.
        confidence: likewise; NaN where nobody is estimated to have what is given.
        confidence_se: target -> likewise.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[Value, ...], ...] = field(repr=False)
    then: str
    support: Array = field(repr=False)
    support_se: Mapping[Target, Array] = field(repr=False)
    confidence: Array = field(repr=False)
    confidence_se: Mapping[Target, Array] = field(repr=False)

    @property
    def estimable(self) -> Mask:
        """Return which rules have a confidence."""
        return np.isfinite(self.confidence)

    def items(self, cell: Sequence[int]) -> tuple[tuple[tuple[str, Value], ...], tuple[str, Value]]:
        """Return what is given and what follows in a cell."""
        named = [(c, labels[i]) for c, labels, i in zip(self.columns, self.labels, cell, strict=True)]
        (then,) = (item for item in named if item[0] == self.then)
        return tuple(item for item in named if item[0] != self.then), then


def rule_set(release: Release, subset: Sequence[str], condition: Condition) -> Iterator[RuleSet]:
    """Estimate the rules over some columns, for each column that can follow."""
    names, axes = grouping(release.columns, subset)
    refuse_biased([*axes, *(axis for axis, _ in condition.masks.values())], "rules")
    grouped = [groups_of(axis, names, condition) for axis in axes]
    check_size(axes, [g for g, _ in grouped], names)
    first, second, _ = release.moments(axes, condition)
    targets = [mask for _, mask in grouped]
    pairs = list(zip(axes, targets, strict=True))
    weights = [axis.table if mask is None else axis.solve(mask) for axis, mask in pairs]
    masks = [
        np.ones((len(axis.released), 1)) if mask is None else axis.solve(np.asarray(mask.any(axis=1, keepdims=True)))
        for axis, mask in pairs
    ]
    labels = tuple(tuple(v for (v,) in group.labels) for group, _ in grouped)
    N = release.records
    both, squares = _contract(first, weights), _contract(second, [w**2 for w in weights])
    total = _contract(first, masks)
    errors = _support_errors(first, second, weights, masks, N)
    for j, then in enumerate(names):
        # of the column that follows, what is given holds any category: weight 1, or that of the condition
        any_ = [masks[i] if i == j else w for i, w in enumerate(weights)]
        given = _contract(first, any_)
        own = _contract(second, [w**2 for w in any_])
        cross = _contract(second, [w * masks[i] if i == j else w**2 for i, w in enumerate(weights)])
        given = np.where(given > 0, given, np.nan)
        c = both / given
        spread = squares - 2 * c * cross + c**2 * own
        bernoulli = both - 2 * c * both + c**2 * given
        yield RuleSet(
            names,
            labels,
            then,
            both / total,
            errors,
            c,
            _errors(spread, spread - bernoulli, N, given),
        )


def _support_errors(
    first: Array, second: Array, weights: Sequence[Array], masks: Sequence[Array], records: int
) -> Mapping[Target, Array]:
    """Return the standard errors of supports: shares of the records that satisfy the condition."""
    both, total = _contract(first, weights), _contract(first, masks)
    s = both / total
    squares, own = _contract(second, [w**2 for w in weights]), _contract(second, [m**2 for m in masks])
    cross = _contract(second, [w * m for w, m in zip(weights, masks, strict=True)])
    spread = squares - 2 * s * cross + s**2 * own
    return _errors(spread, spread - (both - 2 * s * both + s**2 * total), records, total)


def _errors(square: Array, table: Array, records: int, size: Array) -> Mapping[Target, Array]:
    """Return standard errors of a ratio; the population's stands in for a negative variance of this table."""
    population = records / max(records - 1, 1) * np.maximum(square, 0.0)
    table = np.where(np.abs(table) <= _ROUNDING * np.abs(square), 0.0, table)
    return {
        "table": np.sqrt(np.where(table < 0, population, table)) / np.abs(size),
        "population": np.sqrt(population) / np.abs(size),
    }


def _contract(x: Array, weights: Sequence[Array]) -> Array:
    for i, w in enumerate(weights):
        x = np.moveaxis(np.tensordot(x, w, axes=(i, 0)), -1, i)
    return x
