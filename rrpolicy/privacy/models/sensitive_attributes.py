"""Which sensitive attributes a [[privacy]] entry protects."""

from __future__ import annotations

from rrpolicy.policy.model import Policy, Role


def not_sensitive_reason(names: tuple[str, ...], policy: Policy) -> str | None:
    """Return why attributes cannot be protected, or None."""
    if not names:
        return "the policy names no sensitive attribute"
    for name in names:
        if name not in policy.attributes or policy.attributes[name].role is not Role.SENSITIVE:
            return f"'{name}' is not a sensitive attribute of the policy"
        if not policy.attributes[name].categorical:
            return f"'{name}' has no domain, so its values cannot be counted"
    return None
