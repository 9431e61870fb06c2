"""Supports and confidences of all rules over some columns, from one table of released counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from rrpolicy.canonical import Value
from rrpolicy.estimate.counts.condition import Condition
from rrpolicy.estimate.counts.grouping import check_size, grouping, groups_of
from rrpolicy.estimate.results.intervals import Ratios
from rrpolicy.estimate.results.target import Target
from rrpolicy.estimate.weights.base import Mask
from rrpolicy.estimate.weights.recode import refuse_biased
from rrpolicy.source.counts import Array

if TYPE_CHECKING:
    from rrpolicy.estimate.release import Release


By: TypeAlias = Literal["lower", "point", "upper"]


@dataclass(frozen=True)
class RuleSet:
    """All rules "the other columns -> `then`" over some columns.

    Attributes:
        columns: one a dimension.
        labels: categories of each.
        then: the column that follows.
        supports: shares of the records that satisfy the condition, a row a rule.
        confidences: shares of those with what is given, likewise.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[Value, ...], ...] = field(repr=False)
    then: str
    supports: Ratios = field(repr=False)
    confidences: Ratios = field(repr=False)

    @property
    def support(self) -> Array:
        """Return shares, one dimension a column."""
        return self.shaped(self.supports.estimate)

    @property
    def support_se(self) -> Mapping[Target, Array]:
        """Return target -> standard errors, likewise."""
        return {t: self.shaped(e) for t, e in self.supports.errors().items()}

    @property
    def confidence(self) -> Array:
        """Return shares, likewise; NaN where nobody is estimated to have what is given."""
        return self.shaped(self.confidences.estimate)

    @property
    def confidence_se(self) -> Mapping[Target, Array]:
        """Return target -> standard errors, likewise."""
        return {t: self.shaped(e) for t, e in self.confidences.errors().items()}

    def shaped(self, rows: Array) -> Array:
        """Return what is by rule with one dimension a column, and what else it has behind."""
        return rows.reshape(*map(len, self.labels), *rows.shape[1:])

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
    own = _contract(second, [m**2 for m in masks])
    cross = _contract(second, [w * m for w, m in zip(weights, masks, strict=True)])
    whole = np.broadcast_to(total, both.shape)
    supports = Ratios.shares(both, whole, (squares, cross, np.broadcast_to(own, both.shape)), N)
    for j, then in enumerate(names):
        # of the column that follows, what is given holds any category: weight 1, or that of the condition
        any_ = [masks[i] if i == j else w for i, w in enumerate(weights)]
        given = _contract(first, any_)
        own = _contract(second, [w**2 for w in any_])
        cross = _contract(second, [w * masks[i] if i == j else w**2 for i, w in enumerate(weights)])
        given, own = (np.broadcast_to(v, both.shape) for v in (given, own))
        yield RuleSet(names, labels, then, supports, Ratios.shares(both, given, (squares, cross, own), N))


def _contract(x: Array, weights: Sequence[Array]) -> Array:
    for i, w in enumerate(weights):
        x = np.moveaxis(np.tensordot(x, w, axes=(i, 0)), -1, i)
    return x
