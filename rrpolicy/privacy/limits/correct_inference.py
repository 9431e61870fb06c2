"""Correct readings held against a limit: how likely the value read off the record drawn is the true one.

    success(alpha, u) = c_u sum over v of P_S[v, u] m(v)/(P_S c)(v)

as in `rrpolicy.privacy.disclosure.inference_accuracy`, for every group alpha and value u that occur together. Under
quasi- identifiers that are as they are it is c_u, whatever is done to the sensitive attribute. It is no monotone
function of what is retained: randomising quasi-identifiers brings it from c_u towards the share of u among all who may
be drawn, randomising the sensitive attribute back to c_u.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import fields
from fractions import Fraction
from typing import TYPE_CHECKING, Self

import numpy as np

from rrpolicy.frozen_dataclass import frozen
from rrpolicy.privacy.disclosure.attribute import (
    AttributeRisks,
    LimitedNumbers,
    attribute_finding,
    protected_attribute_risks,
    unhidden_assumption,
)
from rrpolicy.privacy.disclosure.constraint import value_limits, within_limits
from rrpolicy.privacy.disclosure.exact_risks import snap_to_limit
from rrpolicy.privacy.disclosure.minimum_risk import attainable_limit, fully_randomised, with_common_retention
from rrpolicy.privacy.disclosure.related_measures import attribute_measures
from rrpolicy.privacy.epsilon.general_bounds import general_bound_measures
from rrpolicy.privacy.epsilon.scope_loss import scope_loss
from rrpolicy.privacy.model import MinimumRisk, PerClass

if TYPE_CHECKING:
    from rrpolicy.channels.product.channel import Product
    from rrpolicy.counts import Array, Ints
    from rrpolicy.finding import Companion, Finding, Measure
    from rrpolicy.policy.model import Policy, Requirement
    from rrpolicy.privacy.classes.histograms import Mask
    from rrpolicy.privacy.disclosure.attribute_options import AttributeDisclosureOptions
    from rrpolicy.source.protocol import Original


@frozen(slots=False)
class CorrectInferences(LimitedNumbers):
    """The chance to read the true value, of every (group, value) that an entry speaks of.

    Attributes:
        risks: of the same.
    """

    risks: AttributeRisks

    @classmethod
    def of_risks(cls, risks: AttributeRisks) -> Self:
        """Return what is read where these are the risks."""
        return cls(**{field.name: getattr(risks, field.name) for field in fields(LimitedNumbers)}, risks=risks)

    @property
    def number(self) -> Array:
        """Return (k,) the chances, or upper bounds."""
        return self.risks.success[1]

    @property
    def quantity(self) -> str:
        """Return what the numbers are, in words."""
        return f"value of {self.of} read correctly"

    def measured(self, at: int) -> Measure:
        """Return one chance with its standing; at its limit exactly, if it is."""
        limit = self.limits[int(self.value[at])]
        measure = self.risks.measure(self.risks.success, at)
        value = snap_to_limit(measure.value, limit, lambda: self.exactly()(at))
        return type(measure)(value, measure.standing)

    def exactly(self) -> Callable[[int], Fraction | None]:
        """Return what tells a chance exactly; None where that takes too much."""
        return self.risks.reads_exactly()

    def beside(self) -> tuple[Companion, ...]:
        """Return what the chances do not say."""
        return attribute_measures(self.risks)


def assess(requirement: Requirement[AttributeDisclosureOptions], channel: Product, original: Original) -> Finding:
    """Assess every protected attribute on a product channel."""
    found = tuple(
        CorrectInferences.of_risks(risks) for risks in protected_attribute_risks(requirement, channel, original)
    )
    revealed = dict.fromkeys(name for f in found for name in f.evidence.revealed)
    return attribute_finding(
        requirement,
        found,
        (*scope_loss(channel).assumptions, *unhidden_assumption(revealed)),
        general_bound_measures(channel, original.records),
    )


def inference_verdict(
    requirement: Requirement[AttributeDisclosureOptions], channel: Product, original: Original
) -> bool:
    """Return the verdict alone."""
    return not any(
        CorrectInferences.of_risks(risks).over().any()
        for risks in protected_attribute_risks(requirement, channel, original)
    )


def correct_inference_minimum(
    requirement: Requirement[AttributeDisclosureOptions],
    channel: Product,
    original: Original,
    free: Collection[str] | None = None,
) -> tuple[MinimumRisk, ...]:
    """Return the floor of an entry, one for each sensitive attribute: the lower of two ends.

    At one end all that is free is drawn at random; at the other the sensitive attributes stay as they are, and the rest
    is drawn at random.
    """
    drawn = with_common_retention(channel, Fraction(0), free)
    sensitive = set(requirement.protects(original.policy))
    names = {name for axis in channel.axes for name in axis.attributes} if free is None else set(free)
    kept = with_common_retention(drawn, Fraction(1), names & sensitive)
    ends = [
        [CorrectInferences.of_risks(r) for r in protected_attribute_risks(requirement, c, original)]
        for c in (drawn, kept)
    ]
    every = (
        CorrectInferences.of_risks(r)
        for r in protected_attribute_risks(requirement, fully_randomised(channel, original), original)
    )
    return tuple(
        _inference_floor(min(found, key=lambda f: float(f.ratio.max())), whole)
        for *found, whole in zip(*ends, every, strict=True)
        if len(whole.group)
    )


def _inference_floor(held: CorrectInferences, whole: CorrectInferences) -> MinimumRisk:
    over = held.over()
    at = held.decisive(over)
    achieved, evidence = float(held.number[at]), held.evidence
    alike = over & ((evidence.histograms > 0).sum(axis=1) == 1)[held.group]
    hints = ["randomise the quasi-identifiers, or coarsen a domain: what is done to the value itself does not lower it"]
    if achieved < 1:
        hints.append(f"raise the threshold above {achieved:.6g}: `threshold = {attainable_limit(achieved)}`")
    return MinimumRisk(
        of=held.quantity,
        achieved=achieved,
        limit=held.limits[int(held.value[at])],
        groups=len(evidence.n),
        groups_over=len(np.unique(held.group[over])),
        people_over=int(held.people[over].sum()),
        groups_alike=len(np.unique(held.group[alike])),
        people_alike=int(held.people[alike].sum()),
        everything=float(whole.number.max()),
        hints=tuple(hints),
    )


def class_share_tests(requirement: Requirement[AttributeDisclosureOptions], policy: Policy) -> tuple[PerClass, ...]:
    """Return the tests that no value has a larger share of a class than its limit: all of a class are drawn alike."""

    def one(name: str) -> PerClass:
        limits = value_limits(requirement, policy, name)

        def holds(histograms: Ints) -> Mask:
            return within_limits(limits, histograms, histograms)

        return PerClass(name, holds, monotone=True, monotone_with_suppression=False, where=requirement.where)

    return tuple(one(name) for name in requirement.protects(policy))
