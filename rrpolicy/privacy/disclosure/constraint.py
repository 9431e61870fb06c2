"""Disclosure for optimisers: risk / limit - 1 of everybody, with its derivatives by the keep probabilities.

Where the domain is too wide for exact gradients the certified bound replaces them: never below the truth, so that a
channel that it accepts is feasible. The assessors decide in the end.

And tests for a search among equivalence classes, where the sensitive attributes are released unmodified. In a class of
n records the chance of linking is 1/n. The risk of a value is the most records with it that one combination of the
quasi-identifiers has, over n, exactly. Limits against attackers who know the other sensitive attributes are left to the
assessor of the whole channel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np

from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.base import Transition
from rrpolicy.channels.probability import retention_probability
from rrpolicy.channels.product.channel import Product
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.classes.histograms import ratio_at_most
from rrpolicy.privacy.disclosure.attribute import AttributeRisks, protected_attribute_risks
from rrpolicy.privacy.disclosure.attribute_options import LimitKind
from rrpolicy.privacy.disclosure.certified_bound import SparseBound
from rrpolicy.privacy.disclosure.gradients import (
    FloatRetention,
    MovableAxis,
    ValueWithGradient,
    reconstruction_gradient,
    sensitive_gradient,
)
from rrpolicy.privacy.disclosure.identity import linkage_chances, top_risk_weights
from rrpolicy.privacy.disclosure.identity_options import IdentityDisclosureOptions as LinkOptions
from rrpolicy.privacy.disclosure.reconstruction import SLAB, ReleasedSlab, axis_width, released_slabs
from rrpolicy.privacy.evidence import Evidence
from rrpolicy.privacy.model import PerClass, Smooth

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis
    from rrpolicy.counts import Array, Ints
    from rrpolicy.privacy.classes.histograms import Mask
    from rrpolicy.privacy.disclosure.attribute_options import AttributeDisclosureOptions as RiskOptions
    from rrpolicy.source.protocol import Original

MOST_CELLS = 2**25
"""Cells over all contexts beyond which the bound replaces the exact value."""


class RetentionVariables:
    """The axes with a retention probability to look for, in the channel's order: one keep probability each."""

    def __init__(self, channel: Product) -> None:
        """Find those of a channel."""
        self.axes = tuple(axis for axis in channel.axes if isinstance(axis, Retention))
        self._number = {id(axis): number for number, axis in enumerate(self.axes)}
        self._sizes = [axis.largest.size for axis in self.axes]
        self._own = [float(axis.largest.keep) for axis in self.axes]

    def retention(self, keep: Array, axis: Axis) -> float:
        """Return an axis' retention probability; 1 for axes that have none."""
        number = self._number.get(id(axis))
        if number is None:
            return 1.0
        return min(1.0, max(0.0, retention_probability(float(keep[number]), self._sizes[number])))

    def stays(self, keep: Array, axis: Axis) -> bool:
        """Whether an axis stays where it is."""
        number = self._number.get(id(axis))
        return number is None or float(keep[number]) == self._own[number]

    def at(self, keep: Array, axis: Axis) -> MovableAxis:
        """Return an axis moved to its keep probability; an axis that does not move keeps those of its blocks."""
        number = self._number.get(id(axis))
        if number is None:
            return cast("Transition", axis)
        own = self.axes[number]
        if self.stays(keep, axis):
            return FloatRetention.as_it_is(own)
        return FloatRetention.of(own, self.retention(keep, axis))

    def place(self, axes: Sequence[Axis], slopes: Sequence[Array], rows: int) -> Array:
        """Return (rows, variables) derivatives by keep probability from those by the axes' retention probabilities."""
        jacobian = np.zeros((rows, len(self.axes)))
        for axis, slope in zip(axes, slopes, strict=True):
            if isinstance(axis, Retention):
                number = self._number[id(axis)]
                d = self._sizes[number]
                jacobian[:, number] = slope * (d / (d - 1) if d > 1 else 0.0)
        return jacobian


