"""Assessing disclosure through a release by tuple suppression."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from rrpolicy.channels.base import Axis
from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.finding import Basis, Finding
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.disclosure import attribute_options
from rrpolicy.privacy.disclosure.disclosure_model import DisclosureModel
from rrpolicy.privacy.model import Assessor
from rrpolicy.privacy.models import attribute_disclosure, identity_disclosure

if TYPE_CHECKING:
    from rrpolicy.policy.model import Attribute
    from rrpolicy.privacy.disclosure import identity_options
    from rrpolicy.source.protocol import Original


def attribute_disclosure_assessors() -> tuple[Assessor, ...]:
    """Return the assessor of attribute disclosure."""
    return (_disclosure_assessor(attribute_disclosure.DISCLOSURE_MODEL, diversity_for_shares),)


def identity_disclosure_assessors() -> tuple[Assessor, ...]:
    """Return the assessor of identity disclosure."""
    return (_disclosure_assessor(identity_disclosure.DISCLOSURE_MODEL, diversity_for_linkage),)


def diversity_for_shares(
    requirement: Requirement[attribute_options.AttributeDisclosureOptions], sensitive: Attribute
) -> Fraction:
    """Return the l by frequency from which on no risk exceeds its limit, whatever is suppressed to reach it.

    Of n people with the same quasi-identifiers k are kept, k_u of them with the value u, and m, m_u suppressed among M.
    With k_u <= k/l and m_u <= M_u <= M/l the risk (k_u + m_u m/M)/n is at most (k + m)/(l n) = 1/l.
    """
    return max((1 / requirement.options.limit_of(label) for label in sensitive.domain or ()), default=Fraction(1))


def diversity_for_linkage(
    requirement: Requirement[identity_options.IdentityDisclosureOptions], sensitive: Attribute
) -> Fraction:
    """Return the l by frequency from which on the chance to be linked stays within an entry.

    Whoever is kept has l people beside him at least, and so is whoever is suppressed: the chance is at most 1/l.
    """
    del sensitive
    return 1 / requirement.options.threshold


def refuse_guess_limits(requirement: Requirement, policy: Policy) -> str | None:
    """Refuse limits of the best guess: what is suppressed are quasi-identifiers."""
    options = requirement.options
    if not isinstance(options, attribute_options.AttributeDisclosureOptions) or not options.measure.guessed:
        return None
    return attribute_disclosure.certain_guess_reason(", ".join(requirement.protects(policy)))


def _disclosure_assessor(model: DisclosureModel, frequency: Callable[[Requirement, Attribute], Fraction]) -> Assessor:
    """Return the assessor of a model of disclosure, which needs to know who was suppressed."""

    def assess(requirement: Requirement, channel: SuppressionChannel, original: Original) -> Finding:
        from rrpolicy.privacy.suppression import disclosure

        return disclosure.assess(requirement, channel, original)

    def holds(requirement: Requirement, channel: SuppressionChannel, original: Original) -> bool:
        from rrpolicy.privacy.suppression import disclosure

        return disclosure.disclosure_verdict(requirement, channel, original)

    def fits(requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
        return refuse_guess_limits(requirement, policy) or model.supports(requirement, policy, axes)

    return Assessor(
        *(model.name, SuppressionChannel, (), Basis.ORIGINAL, model.reference, assess, fits),
        holds=holds,
        adversary=model.adversary,
        assumptions=model.assumptions,
        frequency=frequency,
    )
