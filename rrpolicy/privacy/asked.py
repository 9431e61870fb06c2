"""What a policy asks for, by sensitive attribute: mechanisms read their thresholds from the requirements alone."""

from __future__ import annotations

from fractions import Fraction

from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.l_diversity import Kind, Options
from rrpolicy.privacy.sensitive import targets


def frequency_l(policy: Policy) -> dict[str, tuple[Fraction, Requirement]]:
    """Return the greatest l that an `l-diversity` entry of kind frequency asks for each sensitive attribute.

    Args:
        policy: resolved.

    Returns:
        attribute -> (l, the entry that asks for it); attributes that no entry protects are left out.
    """
    found: dict[str, tuple[Fraction, Requirement]] = {}
    for requirement in policy.requirements:
        options = requirement.options
        if isinstance(options, Options) and options.kind is Kind.FREQUENCY:
            for name in targets(options.sensitive, policy):
                if name not in found or options.l > found[name][0]:
                    found[name] = (options.l, requirement)
    return found
