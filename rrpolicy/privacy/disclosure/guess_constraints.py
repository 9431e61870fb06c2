"""Limits of correct readings and of the best guess, for optimisers.

*Correct readings*: success / limit - 1 with analytic derivatives. With x the shares of the originals of the record that
the attacker on alpha draws, x = P_QI^T (L/lambda) for L the released joint, and r = (P_S x)/(P_S c), success =
c (P_S^T r). P = rho I + (1 - rho) M is linear in each retention probability, dP = I - M = (P - M P)/rho, so that each
derivative is one more pass of the same kind.

*Best guess*: the largest retention probability of the guessed attribute. With one retention probability rho in all
blocks B of d_B values,

    V(rho) = sum over v of max(rho c_v + (1 - rho) c_v/d_B, (1 - rho)/d_B max over B of c),

a maximum of linear functions: convex, piecewise linear and, by data processing, never falling. No other retention
probability matters. So a limit is a cap on rho, and Newton's method from rho = 1 reaches it in at most as many steps
as there are pieces. The cap is linear in rho; the kinks of V do not affect the search.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from rrpolicy.channels.axes.retention import Retention
from rrpolicy.channels.base import Transition
from rrpolicy.errors import Problem, RequirementError
from rrpolicy.frozen import replace
from rrpolicy.privacy.disclosure.attribute import AttributeRisks, protected_attribute_risks
from rrpolicy.privacy.disclosure.best_guess import BestGuesses, protected_attribute_guesses
from rrpolicy.privacy.disclosure.constraint import RetentionVariables
from rrpolicy.privacy.disclosure.gradients import FloatRetention, ValueWithGradient
from rrpolicy.privacy.disclosure.reconstruction import SLAB, ReleasedSlab, axis_width, released_slabs
from rrpolicy.privacy.model import Smooth

if TYPE_CHECKING:
    from rrpolicy.channels.base import Axis
    from rrpolicy.channels.product.channel import Product
    from rrpolicy.counts import Array
    from rrpolicy.policy.model import Requirement
    from rrpolicy.privacy.classes.histograms import Mask
    from rrpolicy.privacy.disclosure.attribute_options import AttributeDisclosureOptions
    from rrpolicy.privacy.disclosure.gradients import MovableAxis
    from rrpolicy.source.protocol import Original


MIN_EXCESS = 1e-12
"""By how much a constant that fails counts as over its limit at least."""
ROUNDING = 1e-12
"""The error of doubles; the assessors decide."""


def correct_inference_constraint(
    requirement: Requirement[AttributeDisclosureOptions], channel: Product, original: Original
) -> Smooth:
    """Return the constraints of an entry: one for each (group, value) that occurs.

    Raises `RequirementError` (RR511) if the domain is too wide for derivatives, or the axis has no matrix.
    """
    variables = RetentionVariables(channel)
    parts = [
        _InferenceGradients(found, variables, requirement)
        for found in protected_attribute_risks(requirement, channel, original)
    ]
    return Smooth(
        lambda keep: np.concatenate([part.value(keep) for part in parts]),
        lambda keep: np.concatenate([part.jacobian(keep) for part in parts]),
        requirement.model,
        monotone=False,
    )


class _InferenceGradients:
    """The readings of one attribute, as functions of the keep probabilities."""

    def __init__(self, found: AttributeRisks, variables: RetentionVariables, requirement: Requirement) -> None:
        evidence = found.evidence
        size = evidence.joint.shape[1]
        wide = prod(axis_width(axis) for axis in evidence.axes) * size > SLAB
        if wide or not isinstance(evidence.sensitive, Transition):
            what = "its domain is too wide" if wide else "its axis has no matrix"
            raise RequirementError(
                Problem(
                    "RR511",
                    f"no parameters are solved for by how likely a value of {found.of} is read correctly: {what}",
                    requirement.place,
                    hint='limit "risk" or "best-guess", coarsen a domain, or give the parameters',
                )
            )
        self.found: AttributeRisks = found
        self.variables: RetentionVariables = variables
        self.target: Axis = evidence.sensitive
        self.scale: Array = 1 / np.array([float(t) for t in found.limits])[found.value]
        self.geometry: tuple[ReleasedSlab, ...] = tuple(released_slabs(evidence, size))
        self.unlimited: Mask = np.array([t >= 1 for t in found.limits])[found.value]
        self.alone: Mask = found.group >= evidence.mixed
        people, groups = found.people[self.alone].tolist(), evidence.n[found.group[self.alone]].tolist()
        limits = [found.limits[v] for v in found.value[self.alone].tolist()]
        over = [Fraction(m, n) > limit for m, n, limit in zip(people, groups, limits, strict=True)]
        value = found.share[self.alone] * self.scale[self.alone] - 1
        self.constant: Array = np.where(over, np.maximum(value, MIN_EXCESS), np.minimum(value, 0.0))

    def value(self, keep: Array) -> Array:
        """Return success/limit - 1; of groups that never mix c_u/limit - 1, its sign decided in fractions."""
        read = self._read(keep, slope=False).value[self.found.group, self.found.value]
        value: Array = read * self.scale - 1 - ROUNDING
        value[self.alone] = self.constant
        value[self.unlimited] = -1.0
        return value

    def jacobian(self, keep: Array) -> Array:
        """Return (values, variables) derivatives."""
        evidence = self.found.evidence
        slopes = [s[self.found.group, self.found.value] * self.scale for s in self._read(keep, slope=True).slope]
        for slope in slopes:
            slope[self.alone | self.unlimited] = 0.0
        return self.variables.place((*evidence.axes, self.target), slopes, len(self.scale))

    def _read(self, keep: Array, *, slope: bool) -> ValueWithGradient:
        """Return (groups, values) success, and its derivatives by the retention probability of each axis."""
        evidence, target = self.found.evidence, self.variables.at(keep, self.target)
        drawn = self._drawn([self.variables.at(keep, axis) for axis in evidence.axes], slope=slope)
        c = evidence.shares
        expected, seen = target.forward(c, 1), target.forward(drawn.value, 1)
        inverse = np.divide(1.0, expected, out=np.zeros_like(expected), where=expected > 0)
        ratio = seen * inverse
        back = target.back(ratio, 1)
        if not slope:
            return ValueWithGradient(c * back, ())
        slopes = [c * target.back(target.forward(x, 1) * inverse, 1) for x in drawn.slope]
        own = np.zeros_like(c)
        if isinstance(target, FloatRetention):
            change = (target.released_slope(seen, 1) - ratio * target.released_slope(expected, 1)) * inverse
            own = c * (target.released_slope(back, 1) + target.back(change, 1))
        return ValueWithGradient(c * back, (*slopes, own))

    def _drawn(self, axes: list[MovableAxis], *, slope: bool) -> ValueWithGradient:
        """Return (groups, values) shares of the originals of the record that is drawn, and their derivatives."""
        evidence = self.found.evidence
        joint, drawn = evidence.joint / evidence.records, evidence.shares.copy()
        slopes = tuple(np.zeros_like(drawn) for _ in axes) if slope else ()
        for place in self.geometry:
            slab = replace(place, inside=tuple(axes))
            released = slab.forward(slab.scatter(joint))
            mass = released.sum(axis=-1, keepdims=True)
            inverse = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0)
            shares = released * inverse
            back = slab.back(shares.copy())
            drawn[slab.groups] = slab.at_groups(back)
            for number, axis in enumerate(axes if slope else ()):
                if isinstance(axis, FloatRetention):
                    moved = axis.released_slope(released, number + 1)
                    change = (moved - shares * moved.sum(axis=-1, keepdims=True)) * inverse
                    total = slab.back(change) + axis.released_slope(back, number + 1)
                    slopes[number][slab.groups] = slab.at_groups(total)
        return ValueWithGradient(drawn, slopes)


STEPS = 1000
"""Far more than any V has pieces between two of its roots."""
WITHIN = 1e-13


class RetentionCap(Struct, frozen=True):
    """The largest retention probability of one attribute that a limit permits.

    `axis` is None if its probability is not free. `largest` is None if every retention satisfies the limit, 0 if none
    does. `least` is number/limit - 1 at retention 0, `own` that of the axis unmodified.
    """

    axis: Retention | None
    largest: float | None
    least: float
    own: float

    def value(self, keep: Array, variables: RetentionVariables) -> float:
        """Return rho/cap - 1; of an axis without one retention probability, the number over its limit, less 1."""
        if self.axis is None or self._stays(keep, variables):
            return self.own
        if not self.largest:
            return -1.0 if self.largest is None else max(self.least, WITHIN)
        return variables.retention(keep, self.axis) / self.largest - 1

    def slope(self, keep: Array, variables: RetentionVariables) -> Array:
        """Return (variables,) derivatives by the keep probabilities."""
        if self.axis is None or not self.largest or self._stays(keep, variables):
            return np.zeros(len(variables.axes))
        row: Array = variables.place([self.axis], [np.full(1, 1 / self.largest)], 1)[0]
        return row

    def _stays(self, keep: Array, variables: RetentionVariables) -> bool:
        """Whether the axis is given, with blocks of several retention probabilities."""
        assert self.axis is not None
        several = len({block.retention for block in self.axis.blocks if block.size > 1}) > 1
        return several and variables.stays(keep, self.axis)


def guess_constraint(
    requirement: Requirement[AttributeDisclosureOptions], channel: Product, original: Original
) -> Smooth:
    """Return the constraints of an entry, one for each attribute and attacker."""
    variables = RetentionVariables(channel)
    found = [held for held in protected_attribute_guesses(requirement, channel, original) if len(held.people)]
    caps = [_retention_cap(held) for held in found]
    none = np.zeros((0, len(variables.axes)))
    return Smooth(
        lambda keep: np.array([cap.value(keep, variables) for cap in caps]),
        lambda keep: np.array([cap.slope(keep, variables) for cap in caps]) if caps else none,
        requirement.model,
        any(held.revealed for held in found),
    )


def _retention_cap(held: BestGuesses) -> RetentionCap:
    axis = held.evidence.sensitive
    own = float(held.ratio.max()) - 1
    if not isinstance(axis, Retention):
        return RetentionCap(None, None, own, own)
    guessed = _GuessExcess(held, axis)
    limit = float(held.limits[0])
    least = guessed.at(0.0)[0] / limit
    rho = 1.0
    for _ in range(STEPS):
        over, slope = guessed.at(rho)
        if over <= WITHIN:
            break
        if over >= slope * rho:
            return RetentionCap(axis, 0.0, least, own)
        rho -= over / slope
    return RetentionCap(axis, None if rho == 1 else rho, least, own)


class _GuessExcess:
    """The excess of the largest best guess over its limit, as a function of the retention probability."""

    def __init__(self, held: BestGuesses, axis: Retention) -> None:
        told, evidence = held.told, held.evidence
        asked = np.isin(told.group, told.group[held.group])
        _, self.group = np.unique(told.group[asked], return_inverse=True)
        people = told.people.sum(axis=1)[told.group[asked]]
        self.c = evidence.histograms[asked] / people[:, None]  # parts weigh by their people
        self.even, self.most = np.empty_like(self.c), np.empty_like(self.c)
        for block in axis.blocks:
            members = list(block.members)
            self.even[:, members] = self.c[:, members] / block.size
            self.most[:, members] = self.c[:, members].max(axis=1, keepdims=True) / block.size
        order = np.argsort(told.group[held.group])
        self.limit = (held.share * held.gain + float(held.limits[0]))[order]

    def at(self, rho: float) -> tuple[float, float]:
        """Return V less its limit where that is largest, and the slope of a piece of V there."""
        kept, unseen = rho * self.c + (1 - rho) * self.even, (1 - rho) * self.most
        right = np.maximum(kept, unseen)
        over = np.bincount(self.group, weights=right.sum(axis=1)) - self.limit
        at = int(np.argmax(over))
        rows = self.group == at
        slope = np.where(kept[rows] >= unseen[rows], self.c[rows] - self.even[rows], -self.most[rows])
        return float(over[at]), float(slope.sum())
