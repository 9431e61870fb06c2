"""What a policy asks for, by sensitive attribute: mechanisms read their thresholds from the requirements alone."""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from rrpolicy.policy.model import Policy, Requirement
from rrpolicy.privacy.models.l_diversity import Kind, Options
from rrpolicy.privacy.models.sensitive import targets


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


def group_size(policy: Policy, attribute: str) -> tuple[int, Requirement] | None:
    """Return how many records a group needs whose sensitive values all differ, and the entry that asks for the most.

    Of n records with different values: distinct, frequency and entropy l are n; recursive (c, l) holds from
    1 < c (n - l + 1) on.

    Args:
        policy: resolved.
        attribute: the sensitive one.

    Returns:
        None if no entry of `l-diversity` protects the attribute.
    """
    found: tuple[int, Requirement] | None = None
    for requirement in policy.requirements:
        options = requirement.options
        if isinstance(options, Options) and attribute in targets(options.sensitive, policy):
            size = ceil(options.l) if options.c is None else int(options.l) + floor(1 / options.c)
            if found is None or size > found[0]:
                found = (size, requirement)
    return found
