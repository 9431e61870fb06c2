"""Randomised addition of sensitive values: a record hides its own among others, as a set of l distinct values."""

from __future__ import annotations

from collections.abc import Iterable

from rrpolicy.plugin import Offer, hookimpl


@hookimpl
def rrpolicy_mechanisms() -> Iterable[Offer]:
    """Offer `sensitive-addition`."""
    return [Offer("sensitive-addition", "rrpolicy_sensitive_addition.mechanism:SensitiveAddition")]
