"""Other limits of a policy's first requirement, so that one policy alone shows what it trades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from rrpolicy.canonical import exact

if TYPE_CHECKING:
    from rrpolicy.policy.model import Policy

FACTORS = (Fraction(1, 2), Fraction(3, 4), Fraction(1), Fraction(3, 2), Fraction(2))
"""By which the limit is multiplied."""
WIDE = (Fraction(1, 10), Fraction(1, 3), Fraction(1), Fraction(3), Fraction(10), Fraction(100), Fraction(1000))
"""The same where no release satisfies the policy as it is."""


def limits_of(policy: Policy, *, refused: bool = False) -> Mapping[str, Sequence[object]]:
    """Return the key of the first requirement's limit with the values that are tried; nothing where it has no one key.

    Args:
        policy: resolved; what it inherits cannot be varied.
        refused: no release satisfies it as it is.
    """
    own = [r for r in policy.requirements if r.place is None or r.place.file == policy.files[0]]
    for place, requirement in enumerate(own):
        limit = requirement.limit
        stated = {key: getattr(requirement.options, key) for key in type(requirement.options).model_fields}
        keys = [key for key, value in stated.items() if isinstance(value, int | Fraction) and value == limit]
        if limit is None or len(keys) != 1:
            continue
        whole = isinstance(stated[keys[0]], int)
        values = dict.fromkeys(limit * factor for factor in (WIDE if refused else FACTORS))
        tried = [int(v) for v in values if v.denominator == 1] if whole else [exact(v) for v in values]
        return {f"privacy.{place}.{keys[0]}": tried}
    return {}
