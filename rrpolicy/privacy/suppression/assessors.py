"""Assessors of disclosure through tuple suppression; they need to know who was suppressed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from rrpolicy.channels.base import Axis
from rrpolicy.channels.suppression.channel import SuppressionChannel
from rrpolicy.finding import Basis, Finding
from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.disclosure.attribute_options import AttributeDisclosureOptions
from rrpolicy.privacy.disclosure.disclosure_model import DisclosureModel
from rrpolicy.privacy.disclosure.identity_options import IdentityDisclosureOptions
from rrpolicy.privacy.model import Assessor
from rrpolicy.privacy.models import attribute_disclosure, identity_disclosure

if TYPE_CHECKING:
    from rrpolicy.policy.model import Attribute
    from rrpolicy.source.protocol import Original


def assessors() -> tuple[Assessor, ...]:
    """Return the assessors of attribute disclosure and identity disclosure."""
    return (
        _assessor(attribute_disclosure.DISCLOSURE_MODEL, diversity_for_shares),
        _assessor(identity_disclosure.DISCLOSURE_MODEL, diversity_for_linkage),
    )


def _assessor(model: DisclosureModel, frequency: Callable[[Requirement, Attribute], Fraction]) -> Assessor:
    def assess(requirement: Requirement, channel: SuppressionChannel, original: Original) -> Finding:
        from rrpolicy.privacy.suppression import disclosure

        return disclosure.assess(requirement, channel, original)

    def holds(requirement: Requirement, channel: SuppressionChannel, original: Original) -> bool:
        from rrpolicy.privacy.suppression import disclosure

        return disclosure.disclosure_verdict(requirement, channel, original)

    def supports(requirement: Requirement, policy: Policy, axes: Sequence[type[Axis]]) -> str | None:
        options = requirement.options
        if isinstance(options, AttributeDisclosureOptions) and options.measure.guessed:
            return attribute_disclosure.certain_guess_reason(", ".join(requirement.protects(policy)))
        return model.supports(requirement, policy, axes)

    return Assessor(
        *(model.name, SuppressionChannel, (), Basis.ORIGINAL, model.reference, assess, supports),
        holds=holds,
        adversary=model.adversary,
        assumptions=model.assumptions,
        frequency=frequency,
    )


def diversity_for_shares(requirement: Requirement[AttributeDisclosureOptions], sensitive: Attribute) -> Fraction:
    """Return the l for which l-diversity by frequency keeps every risk within its limit, whatever is suppressed.

    Of n people with the same quasi-identifiers k are kept, k_u of them with the value u, and m, m_u suppressed among M.
    With k_u <= k/l and m_u <= M_u <= M/l the risk (k_u + m_u m/M)/n is at most (k + m)/(l n) = 1/l.
    """
    return max((1 / requirement.options.limit_of(label) for label in sensitive.domain or ()), default=Fraction(1))


def diversity_for_linkage(requirement: Requirement[IdentityDisclosureOptions], sensitive: Attribute) -> Fraction:
    """Return the l for which l-diversity by frequency keeps the probability of linking within an entry.

    Each kept or suppressed record agrees with at least l records: the probability is at most 1/l.
    """
    del sensitive
    return 1 / requirement.options.threshold
