"""Disclosure as an optimiser sees it: risk / limit - 1 of everybody, with its derivatives by the keep probabilities.

Where the domain is too wide for exact gradients the certified bound takes its place: never below the truth, so what it
accepts holds. The assessors decide in the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np

from rrpolicy.channel.probability import retention_probability
from rrpolicy.channel.product import Product
from rrpolicy.channel.retention import Retention
from rrpolicy.policy.model import Requirement
from rrpolicy.privacy.bound import SparseBound
from rrpolicy.privacy.disclosure import Risks, risks
from rrpolicy.privacy.evidence import Evidence
from rrpolicy.privacy.identity_disclosure import Options as LinkOptions
from rrpolicy.privacy.linking import links, most_at_risk
from rrpolicy.privacy.model import Smooth
from rrpolicy.privacy.reconstruction import SLAB, reconstruction
from rrpolicy.privacy.slopes import Sloped, by_keep, retained, sloped_reconstruction, sloped_sensitive, variable

if TYPE_CHECKING:
    from rrpolicy.channel.base import Axis
    from rrpolicy.source.counts import Array
    from rrpolicy.source.protocol import Original


@dataclass(frozen=True)
class Variables:
    """The axes with a retention probability to look for, in the channel's order: one keep probability each."""

    axes: tuple[Retention, ...]

    @classmethod
    def of(cls, channel: Product) -> Variables:
        """Return those of a channel."""
        return cls(tuple(axis for axis in channel.axes if variable(axis)))

    def at(self, keep: Array, axis: Axis) -> Axis:
        """Return an axis with its keep probability (of its largest block) taken from `keep`; others as they are."""
        if not variable(axis) or axis not in self.axes:
            return axis
        own, size = axis, max(block.size for block in axis.blocks)
        p = float(keep[self.axes.index(axis)])
        return retained(own, min(1.0, max(0.0, retention_probability(p, size))))

    def place(self, axes: Sequence[Axis], columns: Sequence[Array], rows: int) -> Array:
        """Return (rows, variables) derivatives by keep probability from those of some axes."""
        jacobian = np.zeros((rows, len(self.axes)))
        for axis, column in zip([a for a in axes if variable(a)], by_keep(axes, columns), strict=True):
            jacobian[:, self.axes.index(axis)] = column
        return jacobian


@dataclass(frozen=True)
class Linked:
    """R_QI of every group with its derivatives, by whichever way the domain's width allows."""

    evidence: Evidence
    variables: Variables
    bound: SparseBound | None

    @classmethod
    def of(cls, evidence: Evidence, variables: Variables) -> Linked:
        """Choose the way: exact if one context's domain fits into a slab, else the certified bound."""
        wide = math.prod(axis.original_size for axis in evidence.axes) > SLAB
        plain = all(isinstance(a, Retention) and len(a.blocks) == 1 for a in evidence.axes)
        return cls(evidence, variables, SparseBound(evidence) if wide and plain else None)

    def value(self, keep: Array) -> Array:
        """Return R_QI of every group."""
        return reconstruction(self._moved(keep)) if self.bound is None else self.bound.value(self._own(keep))

    def sloped(self, keep: Array) -> Sloped:
        """Return R_QI and its derivatives by each known axis' retention probability."""
        if self.bound is None:
            return sloped_reconstruction(self._moved(keep))
        own = self._own(keep)
        jacobian = self.bound.jacobian(own)
        return Sloped(
            self.bound.value(own), tuple(jacobian[:, i] * (d - 1) / d for i, d in enumerate(self.bound.sizes))
        )

    def _moved(self, keep: Array) -> Evidence:
        return replace(self.evidence, axes=tuple(self.variables.at(keep, axis) for axis in self.evidence.axes))

    def _own(self, keep: Array) -> Array:
        return np.array([float(cast("Retention", axis).blocks[0].keep) for axis in self._moved(keep).axes])


def attribute_constraint(
    requirement: Requirement, channel: Product, original: Original, sensitive: Sequence[str]
) -> Smooth:
    """Return the constraints of an `attribute-disclosure` entry: one a (group, value) that occurs.

    Args:
        requirement: the entry.
        channel: tells which axes are variable; their own probabilities do not matter.
        original: the table.
        sensitive: the attributes that the entry protects.
    """
    variables = Variables.of(channel)
    parts = [_attribute(risks(requirement, channel, original, name), variables) for name in sensitive]
    return Smooth(
        lambda keep: np.concatenate([part.value(keep) for part in parts]),
        lambda keep: np.concatenate([part.jacobian(keep) for part in parts]),
        requirement.model,
    )


def _attribute(found: Risks, variables: Variables) -> Smooth:
    evidence = found.evidence
    assert evidence.sensitive is not None
    target = evidence.sensitive
    linked = Linked.of(evidence, variables)
    shares = evidence.histograms / evidence.n[:, None]
    limit = np.array([float(t) for t in found.limits])[found.value]
    pair = (found.group, found.value)

    def value(keep: Array) -> Array:
        reconstructed = linked.value(keep)[found.group]
        own = sloped_sensitive(shares, variables.at(keep, target), slope=False).value[pair]
        ratio: Array = found.share * reconstructed * own / limit
        return ratio - 1

    def jacobian(keep: Array) -> Array:
        known = linked.sloped(keep)
        axis = variables.at(keep, target)
        own = sloped_sensitive(shares, axis)
        at = found.share / limit
        columns = [at * slope[found.group] * own.value[pair] for slope in known.slope]
        columns += [at * known.value[found.group] * slope[pair] for slope in own.slope]
        axes = [*evidence.axes, *([target] if own.slope else [])]
        return variables.place(axes, columns, len(limit))

    return Smooth(value, jacobian, "attribute-disclosure")


def linking_constraint(requirement: Requirement, channel: Product, original: Original) -> Smooth:
    """Return the constraints of an `identity-disclosure` entry: one a group, or one for the mean.

    Args:
        requirement: the entry.
        channel: tells which axes are variable.
        original: the table.
    """
    options = requirement.options
    assert isinstance(options, LinkOptions)
    variables = Variables.of(channel)
    found = links(requirement, channel, original)
    linked = Linked.of(found.evidence, variables)
    scale = 1 / (found.people * float(options.threshold))

    def single(keep: Array) -> Array:
        return linked.value(keep)[found.group] * scale

    def slopes(keep: Array) -> Array:
        columns = [slope[found.group] * scale for slope in linked.sloped(keep).slope]
        return variables.place(found.evidence.axes, columns, len(found.group))

    percentile = options.percentile
    if percentile is None:
        return Smooth(lambda keep: single(keep) - 1, slopes, requirement.model)

    def mean(keep: Array) -> Array:
        value = single(keep)
        return np.array([most_at_risk(found.people, value, percentile) @ value - 1])

    def mean_slope(keep: Array) -> Array:
        return (most_at_risk(found.people, single(keep), percentile) @ slopes(keep))[None, :]

    return Smooth(mean, mean_slope, requirement.model)
