"""Assessing a release by tuple suppression: its classes, the one of the suppressed records among them.

The suppressed records are held to every requirement as well: whoever is in no other class is among them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from rrpolicy.channel.base import Axis, Channel
from rrpolicy.channel.suppression.channel import SuppressionChannel
from rrpolicy.finding import Basis, Finding
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.classes.assessor import supports as of_classes
from rrpolicy.privacy.classes.assessor import undecided
from rrpolicy.privacy.disclosure import attribute_options, identity_options
from rrpolicy.privacy.model import Assessor, Written
from rrpolicy.privacy.models import attribute_disclosure, identity_disclosure, k_anonymity, l_diversity, t_closeness
from rrpolicy.privacy.models.sensitive import targets

if TYPE_CHECKING:
    from rrpolicy.privacy.classes.histograms import Classes
    from rrpolicy.source.protocol import Original

Find = Callable[[Requirement, Policy, "Classes"], Finding]


def k_anonymity_assessors() -> tuple[Assessor, ...]:
    """Return the assessor of k-anonymity."""
    return (_assessor(k_anonymity.NAME, k_anonymity.REFERENCE, k_anonymity.find),)


def l_diversity_assessors() -> tuple[Assessor, ...]:
    """Return the assessor of l-diversity."""
    return (_assessor(l_diversity.NAME, l_diversity.REFERENCE, l_diversity.find),)


def t_closeness_assessors() -> tuple[Assessor, ...]:
    """Return the assessor of t-closeness."""
    return (_assessor(t_closeness.NAME, t_closeness.REFERENCE, t_closeness.find),)


def attribute_disclosure_assessors() -> tuple[Assessor, ...]:
    """Return the assessor of attribute disclosure."""
    module, options = attribute_disclosure, attribute_options
    return (_of_original(options.NAME, module.REFERENCE, module.supports, module.undecided),)


def identity_disclosure_assessors() -> tuple[Assessor, ...]:
    """Return the assessor of identity disclosure."""
    module, options = identity_disclosure, identity_options
    return (_of_original(options.NAME, module.REFERENCE, module.supports, module.undecided),)


def _of_original(
    model: str,
    reference: str,
    supported: Callable[[Requirement, Policy, Sequence[type[Axis]]], str | None],
    unknown: Callable[[Requirement], Finding],
) -> Assessor:
    """Return the assessor of a model of disclosure, which needs to know who was suppressed."""

    def assess(requirement: Requirement, channel: Channel, original: Original | int) -> Finding:
        assert isinstance(channel, SuppressionChannel)
        if isinstance(original, int):
            return unknown(requirement)
        from rrpolicy.privacy.suppression import disclosure

        return disclosure.assess(requirement, channel, original)

    def holds(requirement: Requirement, channel: Channel, original: Original | int) -> bool:
        assert isinstance(channel, SuppressionChannel)
        if isinstance(original, int):
            return False
        from rrpolicy.privacy.suppression import disclosure

        return disclosure.holds(requirement, channel, original)

    return Assessor(model, SuppressionChannel, (), Basis.ORIGINAL, reference, assess, supported, holds=holds)


def _assessor(model: str, reference: str, find: Find) -> Assessor:
    def assess(requirement: Requirement, channel: Channel, original: Original | int) -> Finding:
        assert isinstance(channel, SuppressionChannel)
        if isinstance(original, int):
            return undecided(model, _limit(requirement))
        from rrpolicy.privacy.suppression.classes import planned_classes

        return find(requirement, original.policy, planned_classes(requirement, channel, original))

    def measure(requirement: Requirement, policy: Policy, channel: Channel, written: Written) -> Finding:
        from rrpolicy.privacy.suppression.classes import labels_within

        assert isinstance(channel, SuppressionChannel)
        names = [c.name for c in channel.known]
        within = {c.name: labels for c in channel.known if (labels := labels_within(requirement, c.attribute))}
        sensitive = channel.sensitive
        found = written.classes("data", names, [sensitive.name], within, None)
        return find(requirement, policy, _renamed(found, sensitive.name, sensitive.attribute))

    layout = l_diversity.layout if model == l_diversity.NAME else None
    return Assessor(
        model, SuppressionChannel, (), Basis.RELEASE, reference, assess, supports, measure=measure, layout=layout
    )


def supports(requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
    """Refuse subgroups by what is not taken to be known, and more than one sensitive attribute."""
    named = getattr(requirement.options, "sensitive", None)
    if named is not None and len(targets(named, policy)) != 1:
        return "records are parted by one sensitive attribute"
    return of_classes(requirement, policy, axes)


def _renamed(classes: Classes, column: str, attribute: str) -> Classes:
    from dataclasses import replace

    return replace(classes, histograms={attribute: classes.histograms[column]})


def _limit(requirement: Requirement) -> Fraction:
    options = requirement.options
    if isinstance(options, k_anonymity.Options):
        return Fraction(options.k)
    if isinstance(options, l_diversity.Options):
        return options.limit
    assert isinstance(options, t_closeness.Options)
    return options.t
