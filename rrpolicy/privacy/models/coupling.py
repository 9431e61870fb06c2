"""Whether one sensitive attribute can be told of an axis that releases several attributes together. No data."""

from __future__ import annotations

from rrpolicy.channels.base import Layout, lists_values
from rrpolicy.policy.model import Policy, Role


def coupling_problem(axes: Layout, policy: Policy, sensitive: str) -> tuple[str, str] | None:
    """Return why a sensitive attribute cannot be assessed, and what helps.

    Its axis must be its own, or independence is lost. Of several sensitive attributes together one can be read out of
    what is read of all, if the axis tells enough: its matrix, or what is expected of a set.

    Args:
        axes: (attributes, class) of each.
        policy: for the roles.
        sensitive: the attribute.
    """
    own = next((axis for axis in axes if sensitive in axis[0]), None)
    if own is None:
        return f"'{sensitive}' is released without categories, of which the risk speaks", "give it a domain, or bins"
    attributes, kind = own
    if len(attributes) == 1:
        return None
    known = all(policy.attributes[name].role is Role.SENSITIVE for name in attributes)
    if known and (hasattr(kind, "expected_ratio") or lists_values(kind)):
        return None
    others = ", ".join(f"'{name}'" for name in attributes if name != sensitive)
    return (
        f"'{sensitive}' is randomised together with {others}; the risk needs it on an axis of its own",
        f"randomise '{sensitive}' by itself, or leave it out of the entry's `sensitive`",
    )
