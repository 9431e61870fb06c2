"""What a policy asks for, by sensitive attribute: mechanisms read their thresholds from the requirements alone."""

from __future__ import annotations

from fractions import Fraction

from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.models.l_diversity import LDiversity

BY_FREQUENCY = f'[[privacy]]\nmodel = "{LDiversity.name}"\n{LDiversity.example}'
"""An entry that asks for it, for hints."""


def frequency_l(policy: Policy) -> dict[str, tuple[Fraction, Requirement]]:
    """Return the greatest l that an entry asks for by frequency of each sensitive attribute.

    Args:
        policy: resolved.

    Returns:
        attribute -> (l, the entry that asks for it); attributes that no entry protects are left out.
    """
    found: dict[str, tuple[Fraction, Requirement]] = {}
    for requirement in policy.requirements:
        l = requirement.frequency
        for name in () if l is None else requirement.protects(policy):
            if l is not None and (name not in found or l > found[name][0]):
                found[name] = (l, requirement)
    return found


def group_size(policy: Policy, attribute: str) -> tuple[int, Requirement] | None:
    """Return how many records a group needs whose sensitive values all differ, and the entry that asks for the most.

    Args:
        policy: resolved.
        attribute: the sensitive one.

    Returns:
        None if no entry that such groups satisfy protects the attribute.
    """
    asked = [(r.distinct, r) for r in policy.requirements if attribute in r.protects(policy)]
    return max(((size, r) for size, r in asked if size is not None), key=lambda found: found[0], default=None)