class LinkageGradients:
    """R_QI of every group with its derivatives, by whichever way the domain's width allows.

    The last values are cached: several sensitive attributes need those of the same groups at the same place.
    """

    def __init__(self, evidence: Evidence, variables: RetentionVariables) -> None:
        """Choose the way: exact if the domain is small enough, else the certified bound."""
        self.evidence, self.variables = evidence, variables
        cells = math.prod(axis_width(axis) for axis in evidence.axes)
        wide = cells > SLAB or cells * evidence.contexts > MOST_CELLS
        self.bound = SparseBound(evidence) if wide else None
        self.exact = not wide and not evidence.revealed
        self._pi = evidence.n / evidence.records
        self._geometry: tuple[ReleasedSlab, ...] = () if wide else tuple(released_slabs(evidence))
        self._last: tuple[bytes, ValueWithGradient] | None = None

    def value(self, keep: Array) -> Array:
        """Return R_QI of every group."""
        return self._found(keep, slope=False).value

    def sloped(self, keep: Array) -> ValueWithGradient:
        """Return R_QI and its derivatives by each known axis' retention probability."""
        return self._found(keep, slope=True)

    def _found(self, keep: Array, *, slope: bool) -> ValueWithGradient:
        place = keep.tobytes()
        if self._last is None or self._last[0] != place or (slope and not self._last[1].slope):
            self._last = place, self._computed(keep, slope=slope)
        return self._last[1]

    def _computed(self, keep: Array, *, slope: bool) -> ValueWithGradient:
        if self.bound is None:
            moved = [self.variables.at(keep, axis) for axis in self.evidence.axes]
            return reconstruction_gradient(self._pi, self._geometry, moved, slope=slope)
        retention = [self.variables.retention(keep, axis) for axis in self.evidence.axes]
        return ValueWithGradient(self.bound.value(retention), self.bound.jacobian(retention) if slope else ())


def attribute_constraint(requirement: Requirement, channel: Product, original: Original) -> Smooth:
    """Return the constraints of an `attribute-disclosure` entry: one for each (group, value) that occurs.

    The channel determines the variable axes; their own probabilities do not matter.
    """
    variables = RetentionVariables(channel)
    known: dict[tuple[tuple[str, ...], tuple[str, ...]], LinkageGradients] = {}
    parts = []
    for found in protected_attribute_risks(requirement, channel, original):
        groups = found.evidence.names, found.evidence.revealed
        if groups not in known:
            known[groups] = LinkageGradients(found.evidence, variables)
        parts.append(_attribute_constraint(found, known[groups], variables, requirement.model))
    return Smooth(
        lambda keep: np.concatenate([part.value(keep) for part in parts]),
        lambda keep: np.concatenate([part.jacobian(keep) for part in parts]),
        requirement.model,
        any(part.bound for part in parts),
    )


def _attribute_constraint(
    found: AttributeRisks, linked: LinkageGradients, variables: RetentionVariables, name: str
) -> Smooth:
    evidence = found.evidence
    assert evidence.sensitive is not None
    target = evidence.sensitive
    part, shares = evidence.part, evidence.joint / evidence.n[:, None]
    at = found.share / np.array([float(t) for t in found.limits])[found.value]
    flat = found.group * evidence.histograms.shape[1] + found.value

    if not isinstance(target, Transition):
        return _constraint_with_sets(found, at, linked, variables, name)

    def value(keep: Array) -> Array:
        own = sensitive_gradient(shares, variables.at(keep, target), part, slope=False).value
        ratio: Array = at * linked.value(keep)[found.group] * own.ravel()[flat]
        return ratio - 1

    def jacobian(keep: Array) -> Array:
        known = linked.sloped(keep)
        own = sensitive_gradient(shares, variables.at(keep, target), part)
        by_own = at * own.value.ravel()[flat]
        columns = [slope[found.group] * by_own for slope in known.slope]
        columns += [at * known.value[found.group] * slope.ravel()[flat] for slope in own.slope]
        axes = [*evidence.axes, *([target] if own.slope else [])]
        return variables.place(axes, columns, len(at))

    return Smooth(value, jacobian, name, not linked.exact)


