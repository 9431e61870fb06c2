"""Anatomy: quasi-identifiers and sensitive values in two tables, joined by groups of l different values."""

from __future__ import annotations

from collections.abc import Iterable

from rrpolicy.plugin import Offer, hookimpl


@hookimpl
def rrpolicy_mechanisms() -> Iterable[Offer]:
    """Offer `anatomy`."""
    return [Offer("anatomy", "rrpolicy_anatomy.mechanism:Anatomy")]
