"""Randomised addition of sensitive values: a record hides its own among others, as a set of l distinct values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rrpolicy.plugin import Mechanism, hookimpl


@hookimpl
def rrpolicy_mechanisms() -> Iterable[Mechanism[Any]]:
    """Offer `sensitive-addition`."""
    from rrpolicy_sensitive_addition.mechanism import SensitiveAddition

    return [SensitiveAddition()]