def _constraint_with_sets(
    found: AttributeRisks, at: Array, linked: LinkageGradients, variables: RetentionVariables, name: str
) -> Smooth:
    """Return the constraints where the sensitive attribute is hidden in a way that has no retention probability."""
    low, high = found.own
    fixed = at * high

    def value(keep: Array) -> Array:
        ratio: Array = fixed * linked.value(keep)[found.group]
        return ratio - 1

    def jacobian(keep: Array) -> Array:
        columns = [slope[found.group] * fixed for slope in linked.sloped(keep).slope]
        return variables.place(found.evidence.axes, columns, len(fixed))

    exact = linked.exact and np.array_equal(low, high)
    return Smooth(value, jacobian, name, bound=not exact)


def linking_constraint(requirement: Requirement[LinkOptions], channel: Product, original: Original) -> Smooth:
    """Return the constraints of an `identity-disclosure` entry: one for each group, or one for the mean."""
    options = requirement.options
    variables = RetentionVariables(channel)
    found = linkage_chances(requirement, channel, original)
    linked = LinkageGradients(found.evidence, variables)
    scale = 1 / (found.people * float(options.threshold))

    def single(keep: Array) -> Array:
        return linked.value(keep)[found.group] * scale

    def slopes(keep: Array) -> Array:
        columns = [slope[found.group] * scale for slope in linked.sloped(keep).slope]
        return variables.place(found.evidence.axes, columns, len(found.group))

    percentile = options.percentile
    if percentile is None:
        return Smooth(lambda keep: single(keep) - 1, slopes, requirement.model, not linked.exact)

    def mean(keep: Array) -> Array:
        value = single(keep)
        return np.array([top_risk_weights(found.people, value, percentile) @ value - 1])

    def mean_slope(keep: Array) -> Array:
        return (top_risk_weights(found.people, single(keep), percentile) @ slopes(keep))[None, :]

    return Smooth(mean, mean_slope, requirement.model, not linked.exact)


def class_size_test(requirement: Requirement[LinkOptions], policy: Policy) -> tuple[PerClass, ...]:
    """Return the test that a class is as large as an entry of `identity-disclosure` needs."""
    del policy
    threshold = requirement.options.threshold

    def holds(histograms: Ints) -> Mask:
        sizes = histograms.sum(axis=1)
        return np.asarray(ratio_at_most(np.ones_like(sizes), sizes, threshold) | (sizes == 0), dtype=bool)

    return (PerClass(None, holds, monotone=True, monotone_with_suppression=False, where=requirement.where),)


def value_share_tests(requirement: Requirement[RiskOptions], policy: Policy) -> tuple[PerClass, ...]:
    """Return the tests that no value is over its limit in an entry of `attribute-disclosure`.

    Of correct readings it is the share of a value in a class, of whose records all are equally likely to be drawn.
    """
    reading = requirement.options.measure is LimitKind.CORRECT_READING

    def one(name: str) -> PerClass:
        limits = value_limits(requirement, policy, name)

        def holds(histograms: Ints) -> Mask:
            return within_limits(limits, histograms, histograms)

        def peaks(histograms: Ints, most: Ints) -> Mask:
            return within_limits(limits, histograms, most)

        def every(histograms: Ints) -> Mask:
            return np.ones(len(histograms), dtype=bool)

        return PerClass(
            name,
            holds if reading else every,
            monotone=True,
            monotone_with_suppression=False,
            where=requirement.where,
            peaks=None if reading else peaks,
        )

    return tuple(one(name) for name in requirement.protects(policy))


def value_limits(requirement: Requirement[RiskOptions], policy: Policy, name: str) -> list[Fraction]:
    """Return the limit of each value of a sensitive attribute; 1 where the entry covers only another value."""
    only, domain = requirement.where.get(name), policy.attributes[name].domain or ()
    return [requirement.options.limit_of(v) if only in {None, v} else Fraction(1) for v in domain]


def within_limits(limits: Sequence[Fraction], histograms: Ints, most: Ints) -> Mask:
    """Return (classes,) whether the most records of each value are at most its limit's share of the class."""
    sizes = histograms.sum(axis=1)
    fine = np.ones(len(sizes), dtype=bool)
    for value, limit in enumerate(limits):
        fine &= ratio_at_most(most[:, value], sizes, limit)
    return fine
